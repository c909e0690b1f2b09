/** Renewal: the same identity certified again, by whoever signs for the lineage now (REN-1). */

import { oids } from "#core/asn1/oids.ts";
import type { Serial } from "#core/ids.ts";
import type { Caller, LeafRequest } from "#core/policy/admit.ts";
import { namesOf, type RequestedNames } from "#core/policy/names.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant, secondsPerDay } from "#core/time.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { parseTlsFeatures } from "#core/x509/extensions.ts";
import { generalNameText, parseGeneralNames } from "#core/x509/general-names.ts";
import { nameText } from "#core/x509/names.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { findInLineage } from "./lineage.ts";
import { contextFor, type Planned, type PlanningDeps, planned, provenRequest } from "./planning.ts";
import type { CertificateRecord } from "./store.ts";

/** What a caller may ask of a renewal; everything else is as it was. */
export interface RenewRequest {
  readonly serial: Serial;
  /** PEM or DER; only its key is taken. Undefined keeps the key. */
  readonly csr: string | Uint8Array | undefined;
  readonly validityDays: number | undefined;
  readonly caller: Caller;
}

/**
 * Plans the renewal of a certificate any member of the CA's lineage signed, under today's profile
 * and the active member. Refuses `not_found`, `not_renewable`, `identity_mismatch`, and as
 * `contextFor`, `provenRequest` and `planned` do.
 */
export async function plannedRenewal(
  deps: PlanningDeps,
  ca: CaRecord,
  request: RenewRequest,
): Promise<Planned> {
  const { read } = deps.store;
  const found = await findInLineage(read, ca, request.serial, ({ kind }) => kind === "leaf");
  if (found === undefined) throw refuse("not_found");
  const old = found.certificate;
  refuseUnrenewable(old, deps.clock.now());
  const context = await contextFor(deps, ca, old.profile);
  const certificate = parseCertificate(old.certificate);
  const identity = identityOf(certificate);
  const keys =
    request.csr === undefined ? keysOf(certificate) : await newKeys(request.csr, identity);
  const { validityDays, caller } = request;
  const staples = stapled(certificate);
  const leafRequest: LeafRequest = {
    csr: { ...identity, ...keys, unsupportedNames: [], mustStaple: staples },
    // Where the profile decides alone, its present word counts as for every new certificate.
    mustStaple: context.profile.allowMustStapleOverride ? staples : undefined,
    validitySeconds: validityDays === undefined ? undefined : validityDays * secondsPerDay,
    caller,
  };
  const renewal = planned(deps, context, leafRequest);
  // What came from another CA may have names that none of ours can carry, such as two attributes in
  // one step of the subject.
  const others = differences(renewal.plan, identity);
  if (others.length > 0) throw refuse("identity_mismatch", { mismatch: others });
  return renewal;
}

function refuseUnrenewable({ status, notAfter }: CertificateRecord, now: Instant): void {
  if (status !== "good") throw refuse("not_renewable", { status });
  if (addSeconds(notAfter, graceDays * secondsPerDay) < now) {
    throw refuse("not_renewable", { status: "expired" });
  }
}

function identityOf(certificate: ParsedCertificate): RequestedNames {
  const found = extensionOf(certificate, oids.subjectAltName);
  const { names: sans, unsupported } =
    found === undefined ? { names: [], unsupported: [] } : parseGeneralNames(found.value);
  if (unsupported.length > 0) throw refuse("identity_mismatch", { mismatch: ["sans"] });
  return { subject: certificate.subject, sans };
}

function stapled(certificate: ParsedCertificate): boolean {
  const found = extensionOf(certificate, oids.tlsFeature);
  return found !== undefined && parseTlsFeatures(found.value).includes(5);
}

/** The key, of a hybrid certificate both. */
function keysOf(certificate: ParsedCertificate): RenewalKeys {
  const second = extensionOf(certificate, oids.subjectAltPublicKeyInfo);
  return { spki: certificate.spki, alternativeSpki: second?.value };
}

/** The keys of a request for exactly this identity, the second one with its proof. */
async function newKeys(csr: string | Uint8Array, identity: RequestedNames): Promise<RenewalKeys> {
  const request = await provenRequest(csr);
  const names = namesOf(request);
  if ("refusal" in names) throw names.refusal;
  if (sameNames(names, identity)) return { spki: request.spki, tbs: request.tbs };
  throw refuse("identity_mismatch", { mismatch: differences(names, identity) });
}

type RenewalKeys = Pick<LeafRequest["csr"], "spki" | "tbs" | "alternativeSpki">;

/** What of an identity a request has otherwise. */
const differences = (a: RequestedNames, b: RequestedNames): readonly ("subject" | "sans")[] => [
  ...(sameSubject(a, b) ? [] : ["subject" as const]),
  ...(sanSet(a) === sanSet(b) ? [] : ["sans" as const]),
];

const sameNames = (a: RequestedNames, b: RequestedNames): boolean =>
  sameSubject(a, b) && sanSet(a) === sanSet(b);

/**
 * By attributes and not by octets: what came from another CA may have its letters in string types
 * that nobody writes any more (RFC 5280 §7.1), and is renewed in those of today.
 */
const sameSubject = (a: RequestedNames, b: RequestedNames): boolean =>
  nameText(a.subject) === nameText(b.subject);

const sanSet = ({ sans }: RequestedNames): string =>
  JSON.stringify([...new Set(sans.map(generalNameText))].sort());

/** How long after its end a certificate can still be renewed. */
const graceDays = 30;
