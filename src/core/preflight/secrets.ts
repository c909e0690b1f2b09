/**
 * Judges secrets by their value without ever saying it: known defaults, and how much guessing they
 * withstand.
 */

import { failed, type Finding, gathered, skipped, warned } from "./finding.ts";

/** A secret in clear, under the key that configures it. */
export interface NamedSecret {
  readonly key: string;
  readonly value: string;
  /** True where whoever guesses is stopped after a few wrong ones, as by a token. */
  readonly fewGuesses?: boolean;
}

/** Warns below 64 bits, fails for what everybody tries first. */
export function judgeSecrets(secrets: readonly NamedSecret[]): Finding {
  const findings = secrets.flatMap(({ key, value, fewGuesses }): readonly Finding[] => {
    if (isKnownDefault(value)) return [failed(`${key} is a known default.`)];
    if (fewGuesses === true) return [];
    const bits = Math.floor(entropyBits(value));
    return bits < bitsMin ? [warned(`${key} withstands about 2^${bits} guesses.`)] : [];
  });
  if (secrets.length === 0) return skipped("No password or passphrase is configured.");
  const counted = secrets.length === 1 ? "1 secret" : `${secrets.length} secrets`;
  return gathered(findings, `${counted} looked at.`);
}

/** Warns of keys of MACs that are shorter than what they make; `value` is base64 or base64url. */
export const judgeMacKeys = (keys: readonly NamedSecret[]): readonly Finding[] =>
  keys.flatMap(({ key, value }) => {
    const { length } = Buffer.from(value, "base64url");
    return length < macOctets ? [warned(`${key} has ${length} octets; 32 are due.`)] : [];
  });

/**
 * True for what everybody tries first, however it is spelled, and for what the example of the
 * configuration has in the place of every secret.
 */
export function isKnownDefault(value: string): boolean {
  if (/^\*+$/.test(value)) return true;
  const bare = value.toLowerCase().replace(/[^a-z]/g, "");
  return (
    knownDefaults.has(value.toLowerCase()) ||
    (bare.length >= value.length - 4 && knownDefaults.has(bare))
  );
}

/**
 * An upper bound of the bits in a secret that somebody typed or drew: each character counts as one
 * of its alphabet, but one that repeats its predecessor or continues a run counts one bit.
 */
export function entropyBits(value: string): number {
  const alphabet = alphabets.reduce(
    (sum, [pattern, size]) => sum + (pattern.test(value) ? size : 0),
    0,
  );
  const each = Math.log2(Math.max(alphabet, 2));
  let bits = 0;
  let previous = -2;
  for (const character of value) {
    const code = character.codePointAt(0) ?? 0;
    bits += Math.abs(code - previous) <= 1 ? 1 : each;
    previous = code;
  }
  return bits;
}

const alphabets = [
  [/[a-z]/, 26],
  [/[A-Z]/, 26],
  [/[0-9]/, 10],
  [/[^a-zA-Z0-9]/, 33],
] as const;

const knownDefaults: ReadonlySet<string> = new Set([
  "admin",
  "administrator",
  "root",
  "toor",
  "pkid",
  "pki",
  "password",
  "passwort",
  "passw0rd",
  "secret",
  "changeme",
  "minioadmin",
  "wjalrxutnfemi/k7mdeng/bpxrficyexamplekey",
  "changeit",
  "change-me",
  "default",
  "example",
  "test",
  "letmein",
  "qwerty",
  "welcome",
  "hunter2",
  "correct horse battery staple",
  "12345678",
  "123456",
  "1234",
  "0000",
]);

/** RFC 7518 §3.2: of HS256. */
const macOctets = 32;
const bitsMin = 64;
