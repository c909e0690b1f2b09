/**
 * What somebody who asked earlier may do by now: found anew, by the means that proved the principal
 * then (APR-2).
 */

import type { Identity } from "#core/access/assignments.ts";
import { type Principal, systemPrincipal } from "#core/access/principal.ts";
import type { Capability } from "#core/access/roles.ts";
import { refuse } from "#core/problems.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";
import { localPrincipal } from "./authenticate.ts";
import type { ClientCertificate } from "./client-certificates.ts";
import type { GrantSource } from "./grants.ts";
import type { Logins } from "./logins.ts";
import { Rights } from "./rights.ts";
import type { RootAccount } from "./root-account.ts";
import type { LoginMethod } from "#domain/actor.ts";
import type { ApiTokens } from "./tokens.ts";

/**
 * The principal of then with the roles it has now; undefined for whoever would not come in any
 * more: a token that was revoked or has expired, a certificate that was revoked, has expired or is
 * not bound to that subject, an identity of a provider or directory that is not asked any more.
 * Roles come from the assignments and mappings in force now.
 */
export type PrincipalNow = (then: Principal) => Promise<Principal | undefined>;

export interface PrincipalNowDeps {
  readonly apiTokens: Pick<ApiTokens, "principal">;
  readonly root: Pick<RootAccount, "principal">;
  readonly logins: Pick<Logins, "principalOf">;
  /**
   * Whose mappings count for the identity now; undefined where nobody of the configuration vouches
   * for it.
   */
  readonly vouching: (
    identity: Identity,
  ) => { readonly method: LoginMethod | undefined } | undefined;
  /** Undefined while client certificates prove nothing. */
  readonly client: ((shown: ClientCertificate) => Promise<Principal | undefined>) | undefined;
}

/** Builds it. */
export function principalNow(deps: PrincipalNowDeps): PrincipalNow {
  return async (then) => {
    switch (then.mechanism) {
      case "token":
        return await deps.apiTokens.principal(afterColon(then.subject));
      case "local":
        return localPrincipal(afterColon(then.subject));
      case "system":
        return systemPrincipal(afterColon(then.subject));
      case "protocol":
        // A device proves itself in each message; nothing it asks for waits.
        return undefined;
      case "mtls":
        return await byCertificate(deps, then);
      case "basic":
      case "bearer":
      case "session":
        return then.isRoot ? deps.root.principal(then.mechanism) : await byIdentity(deps, then);
    }
  };
}

/**
 * Refuses `forbidden`, or `invalid_token`, unless the principal of then still holds the capability
 * on the CA.
 */
export type StillMay = (then: Principal, capability: Capability, ca: CaRecord) => Promise<void>;

/** Builds it. */
export function stillMay(deps: {
  readonly store: Store;
  readonly grants: GrantSource;
  readonly now: PrincipalNow;
}): StillMay {
  const { store, grants: source, now } = deps;
  return async (then, capability, ca) => {
    const principal = (await now(then)) ?? gone(then, capability);
    const rights = new Rights({ principal, store, source });
    if (!(await rights.on(ca, capability))) throw refuse("forbidden", { capability });
  };
}

/** Refuses what is asked in the name of somebody who would not come in any more. */
export function gone({ mechanism }: Principal, capability: string): never {
  throw mechanism === "token" ? refuse("invalid_token") : refuse("forbidden", { capability });
}

async function byIdentity(
  { logins, vouching }: PrincipalNowDeps,
  { evidence, mechanism }: Principal,
): Promise<Principal | undefined> {
  if (evidence?.kind !== "identity") return undefined;
  const vouched = vouching(evidence.identity);
  if (vouched === undefined) return undefined;
  return await logins.principalOf(vouched.method, evidence.identity, mechanism);
}

/** The certificate may stand for somebody else by now, who has asked for nothing. */
async function byCertificate(
  { client }: PrincipalNowDeps,
  { evidence, subject }: Principal,
): Promise<Principal | undefined> {
  if (client === undefined || evidence?.kind !== "certificate") return undefined;
  const chain = evidence.chain.map((der) => Uint8Array.fromBase64(der));
  const principal = await client({ chain });
  return principal?.subject === subject ? principal : undefined;
}

/** Only pkid makes subjects of the form `<kind>:<id>` for these mechanisms. */
const afterColon = (subject: string): string => subject.slice(subject.indexOf(":") + 1);
