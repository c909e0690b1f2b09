/** Validation reports in JSON (HTTP contract §4.5). */

import { coversCa } from "#core/access/principal.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { sha256 } from "#core/crypto.ts";
import { caId } from "#core/ids.ts";
import type { RevocationState } from "#core/policy/validate.ts";
import { weaknessOf } from "#core/policy/validate.ts";
import { refuse } from "#core/problems.ts";
import { flag, list, otherwise, text } from "#core/shape.ts";
import { instant, timestamp } from "#core/time.ts";
import { extensionOf, type ParsedCertificate } from "#core/x509/certificate.ts";
import * as extensions from "#core/x509/extensions.ts";
import { nameText } from "#core/x509/names.ts";
import { isSelfIssued, isSignedBy, sameCertificate } from "#core/x509/path.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import { type Authorized, type Handler, handler, ok } from "#domain/access/call.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { type Validation, validate } from "#domain/certificates/validate.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
}

/** The handler for `cert.validate`. */
export function validationHandlers(deps: Deps) {
  return {
    "cert.validate": handler({
      summary: "Whether a certificate is valid under a CA, and why not.",
      body: {
        ca: text({ min: 1, max: 100 }),
        certificate: text({ min: 1, max: 131_072 }),
        intermediates: otherwise(list(text({ min: 1, max: 131_072 }), 0, 16), []),
        skip_revocation: otherwise(flag(), false),
      },
      run: async ({ body, reach }) => {
        const ca = await readableCa(deps.store, body.ca, reach);
        const { certificate, intermediates, skip_revocation: skipRevocation } = body;
        const wish = { certificate, intermediates, skipRevocation };
        const validation = await validate(deps, ca, wish);
        return ok(readable(() => reportJson(ca, validation)));
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

/** A certificate of strict DER may still hold extensions or a key that are none. */
function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError) throw refuse("bad_certificate", { reason: error.message });
    throw error;
  }
}

/** By id or label; foreign and absent ones answer alike. */
async function readableCa(
  { read }: Store,
  reference: string,
  reach: Authorized<never, never, never>["reach"],
): Promise<CaRecord> {
  const ca = (await read.cas.byId(caId(reference))) ?? (await read.cas.byLabel(reference));
  if (ca === undefined || ca.internal) throw refuse("not_found");
  if (!coversCa(reach, ca)) throw refuse("not_found");
  return ca;
}

function reportJson(ca: CaRecord, validation: Validation) {
  const { anchor, path, built, checks, now } = validation;
  const valid = checks.every(({ status }) => status !== "fail");
  const said = (status: string) =>
    checks
      .filter((check) => check.status === status)
      .map(({ name, detail }) => (detail === undefined ? name : `${name}: ${detail}`));
  return {
    ...{ ca_id: ca.id, ca_label: ca.label, trust_anchor: nameText(anchor.subject) },
    ...{ chain_built: built, valid, decision: valid ? "accept" : "reject" },
    evaluated_at: timestamp(now),
    ...(built ? spanOf(path) : {}),
    chain: path.map((one, position) => memberJson(validation, one, position)),
    ...{ checks, reasons: said("fail"), warnings: said("warn") },
  };
}

/** When every certificate of the path is valid. */
const spanOf = (path: readonly ParsedCertificate[]) => ({
  valid_from: timestamp(instant(Math.max(...path.map(({ notBefore }) => notBefore)))),
  valid_until: timestamp(instant(Math.min(...path.map(({ notAfter }) => notAfter)))),
});

function memberJson(
  { anchor, revocation, now }: Validation,
  certificate: ParsedCertificate,
  position: number,
) {
  const { subject, issuer, serial, notBefore, notAfter, spki, der, signatureName } = certificate;
  const state = revocation[position];
  return {
    ...{ position, subject: nameText(subject), issuer: nameText(issuer), serial },
    ...{ not_before: timestamp(notBefore), not_after: timestamp(notAfter) },
    is_ca: isCa(certificate),
    is_trust_anchor: sameCertificate(certificate, anchor),
    self_signed: isSelfIssued(certificate) && isSignedBy(certificate, certificate),
    ...keyJson(spki),
    signature_algorithm: signatureName ?? certificate.signatureOid,
    fingerprint: sha256(der).toHex(),
    ...keyIds(certificate),
    ...{ expired: notAfter + 999 < now, not_yet_valid: now < notBefore },
    ...{ weak_key: weaknessOf(spki) !== undefined, weak_signature: signatureName === undefined },
    ...(state === undefined ? {} : { revocation: revocationJson(state) }),
  };
}

const revocationJson = ({ state, revokedAt, reason, source }: RevocationState) => ({
  state,
  ...(revokedAt === undefined ? {} : { revoked_at: timestamp(revokedAt) }),
  ...(reason === undefined ? {} : { reason }),
  source,
});

function isCa(certificate: ParsedCertificate): boolean {
  const found = extensionOf(certificate, oids.basicConstraints);
  return found !== undefined && extensions.parseBasicConstraints(found.value).ca;
}

function keyJson(spki: Uint8Array) {
  const key = parsePublicKey(spki);
  const algorithm = key.keyType ?? (key.family === "unknown" ? key.oid : key.family);
  return { key_algorithm: algorithm, key_size: "bits" in key ? key.bits : 0 };
}

function keyIds(certificate: ParsedCertificate) {
  const subject = extensionOf(certificate, oids.subjectKeyIdentifier);
  const authority = extensionOf(certificate, oids.authorityKeyIdentifier);
  const issuer = authority && extensions.parseAuthorityKeyIdentifier(authority.value);
  return {
    subject_key_id: subject ? colons(extensions.parseSubjectKeyIdentifier(subject.value)) : "",
    authority_key_id: issuer ? colons(issuer) : "",
  };
}

const colons = (octets: Uint8Array): string => octets.toHex().replace(/..(?=.)/g, "$&:");
