/** Passkeys of the caller, and confirming with one, in JSON (AUTH-5). */

import { refuse } from "#core/problems.ts";
import { parsed, text, WrongValue } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import type { Origin } from "#domain/actor.ts";
import { created, type Handler, handler, ok } from "#domain/access/call.ts";
import { challengeSeconds } from "#domain/access/challenges.ts";
import type { Passkeys } from "#domain/access/passkeys.ts";
import type { PasskeyRecord } from "#domain/access/store.ts";
import type { OperationName } from "#operations";

export interface PasskeyHandlerDeps {
  /** Undefined while the feature is off. */
  readonly passkeys: PasskeyFeature | undefined;
}

/** The service, and what browsers are told of the relying party. */
export interface PasskeyFeature {
  readonly service: Passkeys;
  readonly rpId: string;
  readonly rpName: string;
  readonly userVerification: "required" | "preferred";
  /** COSE algorithms, the preferred first. */
  readonly algorithms: readonly number[];
}

/** Handlers for `webauthn.*`. */
export function passkeyHandlers({ passkeys }: PasskeyHandlerDeps) {
  const feature = (): PasskeyFeature => {
    if (passkeys === undefined) throw refuse("feature_disabled", { feature: "auth.webauthn" });
    return passkeys;
  };
  return {
    "webauthn.register_begin": handler({
      summary: "Begin to register a passkey.",
      run: async ({ origin }) => ok(await creationOptions(feature(), origin)),
    }),
    "webauthn.register": handler({
      summary: "Register the passkey the browser made.",
      body: {
        name: text({ min: 1, max: 64 }),
        id: octets(1, idMax),
        clientDataJSON: octets(1, 4096),
        attestationObject: octets(1, 65_536),
      },
      run: async ({ origin, body: { clientDataJSON: clientDataJson, ...rest } }) => {
        const id = await feature().service.finishRegistration(origin, { ...rest, clientDataJson });
        return created({ status: "registered", id });
      },
    }),
    "webauthn.step_up_begin": handler({
      summary: "Begin to confirm with a passkey.",
      run: async ({ origin }) => ok(await requestOptions(feature(), origin)),
    }),
    "webauthn.step_up": handler({
      summary:
        "Confirm with what the passkey signed; it counts for a few minutes, in this session.",
      body: {
        id: octets(1, idMax),
        clientDataJSON: octets(1, 4096),
        authenticatorData: octets(1, 4096),
        signature: octets(1, 2048),
      },
      run: async ({ origin, body }) => {
        const { clientDataJSON: clientDataJson, ...rest } = body;
        const until = await feature().service.finishStepUp(origin, { ...rest, clientDataJson });
        return ok({ status: "stepped_up", step_up_until: timestamp(until) });
      },
    }),
    "webauthn.list": handler({
      summary: "The passkeys of the caller.",
      run: async ({ origin }) => {
        const items = (await feature().service.list(origin)).map(passkeyJson);
        return ok({ items, next_cursor: "", has_more: false, total: items.length });
      },
    }),
    "webauthn.remove": handler({
      summary: "Remove a passkey of the caller.",
      path: { id: text({ min: 1, max: 4096 }) },
      run: async ({ origin, path }) => {
        await feature().service.remove(origin, path.id);
        return ok({ status: "removed" });
      },
    }),
    "webauthn.reset": reset(feature),
  } satisfies Partial<Record<OperationName, Handler>>;
}

function reset(feature: () => PasskeyFeature): Handler {
  return handler({
    summary: "Remove all passkeys of a person who has lost them.",
    body: { subject: text({ min: 1, max: 256 }) },
    admit: feature,
    run: async ({ origin, body: { subject } }) => {
      const removed = await feature().service.reset(origin, subject);
      return ok({ status: "reset", subject, removed });
    },
  });
}

async function creationOptions(feature: PasskeyFeature, origin: Origin) {
  const { service, rpId, rpName, userVerification, algorithms } = feature;
  const { challenge, userId, session, known } = await service.beginRegistration(origin);
  const { name, email, subject } = session.principal;
  return {
    challenge,
    rp: { id: rpId, name: rpName },
    user: { id: userId, name: email ?? session.loginName, displayName: name ?? subject },
    pubKeyCredParams: algorithms.map((alg) => ({ type: "public-key", alg })),
    excludeCredentials: known.map(named),
    authenticatorSelection: { userVerification, residentKey: "preferred" },
    timeout: challengeSeconds * 1000,
    attestation: "none",
  };
}

async function requestOptions(feature: PasskeyFeature, origin: Origin) {
  const { service, rpId, userVerification } = feature;
  const { challenge, allowed } = await service.beginStepUp(origin);
  const timeout = challengeSeconds * 1000;
  return { challenge, rpId, allowCredentials: allowed.map(named), userVerification, timeout };
}

const named = ({ id }: PasskeyRecord) => ({ type: "public-key", id });

/** A passkey as its owner sees it. */
export const passkeyJson = ({ id, name, signCount, createdAt, lastUsedAt }: PasskeyRecord) => ({
  id,
  name,
  sign_count: signCount,
  created_at: timestamp(createdAt),
  ...(lastUsedAt === undefined ? {} : { last_used_at: timestamp(lastUsedAt) }),
});

/** `min`..`max` octets in unpadded base64url; kept as text, in the one spelling they have. */
function octets(min: number, max: number) {
  const pattern = "^[A-Za-z0-9_-]*$";
  const textMax = Math.ceil((max * 4) / 3);
  return parsed({ type: "string", pattern, maxLength: textMax }, (given) => {
    const bytes = given.length > textMax ? undefined : decoded(given);
    if (bytes === undefined || bytes.length < min || bytes.length > max) {
      throw new WrongValue(`must be ${min} to ${max} octets in base64url without padding`);
    }
    return given;
  });
}

function decoded(given: string): Uint8Array | undefined {
  try {
    const options = { alphabet: "base64url", lastChunkHandling: "strict" } as const;
    const padded = given.padEnd(Math.ceil(given.length / 4) * 4, "=");
    return given.includes("=") ? undefined : Uint8Array.fromBase64(padded, options);
  } catch {
    return undefined; // Not base64url.
  }
}

/** WebAuthn Level 3 §4: at most 1023 octets. */
const idMax = 1023;
