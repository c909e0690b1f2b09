/**
 * Logins under way at the provider: carried by the browser in a signed cookie, good for ten minutes
 * and for once.
 */

import { equalInConstantTime, hmacSha256, sha256Hex } from "#core/crypto.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { LoginSecrets } from "./provider.ts";

/** Seconds a login may take. */
export const transactionSeconds = 600;

/** Writes and reads transactions; those of another process, or of before a restart, are none. */
export class Transactions {
  readonly #clock: Clock;
  readonly #random: Pick<Random, "bytes">;
  readonly #key: Uint8Array;
  /** Digests of those that were used, with the time they end anyway; oldest first. */
  readonly #used = new Map<string, Instant>();

  constructor(deps: { readonly clock: Clock; readonly random: Pick<Random, "bytes"> }) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#key = deps.random.bytes(32);
  }

  /** Fresh secrets, and the text that carries them. */
  begin(): { readonly secrets: LoginSecrets; readonly text: string } {
    const [state, nonce, codeVerifier] = [this.#secret(), this.#secret(), this.#secret()];
    const ends = addSeconds(this.#clock.now(), transactionSeconds);
    const body = [state, nonce, codeVerifier, ends].join(".");
    return { secrets: { state, nonce, codeVerifier }, text: `${body}.${this.#tag(body)}` };
  }

  /**
   * The secrets of a transaction we began, that is not over and not used; undefined for any other
   * text.
   */
  read(text: string): LoginSecrets | undefined {
    const [, body = "", state = "", nonce = "", codeVerifier = "", end = "", tag = ""] =
      form.exec(text) ?? [];
    if (!equalInConstantTime(bytesOf(tag), bytesOf(this.#tag(body)))) return undefined;
    const now = this.#clock.now();
    if (instant(Number(end)) <= now || this.#used.has(digestOf(text))) return undefined;
    return { state, nonce, codeVerifier };
  }

  /** From now on the transaction is over. */
  use(text: string): void {
    const now = this.#clock.now();
    for (const [digest, ends] of this.#used) {
      if (ends > now && this.#used.size < usedMax) break;
      this.#used.delete(digest);
    }
    this.#used.set(digestOf(text), addSeconds(now, transactionSeconds));
  }

  /** 256 bits; also the longest a code verifier need be (RFC 7636 §4.1). */
  #secret(): string {
    return this.#random.bytes(32).toBase64({ alphabet: "base64url", omitPadding: true });
  }

  #tag(body: string): string {
    const mac = hmacSha256(this.#key, bytesOf(`pkid/oidc-transaction/1 ${body}`));
    return mac.toBase64({ alphabet: "base64url", omitPadding: true });
  }
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const digestOf = (text: string): string => sha256Hex(bytesOf(text));

const form =
  /^(([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})\.(\d{1,16}))\.([A-Za-z0-9_-]{43})$/;
/**
 * A code is good for once at the provider too, so what is forgotten here is still refused there.
 */
const usedMax = 100_000;
