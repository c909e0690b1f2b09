/** Issue, renew and preview in JSON. */

import type { Caller } from "#core/policy/admit.ts";
import { defaultProfile } from "#core/policy/profiles.ts";
import { assert } from "#core/problems.ts";
import { parseSerial } from "#core/ids.ts";
import { flag, integer, optional, otherwise, parsed, text } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { fingerprint, parsePublicKey } from "#core/x509/public-keys.ts";
import type { Origin } from "#domain/actor.ts";
import { created, type Handler, handler, ok } from "#domain/access/call.ts";
import { certificatePem, pemBundle } from "#domain/authorities/bundle.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Issuance, Issued } from "#domain/certificates/issue.ts";
import { provenRequest } from "#domain/certificates/planning.ts";
import type { OperationName } from "#operations";
import { previewFields, previewJson, previewRequest } from "./previews.ts";
import { ctJson } from "./transparency.ts";

/** Handlers for `cert.issue`, `cert.renew`, `cert.preview` and `csr.parse`. */
export function issuanceHandlers({ issuance }: { readonly issuance: Issuance }) {
  return {
    "cert.issue": handler({
      summary: "Issue a certificate for a certification request.",
      path: { id: text() },
      body: issueFields,
      run: async (call) => {
        const ca = presentCa(call.ca);
        const { csr, profile, validity_days: validityDays, must_staple: mustStaple } = call.body;
        const request = { csr, profile, validityDays, mustStaple, caller: callerOf(call.origin) };
        return issuedAnswer(await issuance.issue(call.origin, ca, request));
      },
    }),
    "cert.renew": handler({
      summary: "Certify the identity of a certificate again, with its key or the one of a request.",
      path: { id: text() },
      body: renewFields,
      run: async (call) => {
        const ca = presentCa(call.ca);
        const { serial, csr, validity_days: validityDays } = call.body;
        const request = { serial, csr, validityDays, caller: callerOf(call.origin) };
        return issuedAnswer(await issuance.renew(call.origin, ca, request));
      },
    }),
    "cert.preview": handler({
      summary: "What issuing would answer, gate by gate; nothing is written.",
      path: { id: text() },
      body: previewFields,
      run: async (call) => {
        const ca = presentCa(call.ca);
        const { validity_days: asked } = call.body;
        return ok(previewJson(await issuance.preview(ca, previewRequest(call.body)), asked));
      },
    }),
    "csr.parse": handler({
      summary: "What a certification request says.",
      body: { csr: text({ min: 1, max: csrMax }) },
      run: async (call) => ok(await requestJson(call.body.csr)),
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

/** What was issued, as answers show it; the chain never has the root (EXT-6). */
export function issuedJson(issued: Issued) {
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
  return created(issuedJson(issued), `/api/ca/${issued.caId}/certificates/${issued.serial}`);
}

async function requestJson(csr: string) {
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

function presentCa(ca: CaRecord | undefined): CaRecord {
  assert(ca !== undefined, "an operation on a CA has one");
  return ca;
}

/**
 * More than the 64 KiB a request may have, so that it is the request that is refused and not its
 * member.
 */
const csrMax = 131_072;
const validityDays = optional(integer(1, 36_500));

const issueFields = {
  csr: text({ min: 1, max: csrMax }),
  profile: otherwise(text({ min: 1, max: 100 }), defaultProfile),
  validity_days: validityDays,
  must_staple: optional(flag()),
};

const renewFields = {
  serial: parsed({ type: "string" }, parseSerial),
  csr: optional(text({ min: 1, max: csrMax })),
  validity_days: validityDays,
};

const shownAttributes: ReadonlySet<string> = new Set(["CN", "O", "OU", "C", "ST", "L"]);
