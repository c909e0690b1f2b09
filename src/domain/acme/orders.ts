/** Orders and authorizations: asked for, shown, given up (RFC 8555 §7.1.3, §7.1.4, §7.4, §7.5). */

import { proves } from "#core/acme/challenges.ts";
import { formatDetailList } from "#core/audit/actions.ts";
import {
  type Identifier,
  isWildcard,
  provenIdentifier,
  readIdentifiers,
} from "#core/acme/identifiers.ts";
import { readCertId } from "#core/acme/renewal.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { orderedId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import { requireActive } from "#domain/access/suspension.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { Bindings, Limits } from "./bindings.ts";
import type { Directories, Directory } from "./directories.ts";
import { stirred } from "./idle-accounts.ts";
import type { Inventory } from "./inventory.ts";
import type { UnfinishedOrders } from "#domain/acme/limits/unfinished-orders.ts";
import { type WriteRates, toWriter } from "#domain/acme/limits/write-rates.ts";
import type { Spend } from "./nonces.ts";
import { checkOfferedProfile, checkPermittedNames, requireSameTenant } from "./order-admission.ts";
import type { AcmeSections } from "./sections.ts";
import type {
  AccountRecord,
  AuthorizationFacts,
  AuthorizationRecord,
  CertificateName,
  ChallengeRecord,
  OrderRecord,
  OrderState,
} from "./store.ts";

export interface OrderDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: () => AcmeSections;
  readonly profiles: () => ProfileSet;
  readonly directories: Directories;
  readonly bindings: Bindings;
  readonly inventory: Inventory;
  readonly rates: Pick<WriteRates, "admit">;
  readonly unfinished: Pick<UnfinishedOrders, "add" | "finish">;
  readonly hasRoom: () => boolean;
}

/** What a request for an order says, unread. */
export interface NewOrder {
  readonly identifiers?: unknown;
  readonly profile?: unknown;
  readonly replaces?: unknown;
  readonly notBefore?: unknown;
  readonly notAfter?: unknown;
}

/** One name to be proved: a wildcard is proved by the name below it. */
interface Wanted {
  readonly identifier: Identifier;
  readonly wildcard: boolean;
}

/** What an order is stored with. */
interface Ordered {
  readonly proofs: readonly AuthorizationRecord[];
  readonly account: AccountRecord;
  readonly spend: Spend;
}

/** The orders of all accounts. */
export class Orders {
  readonly #deps: OrderDeps;

  constructor(deps: OrderDeps) {
    this.#deps = deps;
  }

  /**
   * Stores an order with what is to be proved for it; it is ready where all is proved (ORD-1 to
   * ORD-5). Refuses `acme_malformed`, `acme_unsupported_identifier`, `acme_rejected_identifier`,
   * `acme_invalid_profile`, `acme_already_replaced`, `acme_unauthorized`, `acme_not_found`, and
   * `rate_limited` while account or address have too many unfinished orders.
   */
  async create(
    origin: Origin,
    directory: Directory,
    account: AccountRecord,
    asked: NewOrder,
    spend: Spend,
  ): Promise<OrderRecord> {
    const { store, clock, random, config, directories, hasRoom } = this.#deps;
    const settings = config().acme;
    if (asked.notBefore !== undefined || asked.notAfter !== undefined) {
      throw refuse("acme_malformed", { reason: "notBefore and notAfter are not taken" });
    }
    const reading = { max: settings.max_identifiers, allowIp: settings.allow_ip_identifiers };
    const identifiers = readIdentifiers(asked.identifiers, reading);
    const ca = await directories.issuer(directory);
    requireSameTenant(account, ca);
    requireActive(await store.read.tenants.named(ca.tenant));
    const limits = await this.#deps.bindings.limitsOf(account);
    const profile = this.#profileOf(directory, limits, asked.profile);
    checkPermittedNames(this.#deps.profiles(), { identifiers, limits, directory, profile });
    const replaces = await this.#replaced(account, ca, identifiers, asked.replaces);
    if (!hasRoom()) throw refuse("storage_unavailable", { retry_after: 60 });
    const now = clock.now();
    const proofs = await this.#proofs(account, identifiers, now);
    const order: OrderRecord = {
      id: orderedId(now, random.bytes(10)),
      account: account.id,
      directory: directory.name,
      tenant: ca.tenant,
      caId: ca.id,
      status: proofs.every(({ status }) => status === "valid") ? "ready" : "pending",
      identifiers,
      authorizations: proofs.map(({ id }) => id),
      profile,
      replaces,
      createdAt: now,
      expiresAt: addSeconds(now, settings.order_validity_hours * 3600),
      error: undefined,
      certificate: undefined,
    };
    await this.#store(origin, order, { proofs, account, spend });
    return order;
  }

  /**
   * Repeats the checks of `create` for an order whose certificate is requested now, and returns the
   * CA that signs it (FIN-3). Refuses `acme_unauthorized`, `acme_rejected_identifier`,
   * `tenant_suspended`, `ca_not_active`.
   */
  async readmit(
    directory: Directory,
    account: AccountRecord,
    order: OrderRecord,
  ): Promise<CaRecord> {
    const { store, directories, bindings } = this.#deps;
    if (order.directory !== directory.name) {
      throw refuse("acme_unauthorized", { reason: "the order is of another directory" });
    }
    const ca = await directories.issuer(directory);
    requireSameTenant(account, ca);
    if (order.tenant !== ca.tenant) {
      throw refuse("acme_unauthorized", { reason: "the order is of another tenant" });
    }
    requireActive(await store.read.tenants.named(ca.tenant));
    const limits = await bindings.limitsOf(account);
    checkOfferedProfile(directory, limits, order.profile);
    const { identifiers, profile } = order;
    checkPermittedNames(this.#deps.profiles(), { identifiers, limits, directory, profile });
    return ca;
  }

  async #store(
    origin: Origin,
    order: OrderRecord,
    { proofs, account, spend }: Ordered,
  ): Promise<void> {
    const { eabId } = account;
    const created = proofs.filter(({ status }) => status === "pending");
    const identifiers = namesOf(order);
    const insert = async (tx: Unit) => {
      await spend(tx);
      await stirred(tx, account, order.createdAt);
      await tx.acme.addOrder(order, created);
      await tx.audit.appendEvent(
        {
          ...authorOf(origin, order.tenant),
          action: "acme.order.new",
          result: "success",
          tenant: order.tenant,
          target: order.id,
          detail: { identifiers, eab: eabId, profile: order.profile },
        },
        order.createdAt,
      );
    };
    const writer = toWriter(account, origin);
    this.#deps.rates.admit(writer);
    const added = { id: order.id, kind: "order", authorizations: created.length } as const;
    await this.#deps.unfinished.add(writer, added, () => this.#deps.store.atomically(insert));
  }

  /** The profile an order shows; that of the credential is not for its holder to choose (EAB-3). */
  #profileOf(directory: Directory, limits: Limits | undefined, named: unknown): string {
    const own = limits?.profile ?? directory.profile;
    if (named === undefined) return own;
    const offered = typeof named === "string" && Object.hasOwn(directory.profiles, named);
    if (!offered) throw refuse("acme_invalid_profile", { profile: String(named).slice(0, 64) });
    const profile = directory.profiles[named]?.profile;
    if (limits?.profile !== undefined && profile !== limits.profile) {
      throw refuse("acme_invalid_profile", { profile: named });
    }
    return named;
  }

  /** ORD-4. */
  async #replaced(
    account: AccountRecord,
    ca: CaRecord,
    identifiers: readonly Identifier[],
    replaces: unknown,
  ): Promise<CertificateName | undefined> {
    if (replaces === undefined) return undefined;
    const id = typeof replaces === "string" ? readCertId(replaces) : undefined;
    if (id === undefined) {
      throw refuse("acme_malformed", { reason: "replaces is no certificate identifier" });
    }
    const record = await this.#deps.inventory.byCertId(ca, id);
    if (record === undefined) throw refuse("acme_not_found");
    const { caId, serial } = record;
    const obtained = await this.#deps.store.read.acme.obtained({ caId, serial });
    if (obtained?.account !== account.id) {
      throw refuse("acme_unauthorized", { reason: "the certificate is not of this account" });
    }
    if (obtained.replacedBy !== undefined) throw refuse("acme_already_replaced");
    if (!sharesName(record, identifiers)) {
      throw refuse("acme_malformed", { reason: "the order shares no name with what it replaces" });
    }
    return { caId, serial };
  }

  /** An authorization for each name: one that is valid already, else a new one (ORD-5). */
  async #proofs(
    account: AccountRecord,
    identifiers: readonly Identifier[],
    now: Instant,
  ): Promise<readonly AuthorizationRecord[]> {
    const wanted = identifiers.map(wantedFor);
    const { challenge_types } = this.#deps.config().acme;
    const valid = await this.#deps.store.read.acme.validFor(account.id, wanted, now);
    return wanted.map((one) => {
      const known = valid.find(
        ({ identifier, wildcard, method }) =>
          identifier.type === one.identifier.type &&
          identifier.value === one.identifier.value &&
          wildcard === one.wildcard &&
          method !== undefined &&
          challenge_types.includes(method),
      );
      return known ?? this.#fresh(account, one, now);
    });
  }

  #fresh(account: AccountRecord, wanted: Wanted, now: Instant): AuthorizationRecord {
    const { random, config } = this.#deps;
    const { challenge_types, order_validity_hours } = config().acme;
    const types = challenge_types.filter((type) =>
      proves(type, wanted.identifier, wanted.wildcard),
    );
    if (types.length === 0) throw unprovable(wanted.identifier);
    const id = orderedId(now, random.bytes(10));
    const challenges = types.map(
      (type): ChallengeRecord => ({
        id: orderedId(now, random.bytes(10)),
        authorization: id,
        type,
        token: Buffer.from(random.bytes(32)).toString("base64url"),
        status: "pending",
        validatedAt: undefined,
        error: undefined,
        attempts: 0,
      }),
    );
    return {
      ...wanted,
      id,
      account: account.id,
      directory: account.directory,
      status: "pending",
      createdAt: now,
      expiresAt: addSeconds(now, order_validity_hours * 3600),
      method: undefined,
      challenges,
    };
  }

  /**
   * An authorization before any order (RFC 8555 §7.4.1). Refuses `acme_unauthorized` where that is
   * off, and what `create` refuses of names; a wildcard is malformed.
   */
  async authorize(
    origin: Origin,
    directory: Directory,
    account: AccountRecord,
    identifier: unknown,
  ): Promise<AuthorizationRecord> {
    const { store, clock, config, directories, bindings, hasRoom } = this.#deps;
    const { pre_authorization, allow_ip_identifiers: allowIp } = config().acme;
    if (!pre_authorization) {
      throw refuse("acme_unauthorized", { reason: "names are proved for orders only" });
    }
    const [only] = readIdentifiers([identifier], { max: 1, allowIp });
    if (only === undefined || isWildcard(only.value)) {
      throw refuse("acme_malformed", { reason: "a wildcard is proved for an order only" });
    }
    const ca = await directories.issuer(directory);
    requireSameTenant(account, ca);
    requireActive(await store.read.tenants.named(ca.tenant));
    const limits = await bindings.limitsOf(account);
    const profile = limits?.profile ?? directory.profile;
    checkPermittedNames(this.#deps.profiles(), { identifiers: [only], limits, directory, profile });
    if (!hasRoom()) throw refuse("storage_unavailable", { retry_after: 60 });
    const [proof] = await this.#proofs(account, [only], clock.now());
    if (proof === undefined) throw unprovable(only);
    if (proof.status !== "pending") return proof;
    const writer = toWriter(account, origin);
    this.#deps.rates.admit(writer);
    const added = { id: proof.id, kind: "authorization", authorizations: 1 } as const;
    await this.#deps.unfinished.add(writer, added, () =>
      store.atomically(async (tx) => {
        await stirred(tx, account, proof.createdAt);
        await tx.acme.addAuthorization(proof);
      }),
    );
    return proof;
  }

  /** An order of the account as it is now (ORD-6). Refuses `acme_not_found`. */
  async order(account: AccountRecord, id: string): Promise<OrderRecord> {
    const { store, clock } = this.#deps;
    const order = await store.read.acme.order(id);
    if (order?.account !== account.id) throw refuse("acme_not_found");
    const now = clock.now();
    const known = orderAt(order, now);
    if (known.status === "valid") this.#deps.unfinished.finish(id);
    if (!isOpen(known)) return known;
    const proofs = await store.read.acme.authorizations(known.authorizations);
    return withLostProof(known, proofs, now);
  }

  /** The name of what an order replaces, as its account gave it (RFC 9773 §5). */
  async replacedCertId({ replaces }: OrderRecord): Promise<string | undefined> {
    return replaces && (await this.#deps.inventory.certIdOf(replaces));
  }

  /** An authorization of the account. Refuses `acme_not_found`. */
  async authorization(account: AccountRecord, id: string): Promise<AuthorizationRecord> {
    const found = await this.#deps.store.read.acme.authorization(id);
    if (found?.account !== account.id) throw refuse("acme_not_found");
    return found;
  }

  /** A challenge of the account with its authorization. Refuses `acme_not_found`. */
  async challenge(account: AccountRecord, id: string) {
    const found = await this.#deps.store.read.acme.challenge(id);
    if (found?.authorization.account !== account.id) throw refuse("acme_not_found");
    return found;
  }

  /**
   * Gives an authorization up, for good (RFC 8555 §7.5.2); one that is over stays as it is. A valid
   * one that whoever runs the server ends is `revoked` (§7.1.6).
   */
  async deactivate(
    origin: Origin,
    account: AccountRecord,
    id: string,
    by: "account" | "operator" = "account",
  ): Promise<AuthorizationRecord> {
    const { store, clock } = this.#deps;
    const { identifier, wildcard } = await this.authorization(account, id);
    if (by === "account") this.#deps.rates.admit(toWriter(account, origin));
    const now = clock.now();
    await store.atomically(async ({ acme, audit }) => {
      const revoked = by === "operator" && (await acme.endAuthorization(id, "revoked"));
      if (!revoked && !(await acme.endAuthorization(id, "deactivated"))) return;
      await audit.appendEvent(
        {
          ...authorOf(origin, account.tenant),
          action: "acme.authz.deactivate",
          result: "success",
          tenant: account.tenant,
          target: account.id,
          targetName: id,
          detail: {
            identifiers: `${identifier.type}:${wildcard ? "*." : ""}${identifier.value}`,
            eab: account.eabId,
          },
        },
        now,
      );
    });
    return await this.authorization(account, id);
  }

  /**
   * Ends an order that nobody has finalized yet; by whoever runs the server. Gives what the order
   * was when it is another: one that is being finalized, valid or over stays as it is.
   */
  async end(origin: Origin, { id }: OrderRecord): Promise<OrderState | undefined> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    return await store.atomically(async ({ acme, audit }) => {
      const order = await acme.lockOrder(id);
      // The clean-up takes only what is over.
      const known = order && orderAt(order, now);
      if (known === undefined || !isOpen(known)) return known?.status ?? "invalid";
      await acme.endOrder(id, endedByOperator);
      const { tenant, profile } = known;
      const identifiers = namesOf(known);
      const eab = (await acme.lockAccount(known.account))?.eabId;
      await audit.appendEvent(
        {
          ...authorOf(origin, tenant),
          action: "acme.order.deactivate",
          result: "success",
          tenant,
          target: id,
          detail: { identifiers, eab, profile },
        },
        now,
      );
      return undefined;
    });
  }
}

/** The order as it is at that moment: one that nobody finished in time is invalid (ORD-6). */
export function orderAt(order: OrderRecord, now: Instant): OrderRecord {
  if (!isOpen(order) || now < order.expiresAt) return order;
  const error = { type: "malformed", detail: "The order has expired.", status: 400 } as const;
  return { ...order, status: "invalid", error };
}

/** RFC 8555 §7.1.6: an authorization that ended without being valid takes its order along. */
function withLostProof(
  order: OrderRecord,
  proofs: readonly AuthorizationFacts[],
  now: Instant,
): OrderRecord {
  const states = proofs.map((proof) => authorizationStatusAt(proof, now));
  const lost = states.find((state) => state !== "pending" && state !== "valid");
  if (lost === undefined) return order;
  const detail = `An authorization of the order is ${lost}.`;
  return { ...order, status: "invalid", error: { type: "unauthorized", detail, status: 403 } };
}

const isOpen = ({ status }: OrderRecord): boolean => status === "pending" || status === "ready";

/** What an authorization is called at that moment (RFC 8555 §7.1.6). */
export const authorizationStatusAt = (
  { status, expiresAt }: Pick<AuthorizationFacts, "status" | "expiresAt">,
  now: Instant,
): AuthorizationRecord["status"] | "expired" =>
  (status === "pending" || status === "valid") && now >= expiresAt ? "expired" : status;

const wantedFor = (identifier: Identifier): Wanted => ({
  identifier: provenIdentifier(identifier),
  wildcard: identifier.type === "dns" && isWildcard(identifier.value),
});

function sharesName({ sans }: CertificateRecord, identifiers: readonly Identifier[]): boolean {
  const names = new Set(sans);
  return identifiers.some(({ type, value }) => names.has(`${type}:${value}`));
}

function unprovable(identifier: Identifier) {
  const reason = "no way to prove this name is offered";
  const subproblems = [{ type: "rejectedIdentifier", detail: reason, identifier }];
  return refuse("acme_rejected_identifier", { subproblems, reason });
}

/** The names of an order as events list them, cut to a bounded length. */
export const namesOf = ({ identifiers }: Pick<OrderRecord, "identifiers">): string =>
  formatDetailList(identifiers.map(({ type, value }) => `${type}:${value}`));

const endedByOperator = {
  type: "unauthorized",
  detail: "Whoever runs the server has ended the order.",
  status: 403,
} as const;
