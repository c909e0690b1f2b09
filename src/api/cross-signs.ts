/** Cross certificates, the chains they open, and the deletion of CAs, in JSON. */

import { activeMember } from "#domain/authorities/resolve.ts";
import { parkedOnCa } from "./parking.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  type Input,
  integer,
  oneOf,
  optional,
  otherwise,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Definition, guarded, operation } from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { theCa } from "#domain/access/targets.ts";
import type { Rights } from "#domain/access/rights.ts";
import { type Chain, chainsOf, crossChain } from "#domain/authorities/chains.ts";
import type { CrossSigning, CrossSubject, CrossRequest } from "#domain/hierarchy/cross-sign.ts";
import { deleteCa } from "#domain/hierarchy/delete.ts";
import { type CrossSignRecord, crossSignSources } from "#domain/authorities/store.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { described, type PublicHandler } from "#http/public.ts";
import { cacheableFor } from "#http/validators.ts";
import type { OperationName } from "#operations";
import { listOf, onePage, pageFields, pageOf } from "./pages.ts";
import { pemText, serialText, simpleChange, time } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly crossSigning: CrossSigning;
}

const crossFields = {
  subject_ca_id: optional(text({ min: 1, max: 64 })),
  certificate_pem: optional(text({ min: 1, max: 1_000_000 })),
  csr_pem: optional(text({ min: 1, max: 1_000_000 })),
  validity_days: optional(integer(1, 36_500)),
  max_path_len: optional(integer(0, 16)),
};

/** What certifying another CA refuses. */
const vouching = [
  "missing_field",
  "conflicting_fields",
  "bad_csr",
  "bad_certificate",
  "gate_refused",
  "validity_exceeds_limit",
  "ca_constraint",
  "ca_not_active",
] as const;

/**
 * Handlers for `ca.cross_sign`, `ca.cross_signs`, `ca.chains`, `ca.cross_chain` and `ca.delete`.
 */
export function crossSignHandlers(deps: Deps) {
  const { store, crossSigning } = deps;
  return {
    "ca.cross_sign": guarded({
      summary: "Certify the name and key of another CA, so that its clients find this one's root.",
      target: theCa,
      input: crossFields,
      output: signedShape,
      refuses: vouching,
      parks: ({ ca, rights, input }, said) =>
        parkedOnCa(ca, "Vouch for another CA by", said, async () => {
          await crossSigning.admit(ca, await requestOf(store, rights, input));
          await activeMember(store.read.cas, ca);
        }),
      run: async ({ ca, origin, rights, input }) => {
        const request = await requestOf(store, rights, input);
        const cross = await crossSigning.sign(origin, ca, request);
        return made({
          cross_sign: crossJson(cross),
          certificate_pem: pemOf(cross),
          chain_pem: await crossChain(store.read.cas, cross),
        });
      },
    }),
    "ca.cross_signs": operation({
      summary: "Cross certificates this CA has made, newest first.",
      target: theCa,
      input: pageFields,
      output: listOf(crossShape),
      run: async (call) => {
        const { id } = call.ca;
        const { cas } = store.read;
        const load = (limit: number, after: Parameters<typeof cas.crossSigns>[2]) =>
          cas.crossSigns(id, limit, after);
        return await pageOf("ca.cross_signs", call, { id }, crossJson, load);
      },
    }),
    "ca.delete": operation({
      summary: "Delete a CA that nothing depends on.",
      target: theCa,
      input: { destroy_key: otherwise(flag(), false) },
      output: simpleChange("deleted"),
      refuses: ["ca_in_use", "key_unavailable"],
      run: async ({ ca, origin, input }) => {
        await deleteCa(deps, origin, ca, input.destroy_key);
        return { status: "deleted" as const };
      },
    }),
    "ca.chains": described(chains(deps), {
      summary: "Every path from a CA to a root, cross-signatures included.",
      output: listOf(chainShape),
    }),
    "ca.cross_chain": described(chainThrough(store), {
      summary: "The path through one cross-signature.",
      gives: ["application/x-pem-file"],
    }),
  } satisfies Partial<Record<OperationName, Definition | PublicHandler>>;
}

async function requestOf(
  store: Store,
  rights: Rights,
  body: Input<typeof crossFields>,
): Promise<CrossRequest> {
  const subject = await subjectOf(store, rights, body);
  return { subject, validityDays: body.validity_days, maxPathLength: body.max_path_len };
}

/**
 * A CA of this instance is vouched for only by who manages it too; foreign and absent ids look
 * alike (SCOPE-1).
 */
async function subjectOf(
  store: Store,
  rights: Rights,
  body: Input<typeof crossFields>,
): Promise<CrossSubject> {
  const { subject_ca_id: id, certificate_pem: certificate, csr_pem: csr } = body;
  const given = (["subject_ca_id", "certificate_pem", "csr_pem"] as const).filter(
    (field) => body[field] !== undefined,
  );
  if (given.length > 1) throw refuse("conflicting_fields", { fields: given });
  if (certificate !== undefined) return { source: "certificate", pem: certificate };
  if (csr !== undefined) return { source: "csr", pem: csr };
  if (id === undefined) throw refuse("missing_field", { field: "subject_ca_id" });
  const found = await store.read.cas.byId(caId(id));
  const ca = found?.internal ? undefined : found;
  const allowed =
    ca === undefined ? rights.everywhere("ca:manage") : await rights.on(ca, "ca:manage");
  if (!allowed) {
    throw refuse("forbidden", { capability: "ca:manage" });
  }
  if (ca === undefined) throw refuse("not_found");
  return { source: "local-ca", ca };
}

const chainShape = shape({
  cross_sign_id: optional(words()),
  issuer_ca_id: words(),
  issuer_label: words(),
  native: flag(),
  pem: pemText,
});

function chains({ store, clock }: Deps): PublicHandler {
  return async ({ request, path }) => {
    const ca = await store.read.cas.byId(caId(path.id ?? ""));
    if (ca === undefined) throw refuse("not_found");
    const list = onePage((await chainsOf(store.read.cas, ca, clock.now())).map(chainJson));
    return cached(request, JSON.stringify(list), "application/json");
  };
}

const chainJson = (chain: Chain): ValueOf<typeof chainShape> => ({
  ...(chain.crossSign === undefined ? {} : { cross_sign_id: chain.crossSign.id }),
  issuer_ca_id: chain.issuer.id,
  issuer_label: chain.issuer.label,
  native: chain.crossSign === undefined,
  pem: chain.pem,
});

function chainThrough(store: Store): PublicHandler {
  return async ({ request, path }) => {
    const cross = await store.read.cas.crossSign(path.cross_sign_id ?? "");
    const named =
      cross !== undefined && [cross.issuer, cross.subjectCa].includes(caId(path.id ?? ""));
    if (!named) throw refuse("not_found");
    return cached(request, await crossChain(store.read.cas, cross), "application/x-pem-file");
  };
}

function cached(request: Request, body: string, contentType: string): Response {
  const sha256 = sha256Hex(Buffer.from(body));
  return cacheableFor(request, maxAgeSeconds, { body, contentType, sha256 });
}

const crossShape = shape({
  id: words(),
  tenant_id: words(),
  issuer_ca_id: words(),
  subject_ca_id: optional(words()),
  subject_key_id: words(),
  subject: words(),
  serial: serialText,
  certificate: pemText,
  not_before: time,
  not_after: time,
  source: oneOf(crossSignSources),
  status: oneOf(["revoked", "active"]),
  requested_by: words(),
  created_at: time,
});

const signedShape = shape({ cross_sign: crossShape, certificate_pem: pemText, chain_pem: pemText });

/** A cross certificate as answers show it. */
function crossJson(cross: CrossSignRecord): ValueOf<typeof crossShape> {
  return {
    id: cross.id,
    tenant_id: cross.tenant,
    issuer_ca_id: cross.issuer,
    ...(cross.subjectCa === undefined ? {} : { subject_ca_id: cross.subjectCa }),
    subject_key_id: cross.subjectKeyId,
    subject: cross.subject,
    serial: cross.serial,
    certificate: pemOf(cross),
    not_before: timestamp(cross.notBefore),
    not_after: timestamp(cross.notAfter),
    source: cross.source,
    status: cross.revoked ? "revoked" : "active",
    requested_by: cross.requestedBy,
    created_at: timestamp(cross.createdAt),
  };
}

const pemOf = ({ certificate }: CrossSignRecord) => encodePem("CERTIFICATE", certificate);

const maxAgeSeconds = 300;
