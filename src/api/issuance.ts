/** Issue, renew and preview in JSON. */

import { serialField } from "./fields.ts";
import type { Caller } from "#core/policy/admit.ts";
import { validityLimits } from "#core/policy/plan.ts";
import { defaultProfile } from "#core/policy/profiles.ts";
import {
  flag,
  integer,
  many,
  mapOf,
  oneOf,
  optional,
  otherwise,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { fingerprint, parsePublicKey } from "#core/x509/public-keys.ts";
import type { Origin } from "#domain/actor.ts";
import { type Definition, guarded, operation } from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { anyScope, theCa } from "#domain/access/targets.ts";
import { certificatePem, pemBundle } from "#domain/authorities/bundle.ts";
import type { Issuance, Issued } from "#domain/certificates/issue.ts";
import { provenRequest } from "#domain/certificates/planning.ts";
import type { OperationName } from "#operations";
import { type IssueParkingDeps, parkedIssue, parkedRenewal } from "./parking.ts";
import { previewFields, previewJson, previewRequest, previewShape } from "./previews.ts";
import { fingerprintText, pemText, serialText, time } from "./shapes.ts";
import { ctJson, ctShape } from "./transparency.ts";

/** Handlers for `cert.issue`, `cert.renew`, `cert.preview` and `csr.parse`. */
export function issuanceHandlers(deps: IssueParkingDeps & { readonly issuance: Issuance }) {
  const { issuance } = deps;
  return {
    "cert.issue": guarded({
      summary: "Issue a certificate for a certification request.",
      target: theCa,
      input: issueFields,
      output: issuedShape,
      parks: (call, said) => parkedIssue(deps, call, said),
      run: async (call) => {
        const ca = call.ca;
        const { csr, profile, validity_days: validityDays, must_staple: mustStaple } = call.input;
        const request = { csr, profile, validityDays, mustStaple, caller: callerOf(call.origin) };
        return issuedAnswer(await issuance.issue(call.origin, ca, request));
      },
    }),
    "cert.renew": guarded({
      summary: "Certify the identity of a certificate again, with its key or the one of a request.",
      target: theCa,
      input: renewFields,
      output: issuedShape,
      parks: (call, said) => parkedRenewal(deps, call, said),
      run: async (call) => {
        const ca = call.ca;
        const { serial, csr, validity_days: validityDays } = call.input;
        const request = { serial, csr, validityDays, caller: callerOf(call.origin) };
        return issuedAnswer(await issuance.renew(call.origin, ca, request));
      },
    }),
    "cert.preview": operation({
      summary: "What issuing would answer, gate by gate; nothing is written.",
      target: theCa,
      input: previewFields,
      output: previewShape,
      run: async (call) => {
        const ca = call.ca;
        const { validity_days: asked } = call.input;
        return previewJson(await issuance.preview(ca, previewRequest(call.input)), asked);
      },
    }),
    "csr.parse": operation({
      summary: "What a certification request says.",
      target: anyScope,
      input: { csr: text({ min: 1, max: csrMax }) },
      output: requestShape,
      run: async (call) => await requestJson(call.input.csr),
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

/** Issued. */
export const issuedShape = shape({
  certificate: pemText,
  chain: pemText,
  serial: serialText,
  ca_id: words(),
  profile: words(),
  not_before: time,
  not_after: time,
  validity_clamped: optional(oneOf(validityLimits)),
  ct: optional(ctShape),
});

/** What was issued, as answers show it; the chain never has the root (EXT-6). */
export function issuedJson(issued: Issued): ValueOf<typeof issuedShape> {
  const { record, clamped } = issued;
  return {
    certificate: certificatePem(issued.certificate),
    chain: pemBundle([issued.certificate, ...issued.intermediates]),
    serial: issued.serial,
    ca_id: issued.caId,
    profile: record.profile,
    not_before: timestamp(record.notBefore),
    not_after: timestamp(record.notAfter),
    ...(clamped === undefined ? {} : { validity_clamped: clamped }),
    ...ctJson(record),
  };
}

const callerOf = ({ approval }: Origin): Caller =>
  approval === undefined ? "interactive" : "approved";

function issuedAnswer(issued: Issued) {
  return made(issuedJson(issued), `/api/ca/${issued.caId}/certificates/${issued.serial}`);
}

const requestShape = shape({
  subject: mapOf(words()),
  sans: shape({
    dns: many(words()),
    ip: many(words()),
    email: many(words()),
    uri: many(words()),
  }),
  public_key_algorithm: words(),
  public_key_fingerprint: fingerprintText,
});

async function requestJson(csr: string): Promise<ValueOf<typeof requestShape>> {
  const { subject, sans, spki } = await provenRequest(csr);
  const { attributes } = subject;
  const shown = attributes.filter(({ type }) => shownAttributes.has(type));
  const valuesOf = (kind: string) =>
    sans.filter((name) => name.kind === kind).map(({ value }) => value);
  return {
    // The last of several values of one type is the most specific one, as in a common name.
    subject: Object.fromEntries(shown.map(({ type, value }) => [type, value])),
    sans: {
      dns: valuesOf("dns"),
      ip: valuesOf("ip"),
      email: valuesOf("email"),
      uri: valuesOf("uri"),
    },
    public_key_algorithm: algorithmOf(spki),
    public_key_fingerprint: fingerprint(spki),
  };
}

function algorithmOf(spki: Uint8Array): string {
  const key = parsePublicKey(spki);
  return key.keyType ?? (key.family === "unknown" ? key.oid : key.family);
}

/**
 * More than the 64 KiB a request may have, so that it is the request that is refused and not its
 * member.
 */
const csrMax = 131_072;
const validityDays = optional(integer(1, 36_500));

export const issueFields = {
  csr: text({ min: 1, max: csrMax }),
  profile: otherwise(text({ min: 1, max: 100 }), defaultProfile),
  validity_days: validityDays,
  must_staple: optional(flag()),
};

const renewFields = {
  serial: serialField,
  csr: optional(text({ min: 1, max: csrMax })),
  validity_days: validityDays,
};

const shownAttributes: ReadonlySet<string> = new Set(["CN", "O", "OU", "C", "ST", "L"]);
