/** A thread's token session: finds keys, signs, and heals what a new one can heal. */

import { refuse } from "#core/problems.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import { keyIdOf } from "#core/x509/public-keys.ts";
import type { WrappedDek } from "#core/envelope.ts";
import type { KeyHandle, ListedKey } from "#domain/keys.ts";
import { checkFits } from "#adapters/keys/fits.ts";
import { RestartNeeded } from "#adapters/keys/requests.ts";
import { type DekUse, type LocalRef, useContext } from "#adapters/keys/signer/provider.ts";

import { cka, ckf, ckoPrivate, ckoPublic, ckoSecret } from "./ck.ts";
import { type HsmTokenKek, unwrapOnHsmToken, wrapOnHsmToken } from "./kek.ts";
import { hsmTokenSignature } from "./mechanisms.ts";
import type { Handle, P11, Template } from "./module.ts";
import { listHsmTokenKeys } from "./listing.ts";
import { findObjects } from "./objects.ts";
import { readAttribute, readPublicHalf } from "./public-half.ts";
import { returnValueOf } from "./rv.ts";

/** A key on the token, found. */
export interface HsmTokenKey {
  readonly keyHandle: KeyHandle;
  readonly privateKey: Handle;
  readonly publicKey: Handle | undefined;
}

/** Where a token session is opened: the slot, and the serial number of the token in it. */
export interface Place {
  readonly slot: Handle;
  readonly serial: string;
}

/** A token session and the handles found through it, which live no longer than it does. */
export class TokenSession {
  readonly #p11: P11;
  readonly #slot: Handle;
  readonly #serial: string;
  readonly #pausesMs: readonly number[];
  readonly #output = Buffer.alloc(signatureBytesMax);
  readonly #found = new Map<string, HsmTokenKey>();
  /** Keys this process has used; survives the token session. */
  readonly #seen = new Set<string>();
  /** Opened when needed: the last one may have been closed by the token. */
  #handle: Handle | undefined;

  /**
   * Opens it. `pausesMs` are waited between attempts at what a new token session may heal; none of
   * them, no healing.
   */
  constructor(p11: P11, { slot, serial }: Place, pausesMs = usualPausesMs) {
    this.#p11 = p11;
    this.#slot = slot;
    this.#serial = serial;
    this.#pausesMs = pausesMs;
    this.#current();
  }

  /** The key as the token holds it now: exactly one private object of this id and label (KEY-2). */
  find(ref: LocalRef): KeyHandle {
    return this.#healing(() => {
      this.#found.delete(nameOf(ref));
      return this.#key(ref).keyHandle;
    });
  }

  /** Every private and secret key of the token, by the attributes it shows now. */
  list(): ListedKey[] {
    return this.#healing(() => listHsmTokenKeys(this.#p11, this.#current()));
  }

  /** One signature, as X.509 carries it. */
  sign(ref: LocalRef, algorithm: SignatureName, message: Uint8Array): Uint8Array {
    return this.#healing(() => {
      const { keyHandle, privateKey } = this.#key(ref);
      checkFits(keyHandle.keyType, algorithm);
      const { mechanism, input, finish } = hsmTokenSignature(keyHandle.keyType, algorithm, message);
      this.#p11.C_SignInit(this.#current(), mechanism, privateKey);
      return finish(this.#p11.C_Sign(this.#current(), input, this.#output));
    });
  }

  /** Runs `work` on a read-write token session of its own, closed afterwards; not repeated. */
  writing<T>(work: (tokenSession: Handle) => T): T {
    const tokenSession = this.#p11.C_OpenSession(this.#slot, ckf.serialSession | ckf.rwSession);
    try {
      return work(tokenSession);
    } finally {
      this.#closeQuietly(tokenSession);
    }
  }

  /** Destroys both halves of a key. */
  destroy(ref: LocalRef): void {
    this.#healing(() => {
      const { privateKey, publicKey } = this.#key(ref);
      this.writing((tokenSession) => {
        this.#p11.C_DestroyObject(tokenSession, privateKey);
        if (publicKey !== undefined) this.#p11.C_DestroyObject(tokenSession, publicKey);
      });
      this.#found.delete(nameOf(ref));
      this.#seen.delete(nameOf(ref));
    });
  }

  /** Wraps a data key for one use. */
  wrap(kek: LocalRef, dek: Uint8Array, use: DekUse): WrappedDek {
    const what = { dek, context: useContext[use] };
    return this.#healing(() => wrapOnHsmToken(this.#p11, this.#current(), this.#kek(kek), what));
  }

  /** The data key; refuses `key_unavailable` for whatever the token does not open. */
  unwrap(kek: LocalRef, wrapped: WrappedDek, use: DekUse): Uint8Array {
    const what = { wrapped, context: useContext[use] };
    return this.#healing(() => unwrapOnHsmToken(this.#p11, this.#current(), this.#kek(kek), what));
  }

  /** Destroys a key-encryption key. */
  destroyKek(kek: LocalRef): void {
    this.#healing(() => {
      const found = this.#kek(kek);
      const publicKey = found.kind === "rsa" ? found.publicKey : undefined;
      this.writing((tokenSession) => {
        this.#p11.C_DestroyObject(tokenSession, found.key);
        if (publicKey !== undefined) this.#p11.C_DestroyObject(tokenSession, publicKey);
      });
      this.#seen.delete(nameOf(kek));
    });
  }

  /**
   * A passing fault is met with a new token session, at growing distance, because an instant one
   * often fails too.
   */
  #healing<T>(work: () => T): T {
    for (const pause of this.#pausesMs) {
      try {
        return work();
      } catch (fault) {
        const action = returnValueOf(fault)?.action;
        if (action !== "token session" && action !== "busy") throw fault;
        Bun.sleepSync(pause);
        this.leave();
      }
    }
    return work();
  }

  #current(): Handle {
    this.#handle ??= this.#p11.C_OpenSession(this.#slot, ckf.serialSession);
    return this.#handle;
  }

  /** Closes the token session; the next operation opens another. */
  leave(): void {
    this.#found.clear();
    if (this.#handle !== undefined) this.#closeQuietly(this.#handle);
    this.#handle = undefined;
  }

  #closeQuietly(tokenSession: Handle): void {
    try {
      this.#p11.C_CloseSession(tokenSession);
    } catch {
      // Closing is all we wanted: one that the token has forgotten is closed.
    }
  }

  #key(ref: LocalRef): HsmTokenKey {
    const name = nameOf(ref);
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const key = this.#search(ref);
    if (this.#found.size >= foundMax) this.#found.clear();
    this.#found.set(name, key);
    this.#seen.add(name);
    return key;
  }

  #search(ref: LocalRef): HsmTokenKey {
    const own = [
      { type: cka.id, value: Buffer.from(ref.id, "hex") },
      { type: cka.label, value: ref.label },
    ];
    const found = this.#objects([{ type: cka.class, value: ckoPrivate }, ...own]);
    const foreign = found.length === 0 ? this.#foreignNames(ref.label) : undefined;
    const named = foreign ?? own;
    const privates =
      foreign === undefined
        ? found
        : this.#objects([{ type: cka.class, value: ckoPrivate }, ...foreign]);
    const [privateKey] = privates;
    if (privateKey === undefined) throw this.#missing(ref);
    const publics = this.#objects([{ type: cka.class, value: ckoPublic }, ...named]);
    // Two objects of one name: which one would sign is chance, so neither does.
    if (privates.length > 1 || publics.length > 1)
      throw refuse("key_unavailable", { retry_after: 2 });
    const [publicKey] = publics;
    const half = readPublicHalf(this.#p11, this.#current(), publicKey ?? privateKey);
    if (half === undefined || keyIdOf(half.spki) !== ref.id) {
      throw refuse("key_unavailable", { retry_after: 2 });
    }
    const its = { provider: "pkcs11", label: ref.label, id: ref.id } as const;
    const keyHandle = { ref: its, ...half, deviceSerial: this.#serial };
    return { keyHandle, privateKey, publicKey };
  }

  /**
   * What finds both halves of a key that another program has made under this label: its CKA_ID is
   * whatever that program liked. That it is the key which is meant, its public half shows.
   */
  #foreignNames(label: string): Template | undefined {
    const labelled = { type: cka.label, value: label };
    const [key, second] = this.#objects([{ type: cka.class, value: ckoPrivate }, labelled]);
    if (key === undefined || second !== undefined) return undefined;
    const id = readAttribute(this.#p11, this.#current(), key, cka.id);
    // Without one, labels are all there is to pair them by; tokens find nothing by an empty id.
    return id === undefined || id.length === 0
      ? [labelled]
      : [{ type: cka.id, value: id }, labelled];
  }

  /** Exactly one object of this id and label; searched each time, because it is rarely used. */
  #kek(ref: LocalRef): HsmTokenKek {
    const [key, second] = this.#objects([
      { type: cka.class, value: ckoSecret },
      { type: cka.id, value: Buffer.from(ref.id, "hex") },
      { type: cka.label, value: ref.label },
    ]);
    if (key === undefined) {
      // An RSA key is found as every other pair is, and its id is proven to be that of its public
      // half.
      const { keyHandle, privateKey, publicKey } = this.#search(ref);
      this.#seen.add(nameOf(ref));
      return { kind: "rsa", key: privateKey, publicKey, spki: keyHandle.spki };
    }
    if (second !== undefined) throw refuse("key_unavailable", { retry_after: 2 });
    this.#seen.add(nameOf(ref));
    return { kind: "aes", key };
  }

  #missing(ref: LocalRef): RestartNeeded {
    // A key this process has used and now cannot see may be there for a fresh one; a key never seen
    // hardly.
    const cause = this.#seen.has(nameOf(ref)) ? "key vanished" : "key absent";
    return new RestartNeeded(cause, cause);
  }

  #objects(template: Template): Handle[] {
    return findObjects(this.#p11, this.#current(), template, 2);
  }
}

const nameOf = (ref: LocalRef): string => `${ref.id}/${ref.label}`;

const usualPausesMs: readonly number[] = [10, 50, 200];
/** RSA-4096 gives 512 octets; room for modules that insist on more. */
const signatureBytesMax = 2048;
const foundMax = 4096;
