/** The one way to use a CA-class key: intend, sign, verify, close. */

import type { KeyRole, SignPurpose } from "#core/audit/ledger.ts";
import { type Octets, sha256HexOf } from "#core/crypto.ts";
import type { CaId, Serial } from "#core/ids.ts";
import { assert, Problem } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import { fingerprint, keyIdOf } from "#core/x509/public-keys.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import { type Foreseen, nothingWritten, type Store, type Unit } from "#domain/store.ts";
import { closeEntry, type EntryFacts, openEntry } from "./entries.ts";
import { Owed } from "./owed.ts";
import { type SignTicket, ticketOf } from "./ticket.ts";

export interface SigningDeps {
  readonly store: Pick<Store, "atomically" | "onRollbackEnd">;
  readonly keys: Pick<Keys, "sign">;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
}

/** What is going to be signed, with which key, for which artefact. */
export interface ToBeSigned {
  /** Drawn at the intent, unless the octets name the operation. */
  readonly opId?: string;
  readonly key: Pick<KeyHandle, "ref" | "spki" | "deviceSerial">;
  readonly role: Extract<KeyRole, "ca" | "ssh">;
  readonly algorithm: SignatureName;
  /** Exactly the octets to be signed; nobody changes them from here on. */
  readonly message: Octets;
  readonly purpose: SignPurpose;
  readonly caId: CaId;
  /** Serial, `<scope>#<crl number>`, or whatever names it among those of its purpose. */
  readonly artifact: string;
}

/** An operation as the caller's own rows name it, and when. */
export interface Operation {
  readonly opId: string;
  /** Lower hex SHA-256 of the octets. */
  readonly digest: string;
  readonly at: Instant;
}

/** One that came to nothing. */
export interface Failure extends Operation {
  /** A closed word: the code of what refused, or `internal`. */
  readonly error: string;
}

/** What the caller writes with an intent, and what if nothing comes of it. */
export interface IntentRows {
  /**
   * The serial that the caller's rows take with this intent, or that they have taken with an
   * earlier one, named by its operation; and that they settle when it is closed. Whoever says so
   * spares a round trip to the database.
   */
  readonly serial?: { readonly serial: Serial; readonly takenBy?: string | undefined };
  /**
   * In the unit of the intent, before it: whatever refuses here leaves no trace and no ticket.
   */
  readonly intended?: (tx: Unit, operation: Operation) => Promise<void>;
  /** In the unit that closes it as an error, after that. */
  readonly abandoned?: (tx: Unit, failure: Failure) => Promise<void>;
  /** Told once that unit is committed; does not throw. */
  readonly afterAbandoned?: () => Promise<void>;
}

/**
 * Signs with CA-class keys. Each set of octets is an operation with an entry of its own in the sign
 * ledger (KEY-5): the intent is durable before the key is used, and closed with what came of it. A
 * crash in between leaves an open intent, which the next start closes as `unknown` (KEY-7).
 *
 * Several sets of octets of one artefact, as of a hybrid CA, follow one another by
 * `closeAndIntend`, or by `close` and another `intend` where something is awaited in between.
 */
export class Signing {
  readonly #deps: SigningDeps;
  readonly #owed: Owed;
  /** What the ledger calls the keys that sign, by their public keys, which nobody changes. */
  readonly #named = new WeakMap<Uint8Array, KeyNames>();

  constructor(deps: SigningDeps) {
    this.#deps = deps;
    this.#owed = new Owed(deps.store);
  }

  /**
   * Commits the intent with the caller's rows, in one unit; only then the key may be used. Refuses
   * what the rows refuse, and `storage_unavailable`; whatever an earlier outage owes to the store
   * is written first.
   */
  async intend(what: ToBeSigned, rows: IntentRows = {}): Promise<Intended> {
    await this.#owed.pay();
    const open = await this.#opening(what, rows);
    const at = this.#deps.clock.now();
    await this.#deps.store.atomically((tx) => writeIntent(tx, open, at), takenWith(open));
    return this.#intended(open);
  }

  /**
   * Writes what must be on record though its caller has failed; while the database is away it is
   * kept, and written before the next intent. Never throws.
   */
  async writeOrOwe(unit: () => Promise<void>): Promise<void> {
    await this.#owed.write(unit);
  }

  async #opening(what: ToBeSigned, rows: IntentRows): Promise<Open> {
    const { key, role, algorithm, message, purpose, caId, artifact } = what;
    // The port holds each signature against this id, so the entry names the key that has signed.
    const names = this.#namesOf(key.spki);
    assert(names.id === key.ref.id, "a key is named by the digest of its public key");
    const digest = await sha256HexOf(message);
    const { opId = this.#deps.random.uuid() } = what;
    const facts: EntryFacts = {
      opId,
      provider: key.ref.provider,
      deviceSerial: key.deviceSerial,
      keyLabel: key.ref.label,
      signerFingerprint: names.fingerprint,
      role,
      operation: "sign",
      algorithm,
      digest,
      purpose,
      caId,
      artifact,
    };
    const ticket = ticketOf({ opId, key: key.ref, role, algorithm, digest, purpose, caId });
    return { facts, message, rows, ticket };
  }

  #namesOf(spki: Uint8Array): KeyNames {
    const known = this.#named.get(spki);
    if (known !== undefined) return known;
    const names = { id: keyIdOf(spki), fingerprint: fingerprint(spki) };
    this.#named.set(spki, names);
    return names;
  }

  /** Only once the unit of the intent is committed. */
  #intended(open: Open): Intended {
    return new Intended(open.ticket.opId, () => this.#sign(open));
  }

  async #sign(open: Open): Promise<Signed> {
    const { ticket, message } = open;
    try {
      // The port verifies what it gives (KEY-4).
      const signature = await this.#deps.keys.sign(ticket, message);
      const digest = await sha256HexOf(message);
      assert(digest === ticket.digest, "the signed octets are the intended ones");
      return new Signed(signature, {
        close: (rows, artifact) => this.#close(open, signature, rows, artifact),
        closeAndIntend: (next, rows) => this.#closeAndIntend(open, signature, next, rows),
        abandon: (cause) => this.#abandon(open, cause),
      });
    } catch (error) {
      await this.#abandon(open, error);
      throw error;
    }
  }

  async #close<T>(
    open: Open,
    signature: Uint8Array,
    rows: UnitRows<T>,
    artifact: string | undefined,
  ): Promise<T> {
    const facts = artifact === undefined ? open.facts : { ...open.facts, artifact };
    return await this.#closing(open, async (tx, at) => {
      await closeEntry(tx, facts, { signature }, at);
      return await rows(tx, at);
    });
  }

  async #closeAndIntend(
    open: Open,
    signature: Uint8Array,
    what: ToBeSigned,
    rows: IntentRows,
  ): Promise<Intended> {
    const next = await this.#opening(what, rows);
    await this.#closing(open, async (tx, at) => {
      await closeEntry(tx, open.facts, { signature }, at);
      await writeIntent(tx, next, at);
    });
    return this.#intended(next);
  }

  /**
   * One unit. When it refused for sure (a label taken, a CA rolled over meanwhile, a database that
   * was lost before it was told to commit), what was signed is thrown away and said to be. When it
   * may have been committed, nothing is said: the next start finds out.
   */
  async #closing<T>(open: Open, rows: UnitRows<T>): Promise<T> {
    const at = this.#deps.clock.now();
    try {
      return await this.#deps.store.atomically((tx) => rows(tx, at), settledWith(open));
    } catch (error) {
      if (nothingWritten(error)) await this.#abandon(open, error);
      throw error;
    }
  }

  /** Closes the entry as failed with the caller's rows, now or before the next intent. */
  async #abandon({ facts, rows, ticket }: Open, cause: unknown): Promise<void> {
    const error = cause instanceof Problem ? cause.code : "internal";
    const { opId, digest } = ticket;
    await this.#owed.write(async () => {
      const at = this.#deps.clock.now();
      await this.#deps.store.atomically(async (tx) => {
        await closeEntry(tx, facts, { error }, at);
        await rows.abandoned?.(tx, { opId, digest, error, at });
      }, settledWith({ ticket, rows }));
      await rows.afterAbandoned?.();
    });
  }
}

/** An operation whose intent is durable: from here on the key may be used, once. */
export class Intended {
  readonly opId: string;
  readonly #sign: () => Promise<Signed>;
  #used = false;

  constructor(opId: string, sign: () => Promise<Signed>) {
    this.opId = opId;
    this.#sign = sign;
  }

  /**
   * Uses the key, outside any unit. What the provider refuses, `key_unavailable` and the like, is
   * thrown when the intent is closed as failed, or that is owed.
   */
  async sign(): Promise<Signed> {
    assert(!this.#used, "an intent is signed once");
    this.#used = true;
    return await this.#sign();
  }
}

/** A signature that nobody may see before it is closed. */
export class Signed {
  /** As X.509 carries it. */
  readonly signature: Uint8Array;
  readonly #steps: Steps;
  #ended = false;

  constructor(signature: Uint8Array, steps: Steps) {
    this.signature = signature;
    this.#steps = steps;
  }

  /**
   * Does what comes between signature and close; when that fails the intent is closed as failed,
   * or that is owed, and the error is thrown on.
   */
  async prepare<T>(work: () => T | Promise<T>): Promise<T> {
    assert(!this.#ended, "a signature is prepared for before it is closed");
    try {
      return await work();
    } catch (cause) {
      this.#end();
      await this.#steps.abandon(cause);
      throw cause;
    }
  }

  /**
   * One unit: the outcome and the caller's rows and events. Only then may anybody see what was
   * signed. Throws what the unit refuses; the intent is then closed as failed unless the unit may
   * have been committed. `artifact` replaces the name the intent had.
   */
  async close<T>(rows: UnitRows<T>, artifact?: string): Promise<T> {
    this.#end();
    return await this.#steps.close(rows, artifact);
  }

  /**
   * The same where other octets are to be signed next: this operation is closed and the next one
   * intended in one unit.
   */
  async closeAndIntend(next: ToBeSigned, rows: IntentRows = {}): Promise<Intended> {
    this.#end();
    return await this.#steps.closeAndIntend(next, rows);
  }

  #end(): void {
    assert(!this.#ended, "an intent is closed once");
    this.#ended = true;
  }
}

/** What the caller writes in the unit that closes an entry. */
type UnitRows<T> = (tx: Unit, at: Instant) => Promise<T>;

/** What may follow a signature. */
interface Steps {
  close<T>(rows: UnitRows<T>, artifact: string | undefined): Promise<T>;
  closeAndIntend(next: ToBeSigned, rows: IntentRows): Promise<Intended>;
  abandon(cause: unknown): Promise<void>;
}

/** Both are digests of the public key. */
interface KeyNames {
  readonly id: string;
  readonly fingerprint: string;
}

/** An operation from its intent on. */
interface Open {
  readonly facts: EntryFacts;
  readonly message: Octets;
  readonly rows: IntentRows;
  readonly ticket: SignTicket;
}

/** What a unit that intends is going to ask the store for. */
function takenWith({ ticket, rows }: Open): Foreseen {
  const { caId } = ticket;
  if (rows.serial === undefined || rows.serial.takenBy !== undefined || caId === undefined) {
    return {};
  }
  return { takes: { caId, serial: rows.serial.serial } };
}

/** And one that closes. */
function settledWith({ ticket, rows }: Pick<Open, "ticket" | "rows">): Foreseen {
  if (rows.serial === undefined) return {};
  const { serial, takenBy = ticket.opId } = rows.serial;
  return { settles: { opId: takenBy, serial } };
}

/** The rows first: what they refuse takes no number of the ledger. */
async function writeIntent(tx: Unit, { facts, rows, ticket }: Open, at: Instant): Promise<void> {
  await rows.intended?.(tx, { opId: ticket.opId, digest: ticket.digest, at });
  await openEntry(tx, facts, at);
}
