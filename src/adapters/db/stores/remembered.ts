/** Which rows the store remembers between two changes, and which writes change them. */

import type { AccessReads, AccessWrites, Grantee } from "#domain/access/store.ts";
import type { CaReads, CaWrites } from "#domain/authorities/store.ts";
import type { CertificateWrites } from "#domain/certificates/store.ts";
import { isOfOwnKey } from "#domain/key-checks/store.ts";
import type { TenantReads, TenantWrites } from "#domain/tenants/store.ts";
import type { Memo } from "#adapters/db/engine/memo.ts";

import type { ReadMarked } from "./key-checks.ts";

/** What every request asks of CAs: by id, by label, and the members of a lineage. */
export function rememberedCas(memo: Memo, cas: CaReads): CaReads {
  return {
    ...cas,
    byId: memo.remembering("CA", cas.byId),
    byLabel: memo.remembering("CA labelled", cas.byLabel),
    lineage: memo.rememberingList("lineage", cas.lineage),
  };
}

/** Tenants by id or slug. */
export function rememberedTenants(memo: Memo, tenants: TenantReads): TenantReads {
  return { ...tenants, named: memo.remembering("tenant", tenants.named) };
}

/** API tokens by their digest, and the grants of whoever has no role that decides. */
export function rememberedAccess(memo: Memo, access: AccessReads): AccessReads {
  const named = (names: readonly Grantee[]) =>
    JSON.stringify(names.map(({ type, id }) => [type, id]));
  return {
    ...access,
    apiTokenByHash: memo.remembering("token", access.apiTokenByHash, { alsoBy: ({ id }) => id }),
    grantsTo: memo.rememberingList("grants", access.grantsTo, { keyOf: named }),
  };
}

/** A use of a token, written down once a minute, must not have everything read anew. */
export function accessWithin(memo: Memo, access: AccessWrites): AccessWrites {
  const { passkeysOf, touchApiToken } = access;
  return {
    ...touching(memo, access),
    passkeysOf, // It changes nothing.
    touchApiToken: (id, at, ip) => {
      memo.changing("token", id);
      return touchApiToken(id, at, ip);
    },
  };
}

/** Which keys are marked, all of them together. */
export function rememberedKeys(memo: Memo): (read: ReadMarked) => ReadMarked {
  return (read) => {
    const remembered = memo.remembering("keys", (_all: "all") => read());
    return () => remembered("all");
  };
}

/** Reading the status, which every issue does, changes nothing. */
export function casWithin(memo: Memo, cas: CaWrites): CaWrites {
  return { ...touching(memo, cas), status: memo.rememberingWithin("status", cas.status) };
}

/** As above, of tenants: their state. */
export function tenantsWithin(memo: Memo, tenants: TenantWrites): TenantWrites {
  const { state, used, cas } = tenants;
  return {
    ...touching(memo, tenants),
    state: memo.rememberingWithin("state", state),
    // These change nothing.
    used,
    cas,
  };
}

/** A certificate of an own key marks that key; what issues leaves changes nothing remembered. */
export function certificatesWithin(memo: Memo, writes: CertificateWrites): CertificateWrites {
  return {
    ...writes,
    activate: (opId, certificate) => {
      if (isOfOwnKey(certificate.kind)) memo.touch();
      return writes.activate(opId, certificate);
    },
  };
}

/** The same writes, each of which makes the memo forget when it has committed. */
export function touching<T extends object>(memo: Memo, writes: T): T {
  const methods = Object.entries(writes).map(([name, method]) => [name, memo.touching(method)]);
  return Object.fromEntries(methods) as T; // The same names, each with the same signature.
}
