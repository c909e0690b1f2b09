/**
 * What travels in the frames: sign requests in binary, everything else as JSON, faults by a closed
 * word.
 */

import { Problem, type ProblemCode, problems } from "#core/problems.ts";
import { type KeyType, type SignatureName, signatures } from "#core/x509/algorithms.ts";
import type { HybridHeader, Wrap, WrappedDek } from "#core/envelope.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { KekHandle, KeyHandle, HybridRequest, KekInUse } from "#domain/keys.ts";

import { jsonBody, readJson } from "./frames.ts";

/** A request that is rare enough for JSON. */
export type CallRequest =
  | { readonly operation: "generate"; readonly label: string; readonly keyType: KeyType }
  | { readonly operation: "find"; readonly key: KeyRef }
  | { readonly operation: "destroy"; readonly key: KeyRef }
  | { readonly operation: "kek.generate"; readonly label: string }
  /** A data key of the database, in base64. */
  | { readonly operation: "kek.wrap"; readonly key: KeyRef; readonly dek: string }
  | { readonly operation: "kek.unwrap"; readonly key: KeyRef; readonly wrapped: WrappedBody }
  | { readonly operation: "kek.destroy"; readonly key: KeyRef }
  | {
      readonly operation: "half.generate" | "half.fingerprint" | "half.destroy";
      readonly key: KeyRef;
    }
  | { readonly operation: "half.wrap"; readonly key: KeyRef; readonly request: HybridRequestBody }
  /** `share` in base64. */
  | {
      readonly operation: "half.unwrap";
      readonly key: KeyRef;
      readonly header: HybridHeaderBody;
      readonly share: string;
    }
  | { readonly operation: "kek.use"; readonly versions: readonly KekInUse[] }
  | { readonly operation: "kek.reseal"; readonly version: number }
  /** Data keys of private keys behind the id `after`, in boxes for `address`, in base64. */
  | { readonly operation: "kek.archive"; readonly address: string; readonly after: string }
  /** Data keys of private keys, in base64. */
  | { readonly operation: "kek.take_over"; readonly dataKeys: readonly DataKeyBody[] }
  | CarriedRequest
  | { readonly operation: "intake.address" }
  /** A private key of another CA, in a box for the address, in base64. */
  | { readonly operation: "intake.take"; readonly label: string; readonly box: string }
  | { readonly operation: "list" }
  | { readonly operation: "facts" };

/**
 * What the signer of software keys asks of the signer that holds the KEK; the server carries it and
 * the answer.
 */
export type CarriedRequest =
  /** Where a box for `take_in` has to go, in base64. */
  | { readonly operation: "kek.address"; readonly key: KeyRef }
  /** The data key of a private key, in a box for `address`; both in base64. */
  | {
      readonly operation: "kek.hand_out";
      readonly key: KeyRef;
      readonly wrapped: WrappedBody;
      readonly address: string;
    }
  /** The data key in the box, wrapped. */
  | { readonly operation: "kek.take_in"; readonly key: KeyRef; readonly box: string };

/** True for what the server carries; whatever else a signer may say is carried nowhere. */
export const isCarriedRequest = ({ operation }: { readonly operation: string }): boolean =>
  ["kek.address", "kek.hand_out", "kek.take_in"].includes(operation);

/** A wrapped data key with its octets in base64. */
export interface WrappedBody {
  readonly wrap: Wrap;
  readonly octets: string;
}

/** A request for a hybrid wrap with its octets in base64. */
export interface HybridRequestBody extends Pick<HybridRequest, "family" | "version"> {
  readonly dek: string;
  readonly share: string;
  readonly wrappedShare: WrappedBody;
}

/** A hybrid header with its octets in base64. */
export interface HybridHeaderBody extends Pick<HybridHeader, "kek" | "kekVersion" | "wrap"> {
  readonly octets: string;
  readonly wrappedShare: string;
  readonly ciphertext: string;
}

/** The data key of a private key with its octets in base64, in a box or plain. */
export interface DataKeyBody {
  readonly id: string;
  readonly octets: string;
}

/** One step of `kek.archive`. */
export interface HandedOut {
  readonly boxes: readonly DataKeyBody[];
  /** The id to go on behind; undefined at the end. */
  readonly after: string | undefined;
}

/** What came of one step of `kek.reseal`. */
export interface Resealed {
  /** Keys brought under the version. */
  readonly changed: number;
  /** Keys that are not under it: not tried yet, or not to be opened. */
  readonly left: number;
}

/**
 * One use of a KEK for the data key of a private key; `key` is undefined when its version is not
 * known.
 */
export interface KekTally {
  readonly key: KeyRef | undefined;
  readonly operation: "encrypt" | "decrypt";
  readonly succeeded: boolean;
}

/** One signature wanted; `message` is a view that is valid only while the frame is handled. */
export interface SignRequest {
  readonly id: string;
  readonly label: string;
  readonly algorithm: SignatureName;
  readonly message: Buffer;
}

/**
 * Why a signer cannot serve. `configuration`: the settings are wrong (V-11, V-12). `operator`: the
 * token refused the PIN or may not be tried again; the signer waits for another one. `source`: the
 * server that keeps PIN or passphrase does not give it; stops a start, and is asked again later.
 * `device`: it may come back.
 */
export type LaunchFaultKind = "configuration" | "operator" | "source" | "device";

/** A signer that cannot serve, in a closed sentence that names no path, label or PIN. */
export class LaunchFault extends Error {
  override readonly name = "LaunchFault";
  readonly kind: LaunchFaultKind;
  /** For the log only. */
  readonly reason: string;

  constructor(kind: LaunchFaultKind, sentence: string, reason = "") {
    super(sentence);
    this.kind = kind;
    this.reason = reason;
  }
}

/** Why a fresh process is wanted: how sure the worker is decides how readily it comes. */
export type RestartCause = "device" | "key vanished" | "key absent";

/**
 * Says that the token has to be opened anew, by a fresh process: thrown inside a signer, it ends
 * it.
 */
export class RestartNeeded extends Error {
  override readonly name = "RestartNeeded";
  override readonly cause: RestartCause;

  constructor(reason: string, cause: RestartCause = "device") {
    super(reason);
    this.cause = cause;
  }
}

/** Exit code of a signer that asks for its successor. */
export const restartExitCode = 75;

/** The head of a sign request; the same for every message, so callers keep it. */
export function signHead(key: KeyRef, algorithm: SignatureName): Uint8Array {
  const label = Buffer.from(key.label, "utf8");
  const head = Buffer.alloc(1 + idBytes + 2 + label.length);
  if (!/^[0-9a-f]{40}$/.test(key.id)) throw new Error("a key id is 40 hex digits");
  head.writeUInt8(algorithmNames.indexOf(algorithm), 0);
  head.write(key.id, 1, "hex");
  head.writeUInt16LE(label.length, 1 + idBytes);
  label.copy(head, 3 + idBytes);
  return head;
}

/** Reads head and message of a sign request. */
export function readSignRequest(body: Buffer): SignRequest {
  const algorithm = algorithmNames[body.readUInt8(0)];
  if (algorithm === undefined) throw new Error("a sign request names no known algorithm");
  const messageAt = 3 + idBytes + body.readUInt16LE(1 + idBytes);
  return {
    id: body.toString("hex", 1, 1 + idBytes),
    label: body.toString("utf8", 3 + idBytes, messageAt),
    algorithm,
    message: body.subarray(messageAt),
  };
}

/** A refusal as it crosses the wire. */
export interface RefusalBody {
  readonly code: ProblemCode;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly sentence: string;
}

/** A refusal for the wire; undefined for every other fault. */
export function refusalBody(fault: unknown): Uint8Array | undefined {
  if (!(fault instanceof Problem)) return undefined;
  const { code, facts, message } = fault;
  return jsonBody({ code, facts, sentence: message } satisfies RefusalBody);
}

/** Reads a refusal; a code this side does not know becomes `key_unavailable`. */
export function readRefusal(body: Buffer): RefusalBody {
  const value = readJson(body) as Partial<RefusalBody>; // Written by our own binary; checked below.
  const code = value.code !== undefined && value.code in problems ? value.code : "key_unavailable";
  return { code, facts: value.facts ?? {}, sentence: value.sentence ?? problems[code][1] };
}

/** A fault for the wire; one that is not foreseen keeps its words for the log. */
export function faultBody(fault: unknown): Uint8Array {
  const { kind, message, reason } = fault instanceof LaunchFault ? fault : unforeseen(fault);
  return jsonBody({ kind, sentence: message, reason });
}

/** Reads a fault. */
export function readFault(body: Buffer): LaunchFault {
  // Written by faultBody.
  const fault = readJson(body) as { kind: LaunchFaultKind; sentence: string; reason: string };
  return new LaunchFault(fault.kind, fault.sentence, fault.reason);
}

/** Wraps what nobody foresaw. */
export function unforeseen(fault: unknown): LaunchFault {
  const reason = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
  return new LaunchFault("device", "The key store cannot be opened.", reason);
}

/** A key handle with its octets as base64, for JSON. */
export const keyHandleBody = (keyHandle: KeyHandle): unknown => ({
  ...keyHandle,
  spki: Buffer.from(keyHandle.spki).toString("base64"),
});

/** Reads a key handle. */
export function readKeyHandle(value: unknown): KeyHandle {
  // Written by keyHandleBody.
  const keyHandle = value as Omit<KeyHandle, "spki"> & { spki: string };
  return { ...keyHandle, spki: Uint8Array.fromBase64(keyHandle.spki) };
}

/** A new KEK with its octets as base64, for JSON. */
export const kekHandleBody = (kekHandle: KekHandle): unknown => ({
  ...kekHandle,
  spki: kekHandle.spki?.toBase64(),
});

/** Reads a new KEK. */
export function readKekHandle(value: unknown): KekHandle {
  // Written by kekHandleBody.
  const kekHandle = value as Omit<KekHandle, "spki"> & { spki?: string };
  return {
    ...kekHandle,
    spki: kekHandle.spki === undefined ? undefined : Uint8Array.fromBase64(kekHandle.spki),
  };
}

/** A wrapped data key for JSON. */
export const wrappedBody = ({ wrap, wrappedDek }: WrappedDek): WrappedBody => ({
  wrap,
  octets: wrappedDek.toBase64(),
});

/** Reads a wrapped data key. */
export function readWrapped(value: unknown): WrappedDek {
  const { wrap, octets } = value as WrappedBody; // Written by wrappedBody.
  return { wrap, wrappedDek: Uint8Array.fromBase64(octets) };
}

/** A request for a hybrid wrap for JSON. */
export const hybridRequestBody = (request: HybridRequest): HybridRequestBody => ({
  family: request.family,
  version: request.version,
  dek: request.dek.toBase64(),
  share: request.share.toBase64(),
  wrappedShare: wrappedBody(request.wrappedShare),
});

/** Reads a request for a hybrid wrap. */
export const readHybridRequest = (body: HybridRequestBody): HybridRequest => ({
  family: body.family,
  version: body.version,
  dek: Uint8Array.fromBase64(body.dek),
  share: Uint8Array.fromBase64(body.share),
  wrappedShare: readWrapped(body.wrappedShare),
});

/** A hybrid header for JSON. */
export const hybridHeaderBody = (header: HybridHeader): HybridHeaderBody => ({
  kek: header.kek,
  kekVersion: header.kekVersion,
  wrap: header.wrap,
  octets: header.wrappedDek.toBase64(),
  wrappedShare: header.pqc.wrappedShare.toBase64(),
  ciphertext: header.pqc.ciphertext.toBase64(),
});

/** Reads a hybrid header. */
export function readHybridHeader(value: unknown): HybridHeader {
  const body = value as HybridHeaderBody; // Written by hybridHeaderBody.
  return {
    kek: body.kek,
    kekVersion: body.kekVersion,
    wrap: body.wrap,
    wrappedDek: Uint8Array.fromBase64(body.octets),
    pqc: {
      wrappedShare: Uint8Array.fromBase64(body.wrappedShare),
      ciphertext: Uint8Array.fromBase64(body.ciphertext),
    },
  };
}

const algorithmNames = Object.keys(signatures) as SignatureName[]; // The keys of the table.
const idBytes = 20;
