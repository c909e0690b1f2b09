/** Checks what authenticators answer, by WebAuthn Level 3 §7. */

import type {
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";

import { sha256 } from "#core/crypto.ts";
import {
  type Assertion,
  type AttestedKey,
  base64url,
  type CeremonyFault,
  type PasskeyChecks,
  type Refused,
} from "#domain/access/ceremonies.ts";

/** `auth.webauthn`, as far as it says whom passkeys are for. */
export interface RelyingParty {
  readonly rp_id: string;
  /** Exactly as browsers write them. */
  readonly origins: readonly string[];
  readonly user_verification: "required" | "preferred";
}

/** `auth.webauthn`. */
export interface WebAuthnSection extends Omit<RelyingParty, "rp_id"> {
  readonly enabled: boolean;
  readonly rp_id: string | undefined;
  readonly rp_name: string;
}

/** The checks, and what browsers are told of the relying party; undefined while there is none. */
export function openWebAuthn({ enabled, rp_id, rp_name, ...section }: WebAuthnSection) {
  // V-8 has made sure that an enabled block has it.
  if (!enabled || rp_id === undefined) return undefined;
  const { origins, user_verification } = section;
  return {
    checks: new WebAuthn({ rp_id, origins, user_verification }),
    shown: {
      rpId: rp_id,
      rpName: rp_name,
      userVerification: user_verification,
      algorithms: passkeyAlgorithms,
    },
  };
}

/** COSE algorithms of passkeys: ES256, EdDSA, RS256. */
export const passkeyAlgorithms: readonly number[] = [-7, -8, -257];

/**
 * The checks. What has a reason of its own is looked at first, in order; the library then checks
 * all of it again, and the signature.
 */
export class WebAuthn implements PasskeyChecks {
  readonly #party: RelyingParty;
  // Asked for at the start and not by the first answer, whose turn it would make a long one.
  readonly #library = library();

  constructor(party: RelyingParty) {
    this.#party = party;
  }

  readonly attested: PasskeyChecks["attested"] = async (answer, challenge) => {
    const { verifyRegistrationResponse, codecs } = await this.#library;
    try {
      const authData = authDataOf(answer, codecs);
      const fault = await this.#fault("webauthn.create", answer, authData, challenge);
      if (fault !== undefined) return refused(fault);
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response: registration(answer, authData, codecs),
        ...this.#expected(challenge),
        supportedAlgorithmIDs: [...passkeyAlgorithms],
      });
      const credential = verified ? registrationInfo?.credential : undefined;
      if (credential === undefined || credential.id !== answer.id) return refused("credential");
      const { publicKey, counter } = credential;
      return { accepted: true, publicKey: new Uint8Array(publicKey), signCount: counter };
    } catch {
      // The library throws for what it does not accept, and so does what reads CBOR.
      return refused("credential");
    }
  };

  readonly asserted: PasskeyChecks["asserted"] = async (answer, challenge, publicKey) => {
    const { verifyAuthenticationResponse } = await this.#library;
    try {
      const authData = bytesOf(answer.authenticatorData);
      const fault = await this.#fault("webauthn.get", answer, authData, challenge);
      if (fault !== undefined) return refused(fault);
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: authentication(answer),
        ...this.#expected(challenge),
        // Zero lets every counter pass here: it is compared where it is stored, so that no two uses
        // pass with one.
        credential: { id: answer.id, publicKey: new Uint8Array(publicKey), counter: 0 },
      });
      if (!verified) return refused("signature");
      return { accepted: true, signCount: authenticationInfo.newCounter };
    } catch {
      return refused("signature"); // As above.
    }
  };

  #expected(challenge: string) {
    const { rp_id: rpId, origins, user_verification: userVerification } = this.#party;
    return {
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: rpId,
      requireUserVerification: userVerification === "required",
    };
  }

  async #fault(
    type: string,
    { clientDataJson }: Pick<Assertion, "clientDataJson">,
    authData: Uint8Array<ArrayBuffer>,
    challenge: string,
  ): Promise<CeremonyFault | undefined> {
    const { rp_id: rpId, origins, user_verification: userVerification } = this.#party;
    const told = clientData(clientDataJson);
    if (told.type !== type || told.challenge !== challenge) return "challenge";
    // Never from within another site's page.
    if (!origins.includes(String(told.origin)) || told.crossOrigin === true) return "origin";
    const { parseAuthenticatorData } = (await this.#library).codecs;
    const { rpIdHash, flags } = parseAuthenticatorData(authData);
    const expected = sha256(new TextEncoder().encode(rpId));
    if (base64url(rpIdHash) !== base64url(expected)) return "rp_id";
    if (!flags.up || (userVerification === "required" && !flags.uv)) return "user_verification";
    return undefined;
  }
}

type Library = Awaited<ReturnType<typeof library>>;
type Codecs = Library["codecs"];

/**
 * Loaded only where passkeys are asked for: with it come @peculiar/x509 and reflect-metadata, for
 * attestations that never reach it.
 */
async function library() {
  // First and by itself: in the bundle @peculiar/x509 is evaluated before what the library imports.
  await import("reflect-metadata");
  const [server, codecs] = await Promise.all([
    import("@simplewebauthn/server"),
    import("@simplewebauthn/server/helpers"),
  ]);
  return { ...server, codecs };
}

/** Members of what the browser signed; nothing of them is believed before it is compared. */
function clientData(text: string): Readonly<Record<string, unknown>> {
  try {
    const told: unknown = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(text)),
    );
    return typeof told === "object" && told !== null ? { ...told } : {};
  } catch {
    return {}; // No JSON holds no challenge.
  }
}

const authDataOf = (
  { attestationObject }: AttestedKey,
  { decodeAttestationObject }: Codecs,
): Uint8Array<ArrayBuffer> =>
  new Uint8Array(decodeAttestationObject(bytesOf(attestationObject)).get("authData"));

/**
 * With an empty attestation in place of whatever came: it is not asked for, proves nothing without
 * a list of makers, and its certificates name addresses that nobody here is to call.
 */
function registration(
  { id, clientDataJson }: AttestedKey,
  authData: Uint8Array<ArrayBuffer>,
  { isoCBOR }: Codecs,
): Parameters<typeof verifyRegistrationResponse>[0]["response"] {
  const none = new Map<string, unknown>([
    ["fmt", "none"],
    ["attStmt", new Map()],
    ["authData", authData],
  ]);
  // The encoder's type names what CBOR has, which text, octets and an empty map are.
  const attestationObject = base64url(isoCBOR.encode(none as Parameters<typeof isoCBOR.encode>[0]));
  return {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: { clientDataJSON: clientDataJson, attestationObject },
  };
}

const authentication = ({
  id,
  clientDataJson,
  authenticatorData,
  signature,
}: Assertion): Parameters<typeof verifyAuthenticationResponse>[0]["response"] => ({
  id,
  rawId: id,
  type: "public-key",
  clientExtensionResults: {},
  response: { clientDataJSON: clientDataJson, authenticatorData, signature },
});

const refused = (reason: CeremonyFault): Refused => ({ accepted: false, reason });

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.fromBase64(text, { alphabet: "base64url" });
