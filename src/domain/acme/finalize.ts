/**
 * Finalizes orders: a request for exactly the names that were proved comes to one certificate
 * (FIN-1 to FIN-5).
 */

import { judgeCsr, orderedIdentity } from "#core/acme/request.ts";
import type { StoredProblem } from "#core/acme/problems.ts";
import type { CaaFacts } from "#core/policy/caa.ts";
import { assert, Problem, refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { parseCsr } from "#core/x509/csr.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { Issuance, IssueRequest } from "#domain/certificates/issue.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Clock, Patience } from "#domain/ports.ts";
import { nothingWritten, type Store, type Unit } from "#domain/store.ts";
import type { Directories, Directory } from "./directories.ts";
import type { Spend } from "./nonces.ts";
import type { IssuanceRate } from "./issuance-rate.ts";
import type { OpenPlans } from "./open-plans.ts";
import { resolveIssuingProfile } from "./order-admission.ts";
import { authorizationStatusAt, namesOf, type Orders } from "./orders.ts";
import type { AccountRecord, AuthorizationFacts, CertificateName, OrderRecord } from "./store.ts";

export interface FinalizationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly orders: Pick<Orders, "order" | "readmit">;
  readonly directories: Pick<Directories, "named">;
  readonly issuance: Pick<Issuance, "issue">;
  readonly plans: OpenPlans;
  readonly rate: Pick<IssuanceRate, "made">;
  readonly hasRoom: () => boolean;
  readonly patience: Patience;
}

/** Whose order it is, and who asks. */
interface Asking {
  readonly origin: Origin;
  readonly directory: Directory;
  readonly account: AccountRecord;
}

/** What the certificate is to say, as far as the order has not proved it. */
type Requested = Pick<IssueRequest, "csr" | "identity">;

/** Makes certificates of orders. */
export class Finalization {
  readonly #deps: FinalizationDeps;
  /** Work of this process. */
  readonly #underWay = new Set<Promise<unknown>>();
  /** Orders that this process claims or works on, and how often. */
  readonly #busy = new Map<string, number>();

  constructor(deps: FinalizationDeps) {
    this.#deps = deps;
  }

  /**
   * The order once its certificate is there, or as it is after some seconds. An order that is valid
   * or being worked on is given as it is. Refuses `acme_order_not_ready`; `acme_bad_csr`, after
   * which the order is ready still; what a gate refuses, after which it is invalid; and what time
   * heals, after which it is ready again (FIN-4).
   */
  async finalize(asking: Asking, id: string, csr: Uint8Array, spend: Spend): Promise<OrderRecord> {
    const { orders, store, clock, hasRoom } = this.#deps;
    const order = await orders.order(asking.account, id);
    if (order.status === "valid" || order.status === "processing") return order;
    if (order.status !== "ready") throw refuse("acme_order_not_ready", { status: order.status });
    await orders.readmit(asking.directory, asking.account, order).catch(ignoreRejectedNames);
    const identity = fittingIdentity(csr, order);
    if (!hasRoom()) throw refuse("storage_unavailable", { retry_after: 60 });
    const now = clock.now();
    const claimed = await this.#during(id, async () => {
      const mine = await store.atomically(async (tx) => {
        await spend(tx);
        return await tx.acme.claimOrder(id, now);
      });
      if (!mine) return undefined;
      return { work: this.#during(id, () => this.#made(asking, order, { csr, identity })) };
    });
    // Somebody else was first, and there is one certificate only (FIN-1).
    if (claimed === undefined) return await orders.order(asking.account, id);
    const made = await this.#deps.patience.within(patienceSeconds, claimed.work);
    return made ?? (await orders.order(asking.account, id));
  }

  /** While it lasts the recovery takes the order for none that a crash has left. */
  #during<T>(id: string, act: () => Promise<T>): Promise<T> {
    this.#busy.set(id, (this.#busy.get(id) ?? 0) + 1);
    const work = act();
    this.#underWay.add(work);
    const over = () => {
      this.#underWay.delete(work);
      const others = (this.#busy.get(id) ?? 1) - 1;
      if (others > 0) this.#busy.set(id, others);
      else this.#busy.delete(id);
    };
    work.then(over, over);
    return work;
  }

  /**
   * Repeats the checks of `newOrder` at the moment of issuance (FIN-3). An order may have waited
   * for its pace while directory, account or credential changed.
   */
  async #readmit(asking: Asking, order: OrderRecord) {
    const { directories, orders, store } = this.#deps;
    const directory = directories.named(asking.directory.name);
    if (directory === undefined) {
      throw refuse("acme_unauthorized", { reason: "the directory of the order is not served" });
    }
    const account = await store.read.acme.account(asking.account.id);
    if (account?.status !== "valid") {
      throw refuse("acme_unauthorized", { reason: "the account of the order is not valid" });
    }
    return { directory, ca: await orders.readmit(directory, account, order) };
  }

  async #made(asking: Asking, order: OrderRecord, request: Requested): Promise<OrderRecord> {
    const { store, orders, plans } = this.#deps;
    try {
      await plans.paced(order, () => this.#issue(asking, order, request));
    } catch (error) {
      // A commit whose answer was lost may have happened: the order is looked at again later.
      if (!nothingWritten(error)) throw error;
      const { problem, invalid } = judged(error);
      await store.atomically((tx) =>
        tx.acme.settleOrder(
          order.id,
          invalid === undefined ? { status: "ready" } : { status: "invalid", error: invalid },
        ),
      );
      throw problem;
    }
    return await orders.order(asking.account, order.id);
  }

  async #issue(asking: Asking, order: OrderRecord, request: Requested): Promise<void> {
    const { issuance, plans, clock, rate } = this.#deps;
    const { account, origin } = asking;
    const begun = clock.now();
    const { directory, ca } = await this.#readmit(asking, order);
    const proofs = await this.#proofs(order, begun);
    const others = await plans.alsoReplacedBy(order);
    // The one pipeline with all gates of the profile; it shortens a validity to what CA, policy and
    // profile allow, and parks nothing (P-2, P-3).
    await issuance.issue(origin, ca, {
      ...request,
      profile: resolveIssuingProfile(directory, order.profile),
      validityDays: undefined,
      mustStaple: undefined,
      caller: "protocol",
      caaFacts: factsOf(directory, account, order, proofs),
      protocol: "acme",
      replaces: order.replaces?.serial,
      also: (tx, certificate) => this.#settled(tx, asking, { order, others }, certificate),
    });
    rate.made(begun, clock.now());
  }

  /** FIN-3: everything that was proved is so at this moment. */
  async #proofs(order: OrderRecord, now: Instant): Promise<readonly AuthorizationFacts[]> {
    const proofs = await this.#deps.store.read.acme.authorizations(order.authorizations);
    const lost = proofs.filter((proof) => authorizationStatusAt(proof, now) !== "valid");
    if (lost.length > 0 || proofs.length !== order.identifiers.length) {
      throw refuse("acme_unauthorized", { reason: "an authorization is not valid any more" });
    }
    return proofs;
  }

  /** In the unit of the certificate: the order has it, once, and the event says so (P-2). */
  async #settled(
    tx: Unit,
    { origin, account }: Asking,
    { order, others }: { readonly order: OrderRecord; readonly others: readonly CertificateName[] },
    { caId, serial, createdAt, notAfter }: CertificateRecord,
  ): Promise<void> {
    const certificate = { caId, serial, notAfter };
    const valid = await tx.acme.settleOrder(order.id, { status: "valid", certificate });
    if (!valid) throw refuse("acme_order_not_ready", { status: "processing" });
    if (account.idleSince !== undefined) await tx.acme.setIdle(account.id, undefined);
    if (order.replaces !== undefined) {
      await tx.acme.markReplaced(order.replaces, order.id);
      await tx.replacements.noteReplaced(order.replaces, createdAt);
    }
    for (const other of others) await tx.replacements.noteReplaced(other, createdAt);
    await tx.audit.appendEvent(
      {
        ...authorOf(origin, order.tenant),
        action: "acme.order.finalize",
        result: "success",
        tenant: order.tenant,
        caId,
        serial,
        target: order.id,
        targetName: serial,
        detail: {
          identifiers: namesOf(order),
          eab: account.eabId,
          profile: order.profile,
        },
      },
      createdAt,
    );
  }

  /**
   * What a crash, or a commit whose answer was lost, has left: an order whose certificate was
   * committed is valid by that, so one that is still in work has none, and is ready again (FIN-5).
   */
  async recover(): Promise<void> {
    const { store } = this.#deps;
    for (const own of [false, true]) {
      for (const { id } of await store.read.acme.processing(own, recoveredAtOnce)) {
        if (this.#busy.has(id)) continue;
        await store.atomically((tx) => tx.acme.settleOrder(id, { status: "ready" }));
      }
    }
  }

  /** Waits for what is under way; what waits for its pace is ready again. */
  async halt(): Promise<void> {
    this.#deps.plans.halt();
    await Promise.allSettled(this.#underWay);
  }
}

/** FIN-2, as far as nobody has to be asked, and what is certified then; refuses `acme_bad_csr`. */
function fittingIdentity(der: Uint8Array, { identifiers }: OrderRecord) {
  const csr = read(der);
  const reason = judgeCsr(csr, identifiers);
  if (reason !== undefined) throw refuse("acme_bad_csr", { reason });
  return orderedIdentity(csr, identifiers);
}

function read(der: Uint8Array) {
  try {
    return parseCsr(der);
  } catch (error) {
    if (error instanceof Problem) throw refuse("acme_bad_csr", { reason: error.message });
    throw error;
  }
}

/** Account and methods, for the records of the names' owners (CHA-5, CAA-3). */
function factsOf(
  directory: Directory,
  account: AccountRecord,
  order: OrderRecord,
  proofs: readonly AuthorizationFacts[],
): CaaFacts {
  const methods = new Map<string, string>();
  for (const [index, { value }] of order.identifiers.entries()) {
    const method = proofs[index]?.method;
    assert(method !== undefined, "what is valid has been proved in some way");
    methods.set(value, method);
  }
  return { accountUrl: directory.url(`/acct/${account.id}`), methods };
}

interface Judged {
  readonly problem: unknown;
  /** Undefined where the order may be finalized again. */
  readonly invalid: StoredProblem | undefined;
}

/** A name that is no longer permitted ends the order, which has to be claimed first (FIN-4). */
function ignoreRejectedNames(error: unknown): void {
  if (!(error instanceof Problem) || error.code !== "acme_rejected_identifier") throw error;
}

/** FIN-4: what a refusal of the issuance path means to the order. */
function judged(error: unknown): Judged {
  if (!(error instanceof Problem)) return { problem: error, invalid: undefined };
  switch (error.code) {
    case "bad_csr":
    case "bad_key":
    case "unsupported_name":
    case "key_usage_unsuitable":
      return again(refuse("acme_bad_csr", { reason: error.message }));
    case "gate_refused":
      return byGates(error);
    case "profile_requires_approval":
      return over("unauthorized", "The profile takes an approval, which enrolment never gets.");
    case "acme_unauthorized":
      return over("unauthorized", formatReason(error));
    case "acme_rejected_identifier":
      return over("rejectedIdentifier", "A name is not permitted here.");
    case "validity_exceeds_limit":
    case "ca_constraint":
      return over("badCSR", error.message);
    default:
      // Quota, guard, provider: time heals it.
      return again(error);
  }
}

/** Formats the reason of a refusal with a capital and a full stop. */
function formatReason(problem: Problem): string {
  const { reason } = problem.facts;
  if (typeof reason !== "string") return problem.message;
  return `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}.`;
}

function byGates(error: Problem): Judged {
  const names = failedGates(error);
  const only = names.length === 1 ? names[0] : undefined;
  if (only === "keycheck") {
    return again(refuse("acme_bad_csr", { reason: "the key is not acceptable" }));
  }
  if (names.includes("caa")) return over("caa", "The CAA records of a name do not allow this.");
  if (names.includes("name_constraints") || names.includes("names")) {
    return over("rejectedIdentifier", "A name is not permitted here.");
  }
  if (names.includes("approval")) {
    return over("unauthorized", "The profile takes an approval, which enrolment never gets.");
  }
  return over("badCSR", "The certificate that was asked for is not issued here.");
}

/** The names of the gates in a refusal of several; the device learns no more (P-5). */
function failedGates({ facts }: Problem): readonly string[] {
  const { gates } = facts;
  // Written by `refusalFor` of the gates.
  return Array.isArray(gates) ? (gates as { name: string }[]).map(({ name }) => name) : [];
}

const again = (problem: Problem): Judged => ({ problem, invalid: undefined });

const codes = {
  caa: "acme_caa",
  rejectedIdentifier: "acme_rejected_identifier",
  badCSR: "acme_bad_csr",
  unauthorized: "acme_unauthorized",
} as const;

function over(type: keyof typeof codes, detail: string): Judged {
  const problem = refuse(codes[type], { reason: detail }, detail);
  return { problem, invalid: { type, detail, status: problem.status } };
}

/** As long as a client waits for the answer; then it is told that work goes on. */
const patienceSeconds = 10;
const recoveredAtOnce = 200;
