/** Cross certificates, the chains they open, and the deletion of CAs, in JSON. */

import { encodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { caId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import { flag, type Input, integer, optional, otherwise, text } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { created, type Handler, handler, ok } from "#domain/access/call.ts";
import type { Rights } from "#domain/access/rights.ts";
import { chainsOf, crossChain } from "#domain/authorities/chains.ts";
import type { CrossSigning, CrossSubject, CrossRequest } from "#domain/hierarchy/cross-sign.ts";
import { deleteCa } from "#domain/hierarchy/delete.ts";
import type { CaRecord, CrossSignRecord } from "#domain/authorities/store.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { described, type PublicHandler } from "#http/public.ts";
import { cacheableFor } from "#http/validators.ts";
import type { OperationName } from "#operations";
import { pageFields, pageOf } from "./pages.ts";

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

/**
 * Handlers for `ca.cross_sign`, `ca.cross_signs`, `ca.chains`, `ca.cross_chain` and `ca.delete`.
 */
export function crossSignHandlers(deps: Deps) {
  const { store, crossSigning } = deps;
  return {
    "ca.cross_sign": handler({
      summary: "Certify the name and key of another CA, so that its clients find this one's root.",
      path: { id: text() },
      body: crossFields,
      admit: async ({ ca, rights, body }) =>
        await crossSigning.admit(presentCa(ca), await requestOf(store, rights, body)),
      run: async ({ ca, origin, rights, body }) => {
        const request = await requestOf(store, rights, body);
        const cross = await crossSigning.sign(origin, presentCa(ca), request);
        return created({
          cross_sign: crossJson(cross),
          certificate_pem: pemOf(cross),
          chain_pem: await crossChain(store.read.cas, cross),
        });
      },
    }),
    "ca.cross_signs": handler({
      summary: "Cross certificates this CA has made, newest first.",
      path: { id: text() },
      query: pageFields,
      run: async (call) => {
        const { id } = presentCa(call.ca);
        const { cas } = store.read;
        const load = (limit: number, after: Parameters<typeof cas.crossSigns>[2]) =>
          cas.crossSigns(id, limit, after);
        return ok(await pageOf("ca.cross_signs", call, { id }, crossJson, load));
      },
    }),
    "ca.delete": handler({
      summary: "Delete a CA that nothing depends on.",
      path: { id: text() },
      query: { destroy_key: otherwise(flag(), false) },
      run: async ({ ca, origin, query }) => {
        await deleteCa(deps, origin, presentCa(ca), query.destroy_key);
        return ok({ status: "deleted" });
      },
    }),
    "ca.chains": described(chains(deps), {
      summary: "Every path from a CA to a root, cross-signatures included.",
    }),
    "ca.cross_chain": described(chainThrough(store), {
      summary: "The path through one cross-signature.",
      gives: ["application/x-pem-file"],
    }),
  } satisfies Partial<Record<OperationName, Handler | PublicHandler>>;
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

function chains({ store, clock }: Deps): PublicHandler {
  return async ({ request, path }) => {
    const ca = await store.read.cas.byId(caId(path.id ?? ""));
    if (ca === undefined) throw refuse("not_found");
    const items = (await chainsOf(store.read.cas, ca, clock.now())).map((chain) => ({
      ...(chain.crossSign === undefined ? {} : { cross_sign_id: chain.crossSign.id }),
      issuer_ca_id: chain.issuer.id,
      issuer_label: chain.issuer.label,
      native: chain.crossSign === undefined,
      pem: chain.pem,
    }));
    const list = { items, next_cursor: "", has_more: false, total: items.length };
    return cached(request, JSON.stringify(list), "application/json");
  };
}

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

/** A cross certificate as answers show it. */
function crossJson(cross: CrossSignRecord) {
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

function presentCa(ca: CaRecord | undefined): CaRecord {
  assert(ca !== undefined, "an operation on a CA has one");
  return ca;
}

const maxAgeSeconds = 300;
