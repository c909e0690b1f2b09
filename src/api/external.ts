/** CAs below an external root in JSON: the request out, the certificate in. */

import { encodePem } from "#core/asn1/pem.ts";
import { assert, refuse } from "#core/problems.ts";
import { flag, type Input, integer, object, optional, otherwise, text } from "#core/shape.ts";
import { created, type Handler, handler, ok } from "#domain/access/call.ts";
import { chainBundle } from "#domain/authorities/bundle.ts";
import type { ExternalAuthorities } from "#domain/hierarchy/external.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { caJson } from "./authorities.ts";
import { keyTypeField, labelField, subjectFields, subjectOf } from "./ca-fields.ts";

interface Deps {
  readonly store: Store;
  readonly external: ExternalAuthorities;
}

/** Handlers for `ca.csr`, `ca.csr_show` and `ca.import_cert`. */
export function externalHandlers({ store, external }: Deps) {
  return {
    "ca.csr": handler({
      summary: "Make the key of a CA that another root will certify, and its request.",
      body: {
        label: labelField,
        subject: object(subjectFields),
        key_type: keyTypeField(),
        tenant_id: optional(text({ max: 64 })),
        max_path_len: optional(integer(0, 16)),
      },
      run: async ({ tenant, origin, body }) => {
        assert(tenant !== undefined, "a CA belongs to a tenant");
        const ca = await external.request(origin, tenant, {
          label: body.label,
          subject: subjectOf(body.subject),
          keyType: body.key_type,
          maxPathLength: body.max_path_len,
        });
        return created({ ca: caJson(ca), csr_pem: requestOf(ca) }, `/api/ca/${ca.id}`);
      },
    }),
    "ca.csr_show": handler({
      summary: "The certification request of an externally signed CA, in PEM.",
      path: { id: text() },
      gives: ["application/x-pem-file"],
      run: async (call) => {
        const ca = presentCa(call.ca);
        return {
          status: 200,
          raw: requestOf(ca),
          headers: {
            "content-type": "application/x-pem-file",
            "content-disposition": `attachment; filename="${ca.label}.csr.pem"`,
          },
        };
      },
    }),
    "ca.import_cert": handler({
      summary: "Give an externally signed CA the certificate its issuer made.",
      path: { id: text() },
      body: importFields,
      admit: ({ ca, body }) => external.admit(presentCa(ca), importOf(body)),
      run: async (call) => {
        const request = importOf(call.body);
        const { ca, warnings } = await external.certify(call.origin, presentCa(call.ca), request);
        return ok({
          ca: caJson(ca),
          warnings,
          chain_pem: await chainBundle(store.read.cas, ca),
        });
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

function requestOf({ csr }: CaRecord): string {
  if (csr === undefined) throw refuse("not_found");
  return encodePem("CERTIFICATE REQUEST", csr);
}

function presentCa(ca: CaRecord | undefined): CaRecord {
  assert(ca !== undefined, "an operation on a CA has one");
  return ca;
}

const pemField = text({ min: 1, max: 1_000_000 });
const importFields = {
  certificate_pem: pemField,
  chain_pem: optional(pemField),
  replace: otherwise(flag(), false),
};
const importOf = ({ certificate_pem, chain_pem, replace }: Input<typeof importFields>) => ({
  certificatePem: certificate_pem,
  chainPem: chain_pem,
  replace,
});
