/**
 * The cipher suites of TLS 1.2 that may be spoken at all: their keys are forgotten after the
 * connection (RFC 9325 §4.2).
 */

/**
 * By OpenSSL's names: whether the suite also seals what it encrypts, which is what every client of
 * the last decade speaks.
 */
export const tlsSuites = {
  "ECDHE-ECDSA-AES128-GCM-SHA256": "aead",
  "ECDHE-RSA-AES128-GCM-SHA256": "aead",
  "ECDHE-ECDSA-AES256-GCM-SHA384": "aead",
  "ECDHE-RSA-AES256-GCM-SHA384": "aead",
  "ECDHE-ECDSA-CHACHA20-POLY1305": "aead",
  "ECDHE-RSA-CHACHA20-POLY1305": "aead",
  "ECDHE-ECDSA-AES128-SHA": "cbc",
  "ECDHE-RSA-AES128-SHA": "cbc",
  "ECDHE-ECDSA-AES256-SHA": "cbc",
  "ECDHE-RSA-AES256-SHA": "cbc",
} as const satisfies Record<string, "aead" | "cbc">;

export type TlsSuite = keyof typeof tlsSuites;

/** All that may be configured. */
export const tlsSuiteNames = Object.keys(tlsSuites) as readonly TlsSuite[]; // The table's own keys.

/** What is spoken unless configured otherwise. */
export const usualTlsSuites: readonly TlsSuite[] = tlsSuiteNames.filter(
  (name) => tlsSuites[name] === "aead",
);
