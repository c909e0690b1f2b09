/**
 * The browser's half of the two ceremonies: octets in base64url to and from what
 * `navigator.credentials` takes and gives.
 */

import { ask, type Credential, type Refusal } from "./api.ts";
import { replied } from "#web/ui/asked.tsx";

/** Has the browser make a passkey and registers it; gives the refusal when that came to nothing. */
export async function registerPasskey(
  name: string,
  credential: Credential,
): Promise<Refusal | undefined> {
  const begun = await replied(ask("webauthn.register_begin", {}, credential, soon()));
  if (!begun.answered) return begun.refusal;
  const { challenge, user, excludeCredentials, pubKeyCredParams, rp, ...rest } = begun.answer;
  const made = await answered(() =>
    navigator.credentials.create({
      publicKey: {
        ...rest,
        rp,
        challenge: octets(challenge),
        user: { ...user, id: octets(user.id) },
        pubKeyCredParams: [...pubKeyCredParams],
        excludeCredentials: excludeCredentials.map(withOctets),
      },
    }),
  );
  if (made === "known") return known;
  if (!(made?.response instanceof AuthenticatorAttestationResponse)) return abandoned;
  const { clientDataJSON, attestationObject } = made.response;
  const members = {
    name,
    id: text(made.rawId),
    clientDataJSON: text(clientDataJSON),
    attestationObject: text(attestationObject),
  };
  const ended = await replied(ask("webauthn.register", members, credential, soon()));
  return ended.answered ? undefined : ended.refusal;
}

/** Has a passkey sign and steps the session up; gives the refusal when that came to nothing. */
export async function stepUp(credential: Credential): Promise<Refusal | undefined> {
  const begun = await replied(ask("webauthn.step_up_begin", {}, credential, soon()));
  if (!begun.answered) return begun.refusal;
  const { challenge, allowCredentials, ...rest } = begun.answer;
  const signed = await answered(() =>
    navigator.credentials.get({
      publicKey: {
        ...rest,
        challenge: octets(challenge),
        allowCredentials: allowCredentials.map(withOctets),
      },
    }),
  );
  if (signed === "known") return abandoned;
  if (!(signed?.response instanceof AuthenticatorAssertionResponse)) return abandoned;
  const { clientDataJSON, authenticatorData, signature } = signed.response;
  const members = {
    id: text(signed.rawId),
    clientDataJSON: text(clientDataJSON),
    authenticatorData: text(authenticatorData),
    signature: text(signature),
  };
  const ended = await replied(ask("webauthn.step_up", members, credential, soon()));
  return ended.answered ? undefined : ended.refusal;
}

/**
 * A browser throws when the person cancels, waits too long, or has no such authenticator, and does
 * not say which; but it says when the authenticator holds one of those passkeys already (WebAuthn
 * Level 3 §5.1.3 step 21).
 */
async function answered(
  asked: () => Promise<MaybeCredential | null>,
): Promise<PublicKeyCredential | "known" | undefined> {
  try {
    const given = await asked();
    return given instanceof PublicKeyCredential ? given : undefined;
  } catch (error) {
    return error instanceof DOMException && error.name === "InvalidStateError"
      ? "known"
      : undefined;
  }
}

type MaybeCredential = Awaited<ReturnType<CredentialsContainer["get"]>>;

const withOctets = ({ type, id }: { readonly type: "public-key"; readonly id: string }) => ({
  type,
  id: octets(id),
});

function octets(base64url: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function text(bytes: ArrayBuffer): string {
  const binary = Array.from(new Uint8Array(bytes), (octet) => String.fromCharCode(octet)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

const soon = () => AbortSignal.timeout(30_000);

const known: Refusal = {
  status: 0,
  code: "no_passkey",
  requestId: "",
  sentence: "This authenticator is already registered; it holds one of your passkeys.",
};
const abandoned: Refusal = {
  status: 0,
  code: "no_passkey",
  requestId: "",
  sentence: "The browser gave no answer of a passkey.",
};
