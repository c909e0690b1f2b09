/**
 * Which PINs a token has refused: none of them costs it another try, neither by a successor of this
 * process nor by a later server.
 */

import { argon2Sync, randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";

import { equalInConstantTime } from "#core/crypto.ts";
import type { Presenting } from "#adapters/keys/settings.ts";
import { readSmall, removeDurably, writeDurably } from "#adapters/keys/software/files.ts";

import { ckf } from "./ck.ts";

/** What is known of a PIN that did not log in. */
export interface RefusedPin {
  /** Of the server whose signer presented it. */
  readonly run: string;
  /** False when the token did not look at it, because it was locked or had no PIN yet. */
  readonly judged: boolean;
  /**
   * True when the token said afterwards, in its flags, that a wrong PIN was entered since the last
   * right one.
   */
  readonly warned: boolean;
}

/**
 * The record of refused PINs: a file of the signers in their private directory. It outlives them
 * and the server, which reads neither it nor any PIN, so that what leaks from the server's memory
 * says nothing about one. A PIN is short: whoever has the file could try them all, so what stands
 * in it is argon2id of the PIN under a salt of its own, and a right PIN never stands in it: a login
 * empties it. Bounded; the oldest is forgotten first.
 */
export class RefusedPins {
  readonly #path: string;
  /**
   * By token and PIN: what this process has seen itself holds also where the file cannot be
   * written.
   */
  readonly #seen = new Map<string, RefusedPin>();
  #last: { readonly question: string; readonly digest: string } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * What is known of this PIN for the token of this serial; throws when the record cannot be read.
   */
  find(serial: string, pin: string): RefusedPin | undefined {
    const seen = this.#seen.get(JSON.stringify([serial, pin]));
    if (seen !== undefined) return seen;
    const { salt, refused } = this.#read();
    if (refused.length === 0) return undefined;
    const digest = Buffer.from(this.#digest(salt, serial, pin));
    return refused.find((one) => equalInConstantTime(digest, Buffer.from(one.digest)));
  }

  /** Remembers one, durably; what was known of it before is replaced. */
  add(serial: string, pin: string, known: RefusedPin): void {
    this.#seen.set(JSON.stringify([serial, pin]), known);
    const { salt, refused } = this.#read();
    const digest = this.#digest(salt, serial, pin);
    const others = refused.filter((one) => one.digest !== digest);
    const kept = others.concat({ digest, ...known }).slice(-refusedMax);
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    writeDurably(this.#path, Buffer.from(JSON.stringify({ salt, refused: kept })));
  }

  /** The token took a PIN: what was refused before is no matter any more. */
  clear(): void {
    this.#seen.clear();
    removeDurably(this.#path);
  }

  #read(): Content {
    const bytes = readSmall(this.#path, fileBytesMax);
    if (bytes === undefined) return { salt: randomBytes(16).toString("hex"), refused: [] };
    const content = JSON.parse(bytes.toString("utf8")) as Partial<Content>; // Checked below.
    const { salt, refused } = content;
    const whole =
      typeof salt === "string" &&
      Array.isArray(refused) &&
      refused.every(({ digest }) => typeof digest === "string");
    if (!whole) throw new Error("the record of refused PINs is damaged");
    return { salt, refused };
  }

  /** Slow on purpose, so the last one is kept: a source is looked at again and again. */
  #digest(salt: string, serial: string, pin: string): string {
    const question = JSON.stringify([salt, serial, pin]);
    if (this.#last?.question !== question) {
      const digest = argon2Sync("argon2id", {
        message: JSON.stringify(["pkid/refused-pin/1", serial, pin]),
        nonce: Buffer.from(salt, "hex"),
        // RFC 9106 §4, second recommended option: 64 MiB, three passes.
        memory: 65_536,
        passes: 3,
        parallelism: 1,
        tagLength: 32,
      }).toString("hex");
      this.#last = { question, digest };
    }
    return this.#last.digest;
  }
}

/**
 * Why a PIN must not be presented to a token that shows these flags; undefined when it may.
 *
 * A PIN is presented once. It may be again only when a person asks, by starting the server or by
 * SIGHUP, and only where that cannot be the try that locks the token: when the token, having warned
 * after the refusal, warns no longer, so that it was unlocked or somebody logged in since; when the
 * token never looked at it; or, for a token that never warns, by the next server.
 *
 * The last try is never spent by pkid itself. A PIN that was not refused before is given it when a
 * person asks, at a start or by SIGHUP, because whoever has just mended the PIN must get in; not by
 * a signer that follows another one, nor because a file was found changed, which may be half
 * written, nor by who only looks (preflight).
 */
export function objection(
  flags: number,
  known: RefusedPin | undefined,
  terms: Presenting,
): string | undefined {
  if ((flags & ckf.userPinLocked) !== 0) return pinSentences.locked;
  const last = (flags & ckf.userPinFinalTry) !== 0;
  if (known !== undefined && !mayAgain(flags, known, terms)) return refusedSentence(flags);
  return last && (!terms.asked || terms.lookingOnly) ? pinSentences.lastTry : undefined;
}

function mayAgain(flags: number, known: RefusedPin, terms: Presenting): boolean {
  if (!terms.asked || warns(flags)) return false;
  const unlocked = known.judged && known.warned;
  return unlocked || (!terms.lookingOnly && (!known.judged || known.run !== terms.run));
}

/** True when the token says that a wrong PIN was entered since the last right one. */
export const warns = (flags: number): boolean =>
  (flags & (ckf.userPinCountLow | ckf.userPinFinalTry | ckf.userPinLocked)) !== 0;

/** What is wrong after a refusal, by the flags the token shows then. */
export function refusedSentence(flags: number): string {
  if ((flags & ckf.userPinLocked) !== 0) return pinSentences.locked;
  const last = (flags & ckf.userPinFinalTry) !== 0;
  return last ? pinSentences.refusedBeforeLast : pinSentences.refused;
}

/** Told apart, because what has to be done differs. */
export const pinSentences = {
  refused: "The token refused the PIN.",
  refusedBeforeLast:
    "The token refused the PIN and allows one last attempt; another PIN is given it on SIGHUP.",
  lastTry: "The token allows one last PIN attempt; the PIN is given it on SIGHUP or at a start.",
  locked: "The token's PIN is locked; have it unlocked, then send SIGHUP.",
} as const;

interface Content {
  /** 16 octets in hex. */
  readonly salt: string;
  readonly refused: readonly (RefusedPin & { readonly digest: string })[];
}

const refusedMax = 16;
const fileBytesMax = 16_384;
