/**
 * Opens the one configured token: initialise, select, log in once, and keep a token session so that
 * the login lasts.
 */

import type { KeyType } from "#core/x509/algorithms.ts";
import { LaunchFault } from "#adapters/keys/requests.ts";
import type { Pkcs11Settings } from "#adapters/keys/settings.ts";

import { ckf, ckm, ckuUser } from "./ck.ts";
import { type Handle, loadModule, type P11 } from "./module.ts";
import { returnValueOf } from "./rv.ts";

/** An open token, held by the main thread of the signer. */
export interface HsmToken {
  readonly p11: P11;
  readonly slot: Handle;
  readonly serial: string;
  readonly manufacturer: string;
  readonly model: string;
  readonly keyTypes: readonly KeyType[];
  /** True while the module still answers for the token and the login stands. */
  alive(): boolean;
}

/** What opening a token asks of the process it happens in. */
export interface PinSource {
  /** The PIN; called at most once for each opening, and only when it is presented. */
  readonly pin: () => string;
  /**
   * Resolves with another PIN than the one refused, or with any when none was presented; told why
   * it is wanted.
   */
  readonly another: (fault: LaunchFault, refused: string | undefined) => Promise<string>;
}

/**
 * Opens the token. Throws `configuration` when the module or the selection is wrong, `device`
 * otherwise. Where the PIN is refused or may not be tried, waits for another one and opens the
 * token anew: no PIN is presented twice.
 */
export async function openHsmToken(settings: Pkcs11Settings, source: PinSource): Promise<HsmToken> {
  const p11 = loadModule(settings.modulePath);
  let presented: string | undefined;
  let { pin } = source;
  const present = () => {
    presented = pin();
    return presented;
  };
  let waiting: LaunchFault | undefined;
  for (;;) {
    try {
      return openOnce(p11, settings, present);
    } catch (fault) {
      // Once a PIN was refused nothing may end this process but its server: a successor would
      // present it again.
      if (!(fault instanceof LaunchFault) || (fault.kind !== "operator" && !waiting)) throw fault;
      if (fault.kind === "operator") waiting = fault;
      const next = await source.another(waiting ?? fault, presented);
      pin = () => next;
      finalize(p11);
    }
  }
}

function openOnce(p11: P11, settings: Pkcs11Settings, pin: () => string): HsmToken {
  return calling("The PKCS#11 module failed to open its token.", () => {
    initialize(p11, settings);
    const slot = selectSlot(p11, settings);
    const found = p11.C_GetTokenInfo(slot);
    const sentinel = p11.C_OpenSession(slot, ckf.serialSession);
    logIn(p11, sentinel, found.flags, pin);
    return {
      p11,
      slot,
      serial: found.serialNumber.trim(),
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
  const { hsmTokenLabel, hsmTokenSerial, hsmTokenManufacturer } = settings;
  const matching = p11.C_GetSlotList(true).filter((slot) => {
    const { label, serialNumber, manufacturerID } = p11.C_GetTokenInfo(slot);
    return (
      matches(hsmTokenLabel, label) &&
      matches(hsmTokenSerial, serialNumber) &&
      matches(hsmTokenManufacturer, manufacturerID)
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

function logIn(p11: P11, tokenSession: Handle, flags: number, pin: () => string): void {
  if ((flags & ckf.loginRequired) === 0) return;
  if ((flags & ckf.userPinLocked) !== 0) throw pinFault("The token's PIN is locked.");
  // One wrong guess more would lock the token; only a person may decide to risk that.
  if ((flags & ckf.userPinFinalTry) !== 0) throw pinFault("The token allows one last PIN attempt.");
  try {
    p11.C_Login(tokenSession, ckuUser, pin());
  } catch (fault) {
    const rv = returnValueOf(fault);
    if (rv?.action === "benign") return;
    if (rv?.action === "operator") throw pinFault("The token refused the PIN.", rv.name);
    throw fault;
  }
}

const pinFault = (sentence: string, reason = "") => new LaunchFault("operator", sentence, reason);

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
