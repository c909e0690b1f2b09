/**
 * External account binding: who may make accounts, and for which names (EAB-1 to EAB-3; RFC 8555
 * §7.3.4).
 */

import { parseEabJws, verifyEabJws } from "#core/acme/eab.ts";
import type { NamePolicy } from "#core/acme/name-policy.ts";
import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { Envelopes } from "#domain/envelopes/envelopes.ts";
import type { Store, Unit } from "#domain/store.ts";
import {
  type Credential,
  type CredentialDeps,
  Credentials,
  stateAt,
  unlimited,
} from "./credentials.ts";
import type { Directories, Directory } from "./directories.ts";
import { EabKeys } from "./eab-keys.ts";
import type { AccountRecord, EabRecord } from "./store.ts";

export interface BindingDeps {
  readonly store: Pick<Store, "read">;
  readonly directories: Directories;
  readonly credentials: Pick<Credentials, "held">;
  readonly eabKeys: EabKeys;
}

/** What an account that was bound may ask for, for life (EAB-3). */
export interface Limits {
  readonly policy: NamePolicy;
  /** The profile of certificates; undefined leaves it to directory and client. */
  readonly profile: string | undefined;
}

/** The credential that a binding has proved to hold. */
export interface Bound extends Limits {
  readonly eabId: string;
  /** False for one of the configuration, which has no limit of uses. */
  readonly counted: boolean;
}

/** What a binding is held against. */
export interface BindingOf {
  readonly directory: Directory;
  /** The account key as `AccountKey.jwk` spells it. */
  readonly jwk: string;
  /** The URL of newAccount. */
  readonly url: string;
  readonly now: Instant;
}

/** What accounts are bound with, and what that permits them. */
export class Bindings {
  readonly #deps: BindingDeps;

  constructor(deps: BindingDeps) {
    this.#deps = deps;
  }

  /**
   * The credential that vouches for an account key. Refuses `acme_malformed` for what is no binding
   * of this key at this URL. Whatever else keeps it from holding is one refusal,
   * `acme_unauthorized`, after the same work: an unknown kid, one that is revoked, expired,
   * exhausted or of another directory, and a wrong MAC (EAB-2, P-9).
   */
  async verify(binding: unknown, { directory, jwk, url, now }: BindingOf): Promise<Bound> {
    const jws = parseEabJws(binding);
    if (jws.url !== url) throw malformed("the url of the binding is not that of the request");
    if (jws.jwk !== jwk) throw malformed("the binding is about another key than the account's");
    const credential = await this.#usable(jws.kid, directory, now);
    const genuine = verifyEabJws(jws, await this.#deps.eabKeys.of(jws.kid));
    if (!genuine || credential === undefined) throw unbound();
    const counted = !this.#deps.eabKeys.isConfigured(credential.id);
    return { eabId: credential.id, counted, ...limitsIn(credential) };
  }

  /**
   * Takes a use in the unit that makes the account; refuses `acme_unauthorized` when the last one
   * was taken, or the credential has ended, since it was looked at (EAB-2).
   */
  async take(tx: Unit, { eabId, counted }: Bound, now: Instant): Promise<void> {
    if (counted && !(await tx.acme.useEab(eabId, now))) throw unbound();
  }

  /**
   * What limits an account, asked at every new order and when one is finalized (EAB-3); undefined
   * for one that was made without a binding. Refuses `acme_unauthorized` once the credential is
   * revoked, or its key is gone from the configuration.
   */
  async limitsOf({ eabId }: Pick<AccountRecord, "eabId">): Promise<Limits | undefined> {
    if (eabId === undefined) return undefined;
    const { eabKeys, store } = this.#deps;
    if (eabKeys.isConfigured(eabId)) return limitsIn(unlimited);
    const credential = await store.read.acme.eab(eabId);
    if (credential === undefined || credential.revokedAt !== undefined) {
      throw refuse("acme_unauthorized", { reason: "the credential of the account is revoked" });
    }
    return limitsIn(credential);
  }

  /** The credential, if a binding made now may use it; undefined for every other kid. */
  async #usable(kid: string, directory: Directory, now: Instant): Promise<Credential | undefined> {
    const { directories, credentials } = this.#deps;
    const ca = await directories.ca(directory);
    const found = await credentials.held(kid);
    if (found?.directory !== directory.name || found.tenant !== ca.tenant) return undefined;
    return stateAt(found, now) === "active" ? found : undefined;
  }
}

/** What opens bindings, beside what credentials are kept in. */
export interface OpenBindingDeps extends Omit<CredentialDeps, "eabKeys"> {
  readonly envelopes: Pick<Envelopes, "seal" | "open">;
}

/** Credentials, and what accounts do with them. */
export function openBindings(deps: OpenBindingDeps): {
  readonly credentials: Credentials;
  readonly bindings: Bindings;
} {
  const eabKeys = new EabKeys(deps);
  const credentials = new Credentials({ ...deps, eabKeys });
  return { credentials, bindings: new Bindings({ ...deps, credentials, eabKeys }) };
}

const limitsIn = ({
  profile,
  dnsSuffixes,
  ipRanges,
  allowWildcards,
  anyIdentifier,
}: Pick<EabRecord, keyof NamePolicy | "profile">): Limits => ({
  profile,
  policy: { dnsSuffixes, ipRanges, allowWildcards, anyIdentifier },
});

/** One for all, so that nobody learns which kids there are. */
const unbound = () =>
  refuse("acme_unauthorized", { reason: "the external account binding does not hold" });

const malformed = (reason: string) => refuse("acme_malformed", { reason });
