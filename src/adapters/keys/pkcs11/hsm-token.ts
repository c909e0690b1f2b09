/**
 * Opens the one configured token: initialise, select, log in once, and keep a token session so that
 * the login lasts.
 */

import type { KeyType } from "#core/x509/algorithms.ts";
import { LaunchFault } from "#adapters/keys/requests.ts";
import type { Pkcs11Settings, Presenting } from "#adapters/keys/settings.ts";

import { ckf, ckm, ckuUser } from "./ck.ts";
import { type Handle, loadModule, type P11 } from "./module.ts";
import { objection, pinSentences, RefusedPins, refusedSentence, warns } from "./refused-pins.ts";
import { returnValueOf, type Rv } from "./rv.ts";

/** An open token, held by the main thread of the signer. */
export interface HsmToken {
  readonly p11: P11;
  readonly slot: Handle;
  readonly serial: string;
  readonly label: string;
  readonly manufacturer: string;
  readonly model: string;
  readonly keyTypes: readonly KeyType[];
  /** True while the module still answers for the token and the login stands. */
  alive(): boolean;
}

/** What opening a token asks of the process it happens in. */
export interface PinSource {
  /** The PIN; called at most once for each opening, and only where the token wants one. */
  readonly pin: () => string;
  /**
   * Resolves with another PIN than the one presented and than those `known`, or with any that a
   * person wants looked at (`asked`); told why it is wanted.
   */
  readonly another: (
    fault: LaunchFault,
    presented: string | undefined,
    known: (pin: string) => boolean,
  ) => Promise<{ readonly pin: string; readonly asked: boolean }>;
  readonly presenting: Presenting;
}

/**
 * Opens the token. Throws `configuration` when the module or the selection is wrong, `device`
 * otherwise. Where the PIN is refused or must not be tried (`objection`), waits for another one or
 * for a person, and opens the token anew.
 */
export async function openHsmToken(settings: Pkcs11Settings, source: PinSource): Promise<HsmToken> {
  const p11 = loadModule(settings.module_path);
  const refused = new RefusedPins(source.presenting.record);
  let attempt = new Attempt(source.pin, source.presenting, refused);
  let waiting: LaunchFault | undefined;
  for (;;) {
    try {
      return openOnce(p11, settings, attempt);
    } catch (fault) {
      // Once a PIN was refused nothing may end this process but its server: a person is waited for.
      if (!(fault instanceof LaunchFault) || (fault.kind !== "operator" && !waiting)) throw fault;
      if (fault.kind === "operator") waiting = fault;
      const { presented } = attempt;
      const known = (pin: string) => attempt.knows(pin);
      const next = await source.another(waiting ?? fault, presented, known);
      finalize(p11);
      const terms = { ...source.presenting, asked: next.asked };
      attempt = new Attempt(() => next.pin, terms, refused);
    }
  }
}

function openOnce(p11: P11, settings: Pkcs11Settings, attempt: Attempt): HsmToken {
  return calling("The PKCS#11 module failed to open its token.", () => {
    initialize(p11, settings);
    const slot = selectSlot(p11, settings);
    const found = p11.C_GetTokenInfo(slot);
    const sentinel = p11.C_OpenSession(slot, ckf.serialSession);
    if ((found.flags & ckf.loginRequired) !== 0) attempt.logIn(p11, slot, sentinel);
    return {
      p11,
      slot,
      serial: found.serialNumber.trim(),
      label: found.label.trim(),
      manufacturer: found.manufacturerID.trim(),
      model: found.model.trim(),
      keyTypes: keyTypesOf(p11, slot),
      alive: () => isAlive(p11, slot, sentinel),
    };
  });
}

function initialize(p11: P11, { libraryParameters }: Pkcs11Settings): void {
  const flags = ckf.osLockingOk;
  if (libraryParameters === undefined) p11.C_Initialize({ flags });
  // The copy pkcs11js makes is one octet short; a final blank is what it may lose.
  else p11.C_Initialize({ flags, libraryParameters: `${libraryParameters} ` });
}

/** A module sees what was changed on a token from outside only after this. */
function finalize(p11: P11): void {
  try {
    p11.C_Finalize();
  } catch {
    // It was never initialised, or has forgotten that it was.
  }
}

/**
 * V-11: exactly one. By label, serial and manufacturer, never by slot number, which changes on
 * re-insertion.
 */
function selectSlot(p11: P11, settings: Pkcs11Settings): Handle {
  const { token_label, token_serial, token_manufacturer } = settings;
  const matching = p11.C_GetSlotList(true).filter((slot) => {
    const { label, serialNumber, manufacturerID } = p11.C_GetTokenInfo(slot);
    return (
      matches(token_label, label) &&
      matches(token_serial, serialNumber) &&
      matches(token_manufacturer, manufacturerID)
    );
  });
  const [slot, ...others] = matching;
  if (slot === undefined) throw new LaunchFault("configuration", "No token matches the settings.");
  if (others.length > 0) {
    throw new LaunchFault("configuration", "More than one token matches the settings.");
  }
  return slot;
}

/** Token texts are padded with blanks. */
const matches = (wanted: string | undefined, found: string): boolean =>
  wanted === undefined || wanted.trim() === found.trim();

/** One attempt to log in, at most: with the PIN as it is now, on the terms of whoever wants it. */
class Attempt {
  readonly #pin: () => string;
  readonly #terms: Presenting;
  readonly #refused: RefusedPins;
  #serial = "";
  /** The PIN the token was shown, if it was. */
  presented: string | undefined;

  constructor(pin: () => string, terms: Presenting, refused: RefusedPins) {
    this.#pin = pin;
    this.#terms = terms;
    this.#refused = refused;
  }

  /**
   * True for a PIN this token is known to have refused; where nobody knows, none is worth another
   * look by itself.
   */
  knows(pin: string): boolean {
    try {
      return this.#refused.find(this.#serial, pin) !== undefined;
    } catch {
      return true; // The next attempt that is asked for says why.
    }
  }

  logIn(p11: P11, slot: Handle, tokenSession: Handle): void {
    const { flags, serialNumber } = p11.C_GetTokenInfo(slot);
    this.#serial = serialNumber.trim();
    if ((flags & ckf.userPinLocked) !== 0) throw pinFault(pinSentences.locked);
    const pin = this.#pin();
    const wrong = objection(flags, this.#known(pin), this.#terms);
    if (wrong !== undefined) throw pinFault(wrong, "it was not presented");
    try {
      this.presented = pin;
      p11.C_Login(tokenSession, ckuUser, pin);
    } catch (fault) {
      const rv = returnValueOf(fault);
      if (rv?.action === "benign") return;
      if (rv?.action === "operator") throw this.#refusal(p11, slot, pin, rv);
      throw fault;
    }
    this.#clear();
  }

  #known(pin: string) {
    try {
      return this.#refused.find(this.#serial, pin);
    } catch (fault) {
      // Whatever it said may be about this very PIN.
      throw pinFault("The record of refused PINs cannot be read.", described(fault));
    }
  }

  #refusal(p11: P11, slot: Handle, pin: string, { name }: Rv): LaunchFault {
    const { flags } = p11.C_GetTokenInfo(slot);
    const judged = !unjudged.includes(name);
    const known = { run: this.#terms.run, judged, warned: warns(flags) };
    const sentence = name === "CKR_PIN_LOCKED" ? pinSentences.locked : refusedSentence(flags);
    try {
      this.#refused.add(this.#serial, pin, known);
    } catch (fault) {
      return pinFault(sentence, `${name}; it cannot be kept on record: ${described(fault)}`);
    }
    return pinFault(sentence, name);
  }

  /** A record that stays only keeps PINs from being tried that were wrong. */
  #clear(): void {
    try {
      this.#refused.clear();
    } catch {
      // A disk that cannot be written keeps no token from serving.
    }
  }
}

const pinFault = (sentence: string, reason = "") => new LaunchFault("operator", sentence, reason);

const described = (fault: unknown): string =>
  fault instanceof Error ? fault.message : String(fault);

/** Answers of a token that has not looked at the PIN. */
const unjudged: readonly string[] = ["CKR_PIN_LOCKED", "CKR_USER_PIN_NOT_INITIALIZED"];

/** What the token can make and use, by its own list: a capability is probed, never assumed. */
function keyTypesOf(p11: P11, slot: Handle): KeyType[] {
  const listed = new Set(p11.C_GetMechanismList(slot));
  const has = (...wanted: number[]) => wanted.every((mechanism) => listed.has(mechanism));
  const sizes = (mechanism: number, names: readonly (readonly [KeyType, number])[]): KeyType[] => {
    const { minKeySize, maxKeySize } = p11.C_GetMechanismInfo(slot, mechanism);
    return names
      .filter(([, bits]) => minKeySize <= bits && bits <= maxKeySize)
      .map(([name]) => name);
  };
  return [
    ...(has(ckm.ecKeyPairGen, ckm.ecdsa) ? sizes(ckm.ecKeyPairGen, ecSizes) : []),
    ...(has(ckm.rsaKeyPairGen, ckm.rsaPkcs) ? sizes(ckm.rsaKeyPairGen, rsaSizes) : []),
    ...(has(ckm.edwardsKeyPairGen, ckm.eddsa) ? (["ed25519"] as const) : []),
  ];
}

function isAlive(p11: P11, slot: Handle, sentinel: Handle): boolean {
  try {
    p11.C_GetTokenInfo(slot);
    p11.C_GetSessionInfo(sentinel);
    return true;
  } catch {
    return false; // Whatever the number: a token that cannot say who it is does not answer.
  }
}

/** Turns errors of the module into launch faults. */
function calling<T>(sentence: string, work: () => T): T {
  try {
    return work();
  } catch (fault) {
    if (fault instanceof LaunchFault) throw fault;
    const reason = returnValueOf(fault)?.name ?? String(fault);
    throw new LaunchFault("device", sentence, reason);
  }
}

const ecSizes = [
  ["ecdsa-p256", 256],
  ["ecdsa-p384", 384],
  ["ecdsa-p521", 521],
] as const;
const rsaSizes = [
  ["rsa-2048", 2048],
  ["rsa-3072", 3072],
  ["rsa-4096", 4096],
] as const;
