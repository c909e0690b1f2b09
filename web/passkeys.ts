/** The browser's half of the two passkey ceremonies. */

import { startAuthentication, startRegistration } from "@simplewebauthn/browser";
import { ask, type Credential, type Refusal, replied } from "./api.ts";

/** Has the browser make a passkey and registers it; gives the refusal when that came to nothing. */
export async function registerPasskey(
  name: string,
  credential: Credential,
): Promise<Refusal | undefined> {
  const begun = await replied(ask("webauthn.register_begin", {}, credential, soon()));
  if (begun.kind !== "answered") return refusalIn(begun);
  const { pubKeyCredParams, excludeCredentials, ...rest } = begun.answer;
  const made = await answered(() =>
    startRegistration({
      optionsJSON: {
        ...rest,
        pubKeyCredParams: [...pubKeyCredParams],
        excludeCredentials: [...excludeCredentials],
      },
    }),
  );
  if (!made.done) return made.refusal;
  const { id, response } = made.value;
  const { clientDataJSON, attestationObject } = response;
  const members = { name, id, clientDataJSON, attestationObject };
  return refusalIn(await replied(ask("webauthn.register", members, credential, soon())));
}

/** Has the person confirm with one of their passkeys; gives the refusal when they did not. */
export async function stepUp(credential: Credential): Promise<Refusal | undefined> {
  const begun = await replied(ask("webauthn.step_up_begin", {}, credential, soon()));
  if (begun.kind !== "answered") return refusalIn(begun);
  const { allowCredentials, ...rest } = begun.answer;
  const made = await answered(() =>
    startAuthentication({ optionsJSON: { ...rest, allowCredentials: [...allowCredentials] } }),
  );
  if (!made.done) return made.refusal;
  const { id, response } = made.value;
  const { clientDataJSON, authenticatorData, signature } = response;
  const members = { id, clientDataJSON, authenticatorData, signature };
  return refusalIn(await replied(ask("webauthn.step_up", members, credential, soon())));
}

type Made<Value> =
  | { readonly done: true; readonly value: Value }
  | { readonly done: false; readonly refusal: Refusal };

async function answered<Value>(asked: () => Promise<Value>): Promise<Made<Value>> {
  try {
    return { done: true, value: await asked() };
  } catch (error) {
    // A browser does not say whether the person cancelled, waited too long or has no such
    // authenticator; but it says when one is registered already (WebAuthn Level 3 §5.1.3 step 21).
    const isKnown = error instanceof Error && error.name === "InvalidStateError";
    return { done: false, refusal: isKnown ? known : abandoned };
  }
}

const refusalIn = (reply: Awaited<ReturnType<typeof ask>>): Refusal | undefined =>
  reply.kind === "refused" ? reply.refusal : undefined;

const ownRefusal = (sentence: string): Refusal => ({
  status: 0,
  code: "no_passkey",
  sentence,
  requestId: "",
  facts: {},
});
const known = ownRefusal(
  "This authenticator is already registered; it holds one of your passkeys.",
);
const abandoned = ownRefusal("The browser gave no answer of a passkey.");
const soon = (): AbortSignal => AbortSignal.timeout(30_000);
