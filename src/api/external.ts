/** CAs below an external root in JSON: the request out, the certificate in. */

import { parkedOnCa } from "./parking.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { importWarnings } from "#core/policy/import-checks.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  type Input,
  integer,
  many,
  object,
  oneOf,
  optional,
  otherwise,
  shape,
  text,
} from "#core/shape.ts";
import { type Definition, guarded, operation } from "#domain/access/operation.ts";
import { Document, made } from "#domain/access/outcome.ts";
import { theCa, theTenant } from "#domain/access/targets.ts";
import { chainBundle } from "#domain/authorities/bundle.ts";
import type { ExternalAuthorities } from "#domain/hierarchy/external.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { caJson, caShape } from "./authorities.ts";
import { keyTypeField, labelField, subjectFields, subjectOf } from "./ca-fields.ts";
import { pemText } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly external: ExternalAuthorities;
}

/** Handlers for `ca.csr`, `ca.csr_show` and `ca.import_cert`. */
export function externalHandlers({ store, external }: Deps) {
  return {
    "ca.csr": operation({
      summary: "Make the key of a CA that another root will certify, and its request.",
      target: theTenant,
      input: {
        label: labelField,
        subject: object(subjectFields),
        key_type: keyTypeField(),
        max_path_len: optional(integer(0, 16)),
      },
      output: requestedShape,
      refuses: ["key_type_unsupported", "already_exists", "not_supported"],
      run: async ({ tenant, origin, input }) => {
        const ca = await external.request(origin, tenant, {
          label: input.label,
          subject: subjectOf(input.subject),
          keyType: input.key_type,
          maxPathLength: input.max_path_len,
        });
        return made({ ca: caJson(ca), csr_pem: requestOf(ca) }, `/api/ca/${ca.id}`);
      },
    }),
    "ca.csr_show": operation({
      summary: "The certification request of an externally signed CA, in PEM.",
      target: theCa,
      output: { media: ["application/x-pem-file"] },
      run: async ({ ca }) =>
        new Document({
          content: requestOf(ca),
          type: "application/x-pem-file",
          fileName: `${ca.label}.csr.pem`,
        }),
    }),
    "ca.import_cert": guarded({
      summary: "Give an externally signed CA the certificate its issuer made.",
      target: theCa,
      input: importFields,
      output: certifiedShape,
      refuses: ["bad_certificate", "import_refused", "ca_not_pending"],
      parks: ({ ca, input }, said) =>
        parkedOnCa(ca, "Take the certificate another CA made for", said, async () => {
          await external.admit(ca, importOf(input));
          const { csr, status } = ca;
          const from = input.replace ? "active" : "pending";
          if (csr === undefined || status !== from) throw refuse("ca_not_pending", { status });
        }),
      run: async (call) => {
        const request = importOf(call.input);
        const { ca, warnings } = await external.certify(call.origin, call.ca, request);
        return {
          ca: caJson(ca),
          warnings,
          chain_pem: await chainBundle(store.read.cas, ca),
        };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const requestedShape = shape({ ca: caShape, csr_pem: pemText });
const certifiedShape = shape({
  ca: caShape,
  warnings: many(oneOf(importWarnings)),
  chain_pem: pemText,
});

function requestOf({ csr }: CaRecord): string {
  if (csr === undefined) throw refuse("not_found");
  return encodePem("CERTIFICATE REQUEST", csr);
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
