/** Accounts: made, found by what they sign, changed, ended (RFC 8555 §7.3). */

import {
  type AccountKey,
  accountKeyOf,
  algorithmFits,
  readAccountKey,
} from "#core/acme/account-keys.ts";
import { type AcmeJws, verifyAcmeJws } from "#core/acme/jws.ts";
import { readContacts } from "#core/acme/contacts.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import { orderedId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { Recent } from "#core/recent.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import { requireActive } from "#domain/access/suspension.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { Bindings, Bound } from "./bindings.ts";
import type { Directories, Directory } from "./directories.ts";
import type { AccountKeys } from "./key-checks.ts";
import { type WriteRates, toWriter } from "#domain/acme/limits/write-rates.ts";
import { acmeOrigin, type Whence } from "./origin.ts";
import type { AcmeSections } from "./sections.ts";
import type { AccountRecord } from "./store.ts";

export interface AccountDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: () => AcmeSections;
  readonly directories: Directories;
  readonly bindings: Bindings;
  readonly keys: AccountKeys;
  readonly rates: Pick<WriteRates, "admit">;
  /** False while the disk is nearly full. */
  readonly hasRoom: () => boolean;
}

/** Whoever signed a request: an account that is valid, and the key it signed with. */
export interface Signer {
  readonly account: AccountRecord;
  readonly key: AccountKey;
}

/** What a request for an account says. */
export interface NewAccount {
  readonly contact?: unknown;
  readonly termsOfServiceAgreed?: unknown;
  readonly onlyReturnExisting?: unknown;
  readonly externalAccountBinding?: unknown;
}

/** The accounts of all directories. */
export class Accounts {
  readonly #deps: AccountDeps;
  /** Keys are read once: reading one costs more than verifying with it. */
  readonly #keys = new Recent<string, AccountKey>(keysRemembered);

  constructor(deps: AccountDeps) {
    this.#deps = deps;
  }

  /**
   * The account that `kid` names, if it is valid and has signed. Refuses `acme_account_unknown`,
   * `acme_unauthorized` for one that has ended or did not sign, and an algorithm that is not the
   * key's.
   */
  async signer(jws: AcmeJws, directory: Directory): Promise<Signer> {
    const account = await this.#named(jws.kid ?? "", directory);
    if (account === undefined) throw refuse("acme_account_unknown");
    const key = this.#keyOf(account);
    if (!algorithmFits(key, jws.algorithm)) throw unsigned();
    if (!(await verifyAcmeJws(jws, key))) throw unsigned();
    if (account.status !== "valid") throw ended(account);
    return { account, key };
  }

  /**
   * The key a request brings with it, when it has signed with that. Refuses what is no key,
   * `acme_bad_public_key`, and `acme_unauthorized`.
   */
  async keySigner(jws: AcmeJws): Promise<AccountKey> {
    const key = readAccountKey(jws.jwk, jws.algorithm);
    if (!(await verifyAcmeJws(jws, key))) throw unsigned();
    return key;
  }

  async #named(kid: string, directory: Directory): Promise<AccountRecord | undefined> {
    const base = directory.url("/acct/");
    if (!kid.startsWith(base)) throw refuse("acme_malformed", { reason: "kid is no account URL" });
    const account = await this.#deps.store.read.acme.account(kid.slice(base.length));
    return account?.directory === directory.name ? account : undefined;
  }

  #keyOf(account: AccountRecord): AccountKey {
    const known = this.#keys.get(account.thumbprint);
    if (known !== undefined) return known;
    const key = accountKeyOf(account.jwk);
    this.#keys.set(account.thumbprint, key);
    return key;
  }

  /**
   * The account of the key, made when there is none (RFC 8555 §7.3). Refuses
   * `acme_account_unknown` where only an existing one is wanted, `acme_terms_not_agreed`,
   * `acme_eab_required`, `acme_invalid_contact`, `acme_unsupported_contact`,
   * `acme_bad_public_key`, `acme_unauthorized` for a key whose account has ended and for a binding
   * that does not hold, and `rate_limited` while its address has created too much.
   */
  async enter(
    directory: Directory,
    key: AccountKey,
    asked: NewAccount,
    whence: Whence,
  ): Promise<{ readonly account: AccountRecord; readonly made: boolean }> {
    const { store } = this.#deps;
    const known = await store.read.acme.accountByKey(directory.name, key.thumbprint);
    if (known !== undefined) return { account: living(known), made: false };
    if (asked.onlyReturnExisting === true) throw refuse("acme_account_unknown");
    const { account, bound } = await this.#admitted(directory, key, asked);
    // An attacker has no credential.
    const { tenant } = account;
    if (bound === undefined) this.#deps.rates.admit({ tenant, ip: whence.ip, account: undefined });
    const present = await store.atomically((tx) => this.#add(tx, account, bound, whence));
    if (present !== undefined) return { account: living(present), made: false };
    return { account, made: true };
  }

  async #admitted(
    directory: Directory,
    key: AccountKey,
    asked: NewAccount,
  ): Promise<{ readonly account: AccountRecord; readonly bound: Bound | undefined }> {
    const { store, clock, random, config, directories, bindings, keys, hasRoom } = this.#deps;
    const contacts = readContacts(asked.contact);
    const terms = config().acme.terms_of_service;
    if (terms !== undefined && asked.termsOfServiceAgreed !== true) {
      throw refuse("acme_terms_not_agreed", { terms_of_service: terms });
    }
    const { externalAccountBinding: eab } = asked;
    if (eab === undefined && directory.requireEab) throw refuse("acme_eab_required");
    const ca = await directories.issuer(directory);
    requireActive(await store.read.tenants.named(ca.tenant));
    const now = clock.now();
    await keys.requireSound(key, ca.tenant, now);
    const bound =
      eab === undefined
        ? undefined
        : await bindings.verify(eab, {
            directory,
            now,
            jwk: key.jwk,
            url: directory.url("/new-account"),
          });
    if (!hasRoom()) throw refuse("storage_unavailable", { retry_after: 60 });
    const account: AccountRecord = {
      id: orderedId(now, random.bytes(10)),
      directory: directory.name,
      tenant: ca.tenant,
      status: "valid",
      thumbprint: key.thumbprint,
      jwk: key.jwk,
      spkiSha256: spkiSha256(key.spki),
      contacts,
      termsAgreedAt: asked.termsOfServiceAgreed === true ? now : undefined,
      eabId: bound?.eabId,
      createdAt: now,
      // Whose credential was taken is an operator's to end.
      idleSince: bound === undefined ? now : undefined,
    };
    return { account, bound };
  }

  /** Gives the account that has the key by now, in place of storing this one. */
  async #add(
    tx: Unit,
    account: AccountRecord,
    bound: Bound | undefined,
    whence: Whence,
  ): Promise<AccountRecord | undefined> {
    const present = await tx.acme.addAccount(account);
    if (present !== undefined) return present;
    if (bound !== undefined) await this.#deps.bindings.take(tx, bound, account.createdAt);
    await tx.audit.appendEvent(
      {
        ...authorOf(acmeOrigin(`acme:${account.id}`, whence), account.tenant),
        action: "acme.account.new",
        result: "success",
        tenant: account.tenant,
        target: account.id,
        detail: { eab: account.eabId },
      },
      account.createdAt,
    );
    return undefined;
  }

  /** Puts other contacts in the place of those there are. Refuses as `enter` does. */
  async setContacts(account: AccountRecord, contact: unknown): Promise<AccountRecord> {
    const contacts = readContacts(contact);
    await this.#deps.store.atomically((tx) => tx.acme.setContacts(account.id, contacts));
    return { ...account, contacts };
  }

  /**
   * Ends the account, its proofs and its open orders, for good (RFC 8555 §7.3.6); by whoever runs
   * the server it is `revoked` (§7.1.2).
   */
  async deactivate(
    origin: Origin,
    account: AccountRecord,
    status: "deactivated" | "revoked" = "deactivated",
  ): Promise<AccountRecord> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    await store.atomically(async (tx) => {
      if (!(await tx.acme.endAccount(account.id, status, now))) return;
      await tx.audit.appendEvent(
        {
          ...authorOf(origin, account.tenant),
          action: "acme.account.deactivate",
          result: "success",
          tenant: account.tenant,
          target: account.id,
        },
        now,
      );
    });
    return { ...account, status };
  }

  /**
   * Puts another key in the place of the account's (RFC 8555 §7.3.5). Refuses
   * `acme_bad_public_key`, `acme_key_in_use` with the account that has it, and `rate_limited`.
   */
  async changeKey(
    origin: Origin,
    directory: Directory,
    account: AccountRecord,
    key: AccountKey,
  ): Promise<AccountRecord> {
    const { store, clock, keys, rates } = this.#deps;
    rates.admit(toWriter(account, origin));
    const next = { thumbprint: key.thumbprint, jwk: key.jwk, spkiSha256: spkiSha256(key.spki) };
    const now = clock.now();
    await keys.requireSound(key, account.tenant, now);
    await store.atomically(async (tx) => {
      const current = await tx.acme.lockAccount(account.id);
      if (current === undefined) throw refuse("acme_account_unknown");
      if (current.status !== "valid") throw ended(current);
      // Of two changes signed with the same old key one comes too late.
      if (current.thumbprint !== account.thumbprint) throw unsigned();
      // RFC 8555 §7.3.5: a key that has an account is taken, whoever's the account is.
      const taken =
        current.thumbprint === next.thumbprint
          ? account.id
          : await tx.acme.changeKey(account.id, next);
      if (taken !== undefined) {
        throw refuse("acme_key_in_use", { account_url: directory.url(`/acct/${taken}`) });
      }
      await tx.audit.appendEvent(
        {
          ...authorOf(origin, account.tenant),
          action: "acme.account.key_change",
          result: "success",
          tenant: account.tenant,
          target: account.id,
        },
        now,
      );
    });
    return { ...account, ...next };
  }
}

/** Refuses `acme_unauthorized` for an account that has ended. */
export function living(account: AccountRecord): AccountRecord {
  if (account.status !== "valid") throw ended(account);
  return account;
}

const ended = ({ status }: AccountRecord) =>
  refuse("acme_unauthorized", { reason: `the account is ${status}` });

const unsigned = () => refuse("acme_unauthorized", { reason: "the signature does not verify" });

const keysRemembered = 10_000;
