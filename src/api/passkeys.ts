/** Passkeys of the caller, and confirming with one, in JSON (AUTH-5). */

import { refuse } from "#core/problems.ts";
import {
  integer,
  many,
  oneOf,
  optional,
  parsed,
  shape,
  text,
  type ValueOf,
  words,
  WrongValue,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import type { Origin } from "#domain/actor.ts";
import { type Definition, guarded, operation } from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { noTarget, thePlatform } from "#domain/access/targets.ts";
import { challengeSeconds } from "#domain/access/challenges.ts";
import type { Passkeys } from "#domain/access/passkeys.ts";
import type { PasskeyRecord } from "#domain/access/store.ts";
import type { OperationName } from "#operations";
import { listOf, onePage } from "./pages.ts";
import { count, simpleChange, time } from "./shapes.ts";

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
    ...registration(feature),
    ...stepUp(feature),
    "webauthn.list": operation({
      summary: "The passkeys of the caller.",
      target: noTarget,
      output: listOf(passkeyShape),
      run: async ({ origin }) => onePage((await feature().service.list(origin)).map(passkeyJson)),
    }),
    "webauthn.remove": operation({
      summary: "Remove a passkey of the caller.",
      target: noTarget,
      input: { id: text({ min: 1, max: 4096 }) },
      output: simpleChange("removed"),
      run: async ({ origin, input }) => {
        await feature().service.remove(origin, input.id);
        return { status: "removed" as const };
      },
    }),
    "webauthn.reset": reset(feature),
  } satisfies Partial<Record<OperationName, Definition>>;
}

type Feature = () => PasskeyFeature;

function registration(feature: Feature) {
  return {
    "webauthn.register_begin": operation({
      summary: "Begin to register a passkey.",
      target: noTarget,
      output: creationShape,
      run: async ({ origin }) => await creationOptions(feature(), origin),
    }),
    "webauthn.register": operation({
      summary: "Register the passkey the browser made.",
      target: noTarget,
      input: {
        name: text({ min: 1, max: 64 }),
        id: octets(1, idMax),
        clientDataJSON: octets(1, 4096),
        attestationObject: octets(1, 65_536),
      },
      output: shape({ status: oneOf(["registered"]), id: words() }),
      run: async ({ origin, input: { clientDataJSON: clientDataJson, ...rest } }) => {
        const id = await feature().service.finishRegistration(origin, { ...rest, clientDataJson });
        return made({ status: "registered" as const, id });
      },
    }),
  };
}

function stepUp(feature: Feature) {
  return {
    "webauthn.step_up_begin": operation({
      summary: "Begin to confirm with a passkey.",
      target: noTarget,
      output: requestShape,
      run: async ({ origin }) => await requestOptions(feature(), origin),
    }),
    "webauthn.step_up": operation({
      summary:
        "Confirm with what the passkey signed; it counts for a few minutes, in this session.",
      target: noTarget,
      input: {
        id: octets(1, idMax),
        clientDataJSON: octets(1, 4096),
        authenticatorData: octets(1, 4096),
        signature: octets(1, 2048),
      },
      output: shape({ status: oneOf(["stepped_up"]), step_up_until: time }),
      run: async ({ origin, input }) => {
        const { clientDataJSON: clientDataJson, ...rest } = input;
        const until = await feature().service.finishStepUp(origin, { ...rest, clientDataJson });
        return { status: "stepped_up" as const, step_up_until: timestamp(until) };
      },
    }),
  };
}

function reset(feature: Feature) {
  return guarded({
    summary: "Remove all passkeys of a person who has lost them.",
    target: thePlatform,
    input: { subject: text({ min: 1, max: 256 }) },
    output: shape({ status: oneOf(["reset"]), subject: words(), removed: count }),
    parks: async ({ input: { subject } }, said) => ({
      resourceKey: `passkeys:${subject}`,
      resourceName: subject,
      summary: `Remove all passkeys of ${subject}, who then adds a new one.`,
      details: said,
      check: async () => feature(),
    }),
    run: async ({ origin, input: { subject } }) => {
      const removed = await feature().service.reset(origin, subject);
      return { status: "reset" as const, subject, removed };
    },
  });
}

const namedShape = shape({ type: oneOf(["public-key"]), id: words() });
const verificationWord = oneOf(["required", "preferred"]);

/** PublicKeyCredentialCreationOptions (WebAuthn Level 3 §5.4), octets in base64url. */
const creationShape = shape({
  challenge: words(),
  rp: shape({ id: words(), name: words() }),
  user: shape({ id: words(), name: words(), displayName: words() }),
  pubKeyCredParams: many(shape({ type: oneOf(["public-key"]), alg: integer(-65_536, 65_535) })),
  excludeCredentials: many(namedShape),
  authenticatorSelection: shape({
    userVerification: verificationWord,
    residentKey: oneOf(["preferred"]),
  }),
  timeout: count,
  attestation: oneOf(["none"]),
});

async function creationOptions(
  feature: PasskeyFeature,
  origin: Origin,
): Promise<ValueOf<typeof creationShape>> {
  const { service, rpId, rpName, userVerification, algorithms } = feature;
  const { challenge, userId, session, known } = await service.beginRegistration(origin);
  const { name, email, subject } = session.principal;
  return {
    challenge,
    rp: { id: rpId, name: rpName },
    user: { id: userId, name: email ?? session.loginName, displayName: name ?? subject },
    pubKeyCredParams: algorithms.map((alg) => ({ type: "public-key" as const, alg })),
    excludeCredentials: known.map(named),
    authenticatorSelection: { userVerification, residentKey: "preferred" },
    timeout: challengeSeconds * 1000,
    attestation: "none",
  };
}

/** PublicKeyCredentialRequestOptions (WebAuthn Level 3 §5.5), octets in base64url. */
const requestShape = shape({
  challenge: words(),
  rpId: words(),
  allowCredentials: many(namedShape),
  userVerification: verificationWord,
  timeout: count,
});

async function requestOptions(
  feature: PasskeyFeature,
  origin: Origin,
): Promise<ValueOf<typeof requestShape>> {
  const { service, rpId, userVerification } = feature;
  const { challenge, allowed } = await service.beginStepUp(origin);
  const timeout = challengeSeconds * 1000;
  return { challenge, rpId, allowCredentials: allowed.map(named), userVerification, timeout };
}

const named = ({ id }: PasskeyRecord): ValueOf<typeof namedShape> => ({
  type: "public-key",
  id,
});

const passkeyShape = shape({
  id: words(),
  name: words(),
  sign_count: count,
  created_at: time,
  last_used_at: optional(time),
});

/** A passkey as its owner sees it. */
const passkeyJson = ({
  id,
  name,
  signCount,
  createdAt,
  lastUsedAt,
}: PasskeyRecord): ValueOf<typeof passkeyShape> => ({
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
  const examples = ["AA".repeat(min)];
  return parsed({ type: "string", pattern, maxLength: textMax, examples }, (given) => {
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
