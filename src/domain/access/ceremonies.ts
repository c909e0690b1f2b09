/**
 * What the two ceremonies of WebAuthn bring back from a browser, and the port of what checks it.
 */

/** Why an answer is not accepted, in the closed words of AUTH-5. */
export type CeremonyFault =
  | "challenge"
  | "origin"
  | "rp_id"
  | "signature"
  | "user_verification"
  | "credential";

/** The answer to a registration; all octets in unpadded base64url. */
export interface AttestedKey {
  readonly id: string;
  readonly clientDataJson: string;
  readonly attestationObject: string;
}

/** The answer to a confirmation; all octets in unpadded base64url. */
export interface Assertion {
  readonly id: string;
  readonly clientDataJson: string;
  readonly authenticatorData: string;
  readonly signature: string;
}

export type Refused = { readonly accepted: false; readonly reason: CeremonyFault };

/**
 * Checks answers against the challenge they must hold, the configured origins and the id of the
 * relying party. The user was present, and verified where that is required. Throws for nothing a
 * browser can send.
 */
export interface PasskeyChecks {
  /**
   * WebAuthn Level 3 §7.1. Who made the authenticator is not asked for, so nothing it says about
   * that is looked at.
   */
  attested(
    answer: AttestedKey,
    challenge: string,
  ): Promise<
    | { readonly accepted: true; readonly publicKey: Uint8Array; readonly signCount: number }
    | Refused
  >;
  /**
   * WebAuthn Level 3 §7.2 but for its counter, which is given. `publicKey` is the COSE_Key that was
   * registered.
   */
  asserted(
    answer: Assertion,
    challenge: string,
    publicKey: Uint8Array,
  ): Promise<{ readonly accepted: true; readonly signCount: number } | Refused>;
}

/** Without padding, as everything in WebAuthn. */
export const base64url = (bytes: Uint8Array): string =>
  bytes.toBase64({ alphabet: "base64url", omitPadding: true });
