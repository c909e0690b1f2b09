/** What a new key-encryption key on a token has to prove, of whatever kind it is. */

import { equalInConstantTime } from "#core/crypto.ts";
import { Problem, refuse } from "#core/problems.ts";

import { cka } from "./ck.ts";
import { waysOut } from "./extraction.ts";
import type { Handle, P11 } from "./module.ts";
import { readAttribute } from "./public-half.ts";
import { returnValueOf } from "./rv.ts";

/** The key's flags are as asked, and nothing takes it out; refuses `not_supported`. */
export function proveKept(
  p11: P11,
  tokenSession: Handle,
  key: Handle,
  usage: readonly (readonly [type: number, value: boolean])[],
): void {
  for (const [type, wanted] of [...kept, ...usage]) {
    const octet = readAttribute(p11, tokenSession, key, type);
    // A usage flag the token does not know for this kind of key is a usage it does not offer.
    const wrong = octet === undefined ? wanted || core.has(type) : (octet[0] === 1) !== wanted;
    if (wrong) throw unfit("reports a wrong value for one of its flags");
  }
  const [way] = waysOut(p11, tokenSession, key);
  if (way !== undefined) throw unfit(way);
}

/** What `wrap` made of a data key `unwrap` turns back into it; refuses `not_supported`. */
export function proveRoundTrip(
  dek: Uint8Array,
  wrap: () => Uint8Array,
  unwrap: (wrapped: Uint8Array) => Uint8Array,
): void {
  try {
    if (equalInConstantTime(unwrap(wrap()), dek)) return;
  } catch (fault) {
    const action = returnValueOf(fault)?.action;
    const refused = fault instanceof Problem || action === "configuration" || action === "request";
    // Anything else is a device in trouble, which says nothing about what it can.
    if (!refused) throw fault;
  }
  throw unfit("does not open what it sealed");
}

/**
 * A token says of octets it does not open what it likes, also that it failed itself: it is no
 * reason to restart one.
 */
export function opening<T>(work: () => T): T {
  try {
    return work();
  } catch (fault) {
    const name = returnValueOf(fault)?.name;
    if (name === undefined || !refusals.has(name)) throw fault;
    throw refuse("key_unavailable", { retry_after: 2 });
  }
}

const unfit = (what: string) =>
  refuse("not_supported", {}, `The new KEK ${what}; it was destroyed. This token keeps no KEK.`);

const kept = [
  [cka.token, true],
  [cka.private, true],
  [cka.sensitive, true],
  [cka.alwaysSensitive, true],
  [cka.extractable, false],
  [cka.neverExtractable, true],
  [cka.sign, false],
  [cka.derive, false],
  [cka.unwrap, false],
] as const;
const core: ReadonlySet<number> = new Set([cka.sensitive, cka.extractable, cka.wrap]);

const refusals: ReadonlySet<string> = new Set([
  "CKR_GENERAL_ERROR",
  "CKR_FUNCTION_FAILED",
  "CKR_ENCRYPTED_DATA_INVALID",
  "CKR_ENCRYPTED_DATA_LEN_RANGE",
  "CKR_DATA_INVALID",
  "CKR_DATA_LEN_RANGE",
]);
