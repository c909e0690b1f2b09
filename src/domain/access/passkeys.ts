/** Passkeys of people: registered to a session, asked to confirm what weighs more, removed. */

import type { Account } from "#core/access/person.ts";
import { sha256 } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type AttestedKey, type Assertion, base64url, type PasskeyChecks } from "./ceremonies.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import { Challenges } from "./challenges.ts";
import type { Refusals } from "./refusals.ts";
import type { Session } from "#domain/actor.ts";
import type { Sessions } from "./sessions.ts";
import { type RequireStepUp, stepUpDenial } from "./step-up.ts";
import type { PasskeyRecord } from "./store.ts";

export interface PasskeyDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Pick<Random, "bytes">;
  readonly sessions: Pick<Sessions, "stepUp" | "endStepUps">;
  readonly checks: PasskeyChecks;
  readonly requireStepUp: RequireStepUp;
  /** Writes failed confirmations down. */
  readonly refusals: Pick<Refusals, "record">;
  /** How long one confirmation counts. */
  readonly stepUpSeconds: number;
}

/** What a browser is asked to make a passkey for. */
export interface RegistrationBegun {
  readonly challenge: string;
  /** Says to an authenticator which passkeys are one person's, and who that is to nobody. */
  readonly userId: string;
  readonly session: Session;
  readonly known: readonly PasskeyRecord[];
}

/** What a browser is asked to sign. */
export interface StepUpBegun {
  readonly challenge: string;
  readonly allowed: readonly PasskeyRecord[];
}

/** A new passkey as a browser gives it, and what its owner calls it. */
export interface NewPasskey extends AttestedKey {
  readonly name: string;
}

/** The service. All of it is for sessions: whoever has none is refused `no_session`. */
export class Passkeys {
  readonly #deps: PasskeyDeps;
  readonly #challenges: Challenges;

  constructor(deps: PasskeyDeps) {
    this.#deps = deps;
    this.#challenges = new Challenges(deps);
  }

  /**
   * Begins a registration. The first passkey needs a login of the last five minutes
   * (`fresh_login_required`), every other one a confirmation with one there is, so that a stolen
   * session gets itself none.
   */
  async beginRegistration(origin: Origin): Promise<RegistrationBegun> {
    const session = sessionOf(origin);
    const owner = accountOf(session);
    const known = await this.#deps.store.read.access.passkeysOf(owner);
    await this.#admit(origin, session, known);
    const challenge = this.#challenges.give(session.digest, "register");
    const userId = base64url(sha256(new TextEncoder().encode(handleOf(owner))));
    return { challenge, userId, session, known };
  }

  /**
   * Ends it; refuses as above, and `webauthn_failed` for what does not answer the challenge. Gives
   * the passkey's id.
   */
  async finishRegistration(origin: Origin, request: NewPasskey): Promise<string> {
    const session = sessionOf(origin);
    const owner = accountOf(session);
    const { store, clock, checks } = this.#deps;
    await this.#admit(origin, session, await store.read.access.passkeysOf(owner));
    const challenge = this.#challenges.take(session.digest, "register");
    if (challenge === undefined) throw refuse("webauthn_failed", { reason: "challenge" });
    const verdict = await checks.attested(request, challenge);
    if (!verdict.accepted) throw refuse("webauthn_failed", { reason: verdict.reason });
    const now = clock.now();
    const passkey: PasskeyRecord = {
      id: request.id,
      owner,
      name: request.name,
      publicKey: verdict.publicKey,
      signCount: verdict.signCount,
      createdAt: now,
      lastUsedAt: undefined,
    };
    await store.atomically(async (tx) => {
      // Checked again: two sessions may have begun a first passkey, and only one of them gets it.
      await this.#admit(origin, session, await tx.access.passkeysOf(owner));
      const isNew = await tx.access.insertPasskey(passkey);
      if (!isNew) {
        const known = "This passkey is already registered.";
        throw refuse("webauthn_failed", { reason: "known_credential" }, known);
      }
      await tx.audit.appendEvent(passkeyEvent("webauthn.register", origin, passkey), now);
    });
    return passkey.id;
  }

  /** Begins a confirmation; refuses `no_credential` to who has no passkey. */
  async beginStepUp(origin: Origin): Promise<StepUpBegun> {
    const session = sessionOf(origin);
    const allowed = await this.#deps.store.read.access.passkeysOf(accountOf(session));
    if (allowed.length === 0) throw refuse("no_credential");
    return { challenge: this.#challenges.give(session.digest, "step_up"), allowed };
  }

  /** Ends it: the session has confirmed until then. Refuses `step_up_failed`, which is an event. */
  async finishStepUp(origin: Origin, assertion: Assertion): Promise<Instant> {
    const session = sessionOf(origin);
    const { digest, principal } = session;
    const { store, clock, sessions, stepUpSeconds } = this.#deps;
    const accepted = await this.#accepted(origin, assertion);
    const now = clock.now();
    const outcome = await store.atomically(async (tx) => {
      const owner = accountOf(session);
      const used = await tx.access.usePasskey({ ...accepted, owner, at: now });
      if (used === "used") {
        await tx.audit.appendEvent(
          {
            action: "auth.step_up",
            result: "success",
            ...authorOf(origin, undefined),
            target: digest,
            targetName: principal.subject,
            detail: { credential: accepted.id },
          },
          now,
        );
      }
      return used;
    });
    if (outcome !== "used") {
      const reason = outcome === "counter" ? "counter" : "unknown_credential";
      return this.#failed(origin, assertion.id, reason);
    }
    const until = addSeconds(now, stepUpSeconds);
    if (!sessions.stepUp(digest, until, accepted.id)) throw refuse("no_session");
    return until;
  }

  /** The caller's own, oldest first. */
  async list(origin: Origin): Promise<readonly PasskeyRecord[]> {
    return this.#deps.store.read.access.passkeysOf(accountOf(sessionOf(origin)));
  }

  /**
   * Removes one of the caller's own, and ends what was confirmed with it; refuses `not_found`, also
   * for one of somebody else.
   */
  async remove(origin: Origin, id: string): Promise<void> {
    const owner = accountOf(sessionOf(origin));
    const now = this.#deps.clock.now();
    await this.#deps.store.atomically(async (tx) => {
      const gone = await tx.access.removePasskey(id, owner);
      if (gone === undefined) throw refuse("not_found");
      await tx.audit.appendEvent(passkeyEvent("webauthn.remove", origin, gone), now);
    });
    this.#deps.sessions.endStepUps(id);
  }

  /**
   * Removes all passkeys of a subject, for an administrator: who has lost the last one cannot
   * confirm to add another, and whoever has it by now has confirmed nothing any more. Gives how
   * many there were; refuses `not_found` for none. The person adds a first one within five minutes
   * of a login.
   */
  async reset(origin: Origin, subject: string): Promise<number> {
    const now = this.#deps.clock.now();
    const removed = await this.#deps.store.atomically(async (tx) => {
      const gone = await tx.access.removePasskeysOf(subject);
      if (gone.length === 0) throw refuse("not_found");
      for (const [at, passkey] of gone.entries()) {
        const event = passkeyEvent("webauthn.remove", origin, passkey);
        // What was approved is done once, and told by the first of its events.
        await tx.audit.appendEvent(at === 0 ? event : { ...event, approval: undefined }, now);
      }
      return gone;
    });
    for (const { id } of removed) this.#deps.sessions.endStepUps(id);
    return removed.length;
  }

  /** Everything but the counter, which is compared where it is stored. */
  async #accepted(origin: Origin, assertion: Assertion) {
    const session = sessionOf(origin);
    const { store, checks } = this.#deps;
    // Taken before anything is looked at: whatever comes of it, it was its one use.
    const challenge = this.#challenges.take(session.digest, "step_up");
    if (challenge === undefined) return this.#failed(origin, assertion.id, "challenge");
    const own = await store.read.access.passkeysOf(accountOf(session));
    const passkey = own.find(({ id }) => id === assertion.id);
    if (passkey === undefined) return this.#failed(origin, assertion.id, "unknown_credential");
    const verdict = await checks.asserted(assertion, challenge, passkey.publicKey);
    if (!verdict.accepted) return this.#failed(origin, passkey.id, verdict.reason);
    return { id: passkey.id, signCount: verdict.signCount };
  }

  async #failed(origin: Origin, credential: string, reason: string): Promise<never> {
    await this.#deps.refusals.record(stepUpDenial(origin, { reason, credential }));
    throw refuse("step_up_failed", { reason });
  }

  async #admit(origin: Origin, session: Session, known: readonly PasskeyRecord[]): Promise<void> {
    if (known.length > 0) await this.#deps.requireStepUp("webauthn.register", origin, known);
    else if (addSeconds(session.createdAt, freshSeconds) < this.#deps.clock.now()) {
      throw refuse("fresh_login_required", { max_age_seconds: freshSeconds });
    }
    if (known.length >= passkeysOfOneMax) throw refuse("webauthn_failed", { reason: "too_many" });
  }
}

function sessionOf({ session }: Origin): Session {
  if (session === undefined) throw refuse("no_session");
  return session;
}

/** The account a session is of: sessions are of people, never of tokens. */
function accountOf({ principal }: Session): Account {
  const { subject, voucher, issuer } = principal.person;
  return { subject, voucher, issuer };
}

/**
 * What a user handle is made of: every part in quotation marks, so that no two accounts have one
 * text.
 */
const handleOf = ({ voucher, issuer, subject }: Account): string =>
  JSON.stringify([voucher, issuer, subject]);

function passkeyEvent(
  action: "webauthn.register" | "webauthn.remove",
  origin: Origin,
  { id, name, owner }: PasskeyRecord,
) {
  return {
    action,
    result: "success" as const,
    ...authorOf(origin, undefined),
    target: id,
    targetName: name,
    detail: { subject: owner.subject },
  };
}

/** A login this old may not add the first passkey. */
const freshSeconds = 300;
/** More than anyone carries. */
const passkeysOfOneMax = 20;
