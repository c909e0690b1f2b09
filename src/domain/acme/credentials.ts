/** Credentials of external account binding: made, listed, revoked (EAB-1). */

import { coversTenant, type Reach } from "#core/access/principal.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { refuse } from "#core/problems.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { keepSealed } from "#domain/envelopes/envelopes.ts";
import { placeOf } from "#domain/envelopes/places.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type Directories, type Directory, firstDirectory } from "./directories.ts";
import { type ConfiguredKeys, type EabKeys, keyText, storedKid } from "./eab-keys.ts";
import type { EabRecord } from "./store.ts";

export interface CredentialDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Pick<Random, "bytes">;
  readonly eabKeys: EabKeys;
  readonly directories: Directories;
  readonly profiles: () => ProfileSet;
  readonly configured: ConfiguredKeys;
}

/** Where a credential is kept. */
export const credentialSources = ["api", "config"] as const;

/** A credential wherever it is kept. */
export interface Credential extends EabRecord {
  readonly source: (typeof credentialSources)[number];
}

/** What a credential is asked for with. */
export interface CredentialRequest extends Pick<EabRecord, Limiting | "name" | "description"> {
  readonly directory: Directory;
  /** That of the directory. */
  readonly ca: CaRecord;
}

type Limiting =
  | "profile"
  | "dnsSuffixes"
  | "ipRanges"
  | "allowWildcards"
  | "anyIdentifier"
  | "maxUses"
  | "expiresAt";

/** What a credential still does. */
export const credentialStates = ["active", "exhausted", "expired", "revoked"] as const;
export type CredentialState = (typeof credentialStates)[number];

export interface CredentialFilter {
  readonly reach: Reach;
  readonly status: CredentialState | undefined;
}

/** All of an instance, those of the configuration included. */
export class Credentials {
  readonly #deps: CredentialDeps;

  constructor(deps: CredentialDeps) {
    this.#deps = deps;
  }

  /**
   * Makes a credential; its key is in the answer and nowhere else, base64url. Refuses
   * `missing_field` for one that would permit no name at all, `unknown_profile`,
   * `profile_requires_approval`, and an end in the past.
   */
  async create(
    origin: Origin,
    request: CredentialRequest,
  ): Promise<{ readonly credential: Credential; readonly hmacKey: string }> {
    const { store, clock, random, eabKeys } = this.#deps;
    const now = clock.now();
    this.#admit(request, now);
    const { directory, ca, ...asked } = request;
    const record: EabRecord = {
      ...asked,
      id: storedKid(random.bytes(16)),
      directory: directory.name,
      caId: ca.id,
      tenant: ca.tenant,
      uses: 0,
      createdBy: origin.principal.subject,
      createdAt: now,
      lastUsedAt: undefined,
      revokedAt: undefined,
      revokedBy: undefined,
    };
    const { key, sealed } = await eabKeys.make(record.id);
    await store.atomically(async (tx) => {
      await tx.acme.addEab(record);
      await keepSealed(tx, sealed);
      await tx.audit.appendEvent(credentialEvent("acme.eab.create", origin, record), now);
    });
    return { credential: { ...record, source: "api" }, hmacKey: keyText(key) };
  }

  #admit(request: CredentialRequest, now: Instant): void {
    const { dnsSuffixes, ipRanges, anyIdentifier, profile, expiresAt } = request;
    if (dnsSuffixes.length + ipRanges.length === 0 && !anyIdentifier) {
      throw refuse("missing_field", { field: "dns_suffixes" }, permitsNothing);
    }
    if (expiresAt !== undefined && expiresAt <= now) {
      throw refuse("invalid_field", { field: "expires_at", reason: "must lie in the future" });
    }
    if (profile !== undefined && this.#deps.profiles().named(profile).requireApproval) {
      throw refuse("profile_requires_approval", { profile });
    }
  }

  /** A credential by its kid; undefined where there is none. */
  async named(kid: string): Promise<Credential | undefined> {
    const found = await this.held(kid);
    return found && (await this.#counted(found));
  }

  /** The same for a binding, to which the uses of what has no end are nothing. */
  async held(kid: string): Promise<Credential | undefined> {
    if (this.#deps.eabKeys.isConfigured(kid)) return await this.#configured(kid);
    const record = await this.#deps.store.read.acme.eab(kid);
    return record && { ...record, source: "api" };
  }

  async #counted(credential: Credential): Promise<Credential> {
    if (credential.source === "api") return credential;
    return { ...credential, uses: await this.boundAccounts(credential.id) };
  }

  /** How many valid accounts were bound with it. */
  async boundAccounts(kid: string): Promise<number> {
    return await this.#deps.store.read.acme.boundAccounts(kid);
  }

  /** Newest first; those of the configuration are as old as its loading. */
  async page(filter: CredentialFilter, limit: number, after?: PageKey): Promise<Page<Credential>> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const stored = await store.read.acme.eabs({ ...filter, now }, limit, after);
    const configured = await this.#allConfigured(filter);
    const rows = [
      ...stored.items.map((record): Credential => ({ ...record, source: "api" })),
      ...configured.filter((one) => after === undefined || isBelow(keyOf(one), after)),
    ].sort((a, b) => (isBelow(keyOf(a), keyOf(b)) ? 1 : -1));
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    const more = rows.length > items.length || stored.next !== undefined;
    return {
      items,
      next: more && last !== undefined ? keyOf(last) : undefined,
      total: stored.total + configured.length,
    };
  }

  /**
   * Ends new bindings with a credential, and new orders of accounts that were bound with it. False
   * when it was revoked before, which records nothing. Refuses `config_managed`.
   */
  async revoke(origin: Origin, { source, ...record }: Credential): Promise<boolean> {
    if (source === "config") throw refuse("config_managed");
    const { store, clock } = this.#deps;
    const now = clock.now();
    return await store.atomically(async (tx) => {
      if (!(await tx.acme.revokeEab(record.id, now, origin.principal.subject))) return false;
      // It opens nothing any more, and its accounts do not need it.
      await tx.envelopes.remove(placeOf("eab", record.id));
      await tx.audit.appendEvent(credentialEvent("acme.eab.revoke", origin, record), now);
      return true;
    });
  }

  /**
   * Ends every valid account that was bound with it, an event each; gives how many. Asked again, it
   * goes on where a crash has stopped it.
   */
  async deactivateAccounts(origin: Origin, { id: eab, tenant }: Credential): Promise<number> {
    const { store, clock } = this.#deps;
    const event = {
      ...authorOf(origin, tenant),
      action: "acme.account.deactivate",
      result: "success",
      tenant,
      detail: { eab },
    } as const;
    for (let ended = 0; ; ) {
      const now = clock.now();
      const accounts = await store.atomically(async (tx) => {
        const ids = await tx.acme.endAccountsOf(eab, accountsAtOnce, now);
        for (const target of ids) await tx.audit.appendEvent({ ...event, target }, now);
        return ids;
      });
      ended += accounts.length;
      if (accounts.length < accountsAtOnce) return ended;
    }
  }

  async #allConfigured({ reach, status }: CredentialFilter): Promise<readonly Credential[]> {
    const { eabKeys, configured } = this.#deps;
    if (status !== undefined && status !== "active") return [];
    const found: Credential[] = [];
    for (const kid of configured.kids().filter((one) => eabKeys.isConfigured(one))) {
      const one = await this.#configured(kid);
      if (one !== undefined && coversTenant(reach, one.tenant)) {
        found.push(await this.#counted(one));
      }
    }
    return found;
  }

  /** Undefined while the first directory has no CA, and so nobody whose it is. */
  async #configured(kid: string): Promise<Credential | undefined> {
    const { directories, configured } = this.#deps;
    const directory = directories.named(firstDirectory);
    const ca = directory && (await directories.known(directory));
    if (directory === undefined || ca === undefined) return undefined;
    return {
      ...unlimited,
      id: kid,
      directory: directory.name,
      caId: ca.id,
      tenant: ca.tenant,
      name: kid,
      description: "",
      uses: 0,
      createdBy: "system:config",
      createdAt: configured.since,
      lastUsedAt: undefined,
      revokedAt: undefined,
      revokedBy: undefined,
      source: "config",
    };
  }
}

/** What a credential still does at that moment. */
export function stateAt(
  { revokedAt, expiresAt, maxUses, uses }: EabRecord,
  now: Instant,
): CredentialState {
  if (revokedAt !== undefined) return "revoked";
  if (expiresAt !== undefined && expiresAt <= now) return "expired";
  return maxUses > 0 && uses >= maxUses ? "exhausted" : "active";
}

/** The event of making or ending one: its limits, never its key. */
function credentialEvent(
  action: "acme.eab.create" | "acme.eab.revoke",
  origin: Origin,
  record: EabRecord,
) {
  const { expiresAt, dnsSuffixes, ipRanges } = record;
  return {
    ...authorOf(origin, record.tenant),
    action,
    result: "success",
    tenant: record.tenant,
    caId: record.caId,
    target: record.id,
    targetName: record.name,
    detail: {
      directory: record.directory,
      profile: record.profile,
      dns_suffixes: dnsSuffixes.length > 0 ? dnsSuffixes.join(",") : undefined,
      ip_ranges: ipRanges.length > 0 ? ipRanges.join(",") : undefined,
      allow_wildcards: record.allowWildcards,
      any_identifier: record.anyIdentifier,
      max_uses: record.maxUses,
      expires_at: expiresAt === undefined ? undefined : timestamp(expiresAt),
    },
  } as const;
}

const keyOf = ({ createdAt: at, id }: EabRecord): PageKey => ({ at, id });

/** True for what comes after the other, newest first and ties by id. */
const isBelow = (one: PageKey, other: PageKey): boolean =>
  one.at === other.at ? one.id < other.id : one.at < other.at;

/** What keys of the configuration permit. */
export const unlimited = {
  profile: undefined,
  dnsSuffixes: [],
  ipRanges: [],
  allowWildcards: true,
  anyIdentifier: true,
  maxUses: 0,
  expiresAt: undefined,
} as const satisfies Pick<EabRecord, Limiting>;

const permitsNothing = "Name a DNS suffix or an IP range, or permit any identifier.";
/** Each ends its authorizations and orders in the same unit, which others wait for. */
const accountsAtOnce = 50;
