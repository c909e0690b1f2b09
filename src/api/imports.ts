/** Coming from another CA in JSON: its key and certificate, what it signed, and its end. */

import { instantField, listedSerialField, reasonField } from "./fields.ts";
import { caJson, caShape } from "./authorities.ts";
import { labelField } from "./ca-fields.ts";
import { parkedOnCa } from "./parking.ts";
import { present, serialText } from "./shapes.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  type Input,
  integer,
  list,
  many,
  object,
  oneOf,
  optional,
  otherwise,
  parsed,
  shape,
  text,
  type ValueOf,
  words,
  WrongValue,
} from "#core/shape.ts";
import { type Definition, guarded, operation } from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { thePlatform, theCa, theTenant } from "#domain/access/targets.ts";
import type { OfferedKey, TakeOver } from "#domain/hierarchy/take-over.ts";
import { takeOverWarnings } from "#domain/hierarchy/take-over-checks.ts";
import { providerNames } from "#domain/key-ref.ts";
import { type Adopted, type Adoption, adoptionResults } from "#domain/revocation/adoption.ts";
import { type Offer, offerFaults } from "#domain/revocation/adoption-judge.ts";
import type { OperationName } from "#operations";

interface Deps {
  readonly takeOver: TakeOver;
  readonly adoption: Adoption;
}

/** Handlers of the imports. */
export const importHandlers = (deps: Deps) =>
  ({ ...beginHandlers(deps), ...entryHandlers(deps) }) satisfies Partial<
    Record<OperationName, Definition>
  >;

/** The CA: where its key goes, and that it comes. */
function beginHandlers({ takeOver }: Deps) {
  return {
    "import.address": operation({
      summary: "Where a private key has to be sealed for, so that only the key store reads it.",
      target: thePlatform,
      output: shape({ address: words() }),
      run: async () => ({ address: (await takeOver.address()).toBase64() }),
    }),
    "ca.import": operation({
      summary: "Begin to take over a CA that another program has run.",
      target: theTenant,
      input: caFields,
      output: begunShape,
      refuses: [
        "bad_certificate",
        "bad_key",
        "key_type_unsupported",
        "import_refused",
        "already_exists",
        "not_supported",
      ],
      run: async ({ tenant, origin, input }) => {
        const request = {
          label: input.label,
          certificatePem: input.certificate_pem,
          chainPem: input.chain_pem,
          key: keyOf(input.key),
        };
        const found = await takeOver.begin(origin, tenant, request, input.dry_run);
        const { ca, begun, warnings } = found;
        const answer = present({ ca: ca && caJson(ca), begun, warnings });
        return ca !== undefined && begun ? made(answer, `/api/ca/${ca.id}`) : answer;
      },
    }),
  };
}

/** What it has signed and revoked, and that this is all. */
function entryHandlers({ takeOver, adoption }: Deps) {
  return {
    "import.check": operation({
      summary: "Say what would become of certificates and entries of a CA that is taken over.",
      target: theTenant,
      input: { certificate_pem: pemField, ...offerFields },
      output: adoptedShape,
      refuses: ["bad_certificate", "import_refused", "already_exists"],
      run: async ({ tenant, input }) => {
        const { ca, certificate } = await takeOver.examine(tenant, input.certificate_pem);
        const issuer = { certificate, profile: input.profile };
        const results = await adoption.check({ ca, issuer }, input.entries.map(offerOf));
        return { results: results.map(adoptedJson) };
      },
    }),
    "cert.import": operation({
      summary: "Take in certificates another program signed with the CA's key, and revocations.",
      target: theCa,
      input: offerFields,
      output: adoptedShape,
      refuses: ["ca_not_pending"],
      run: async ({ ca, origin, input }) => {
        const issuer = { certificate: await takeOver.issuer(ca), profile: input.profile };
        const offers = input.entries.map(offerOf);
        const results = await adoption.adopt({ ca, issuer, origin }, offers);
        return { results: results.map(adoptedJson) };
      },
    }),
    "ca.import_finish": guarded({
      summary: "Have a CA that was taken over sign from now on.",
      target: theCa,
      input: finishFields,
      output: caShape,
      refuses: ["bad_certificate", "import_refused", "ca_not_pending"],
      parks: ({ ca }, said) =>
        parkedOnCa(ca, "Go on under the key of the imported CA", said, async () => {
          if (ca.status !== "pending") throw refuse("ca_not_pending", { status: ca.status });
          await takeOver.issuer(ca);
        }),
      run: async ({ ca, origin, input }) =>
        caJson(await takeOver.finish(origin, ca, input.crl_number)),
    }),
  };
}

const pemField = text({ min: 1, max: 1_000_000 });

/** Octets in base64. */
const octetsField = (max: number) =>
  parsed(
    { type: "string", contentEncoding: "base64", maxLength: max },
    (given): Uint8Array => {
      if (given.length > max) throw new WrongValue(`must have at most ${max} characters`);
      try {
        return Uint8Array.fromBase64(given);
      } catch {
        throw new WrongValue("must be base64");
      }
    },
    (octets) => octets.toBase64(),
  );

const keyFields = {
  provider: oneOf(providerNames),
  /** Of a key on the token. */
  label: optional(text({ min: 1, max: 256 })),
  /** A private key in PKCS#8, sealed for the address. */
  box: optional(octetsField(32_768)),
};

const caFields = {
  label: labelField,
  certificate_pem: pemField,
  chain_pem: optional(pemField),
  key: optional(object(keyFields)),
  dry_run: otherwise(flag(), false),
};

function keyOf(given: Input<typeof keyFields> | undefined): OfferedKey | undefined {
  if (given === undefined) return undefined;
  const { provider, label, box } = given;
  if (provider === "pkcs11") {
    if (label === undefined) throw refuse("missing_field", { field: "key.label" });
    return { provider, label };
  }
  if (box === undefined) throw refuse("missing_field", { field: "key.box" });
  return { provider, box };
}

const entryFields = {
  certificate: optional(octetsField(131_072)),
  serial: optional(listedSerialField),
  revoked_at: optional(instantField),
  reason: optional(reasonField),
};

const offerFields = {
  /** The profile of every leaf; by its usages when it is left out. */
  profile: optional(text({ min: 1, max: 64, pattern: /^[A-Za-z0-9._-]+$/ })),
  entries: list(object(entryFields), 1, 500),
};

function offerOf(entry: Input<typeof entryFields>): Offer {
  const { certificate, serial, revoked_at: at, reason = "unspecified" } = entry;
  return { certificate, serial, revoked: at === undefined ? undefined : { at, reason } };
}

/** Above every number that lists of the CA have had; 0 where there were none. */
const finishFields = { crl_number: otherwise(integer(0, Number.MAX_SAFE_INTEGER - 1e6), 0) };

const begunShape = shape({
  ca: optional(caShape),
  begun: flag(),
  warnings: many(oneOf(takeOverWarnings)),
});

const resultShape = shape({
  result: oneOf(adoptionResults),
  serial: optional(serialText),
  fault: optional(oneOf(offerFaults)),
});
const adoptedShape = shape({ results: many(resultShape) });

const adoptedJson = ({ result, serial, fault }: Adopted): ValueOf<typeof resultShape> =>
  present({ result, serial, fault });
