/**
 * HOW GUARDED OPERATIONS ARE SHOWN to those who approve them: resource, summary, everything that
 * would be executed, and what must be so.
 */

import { decodePemBlocks, decodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import type { Serial } from "#core/ids.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { refuse } from "#core/problems.ts";
import type { Json, JsonObject } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { readOrRefuse } from "#core/x509/foreign.ts";
import { generalNameText } from "#core/x509/general-names.ts";
import { nameText } from "#core/x509/names.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import type { Parking } from "#domain/access/operation.ts";
import type { Origin } from "#domain/actor.ts";
import type { CaRequest } from "#domain/hierarchy/create.ts";
import { activeMember } from "#domain/authorities/resolve.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Issuance } from "#domain/certificates/issue.ts";
import { provenRequest } from "#domain/certificates/planning.ts";
import type { Store } from "#domain/store.ts";

/** What the descriptions of an issue and of a renewal are made from. */
export interface IssueParkingDeps {
  readonly store: Store;
  readonly issuance: Pick<Issuance, "admissible" | "renewable">;
  readonly profiles: () => ProfileSet;
}

/** A new CA, below `parent` or a root of its own. */
export function parkedCa(
  store: Store,
  parent: CaRecord | undefined,
  { label, keyType }: Pick<CaRequest, "label" | "keyType">,
  said: JsonObject,
  admit: () => unknown,
): Parking {
  const kind = parent === undefined ? "root CA" : `CA under ${parent.label},`;
  return {
    resourceKey: `ca:new:${label}`,
    resourceName: label,
    summary: `Make the ${kind} ${label} (${keyType}).`,
    details: { ...(parent && issuerOf(parent)), ...said },
    check: async () => {
      await admit();
      if (parent !== undefined) await activeMember(store.read.cas, parent);
      const taken = await store.read.cas.byLabel(label);
      if (taken !== undefined) throw refuse("already_exists", { field: "label" });
    },
  };
}

/** Something done to a CA, of which `what` says what. */
export async function parkedOnCa(
  ca: CaRecord,
  what: string,
  said: JsonObject,
  check: () => Promise<unknown>,
): Promise<Parking> {
  return {
    resourceKey: `ca:${ca.id}`,
    resourceName: ca.label,
    summary: `${what} ${ca.label}.`,
    details: { ...issuerOf(ca), ...(await shown(said)) },
    check,
  };
}

/** An issue; undefined for a profile that needs no approval. */
export async function parkedIssue(
  deps: IssueParkingDeps,
  call: { readonly origin: Origin; readonly ca: CaRecord; readonly input: IssueInput },
  said: JsonObject,
): Promise<Parking | undefined> {
  const { origin, ca, input } = call;
  const { csr, profile, validity_days: validityDays, must_staple: mustStaple } = input;
  if (!needsApproval(deps, profile)) return undefined;
  const request = { csr, profile, validityDays, mustStaple, caller: "approved" } as const;
  return {
    ...(await certificateOf(ca, profile, "Issue", said)),
    check: () => deps.issuance.admissible(origin, ca, request),
  };
}

/** A renewal; undefined where the old certificate's profile needs no approval. */
export async function parkedRenewal(
  deps: IssueParkingDeps,
  call: { readonly origin: Origin; readonly ca: CaRecord; readonly input: RenewalInput },
  said: JsonObject,
): Promise<Parking | undefined> {
  const { origin, ca, input } = call;
  const { serial, csr, validity_days: validityDays } = input;
  const request = { serial, csr, validityDays, caller: "approved" as const };
  const old = await renewed(deps, ca, serial);
  if (old === undefined || !needsApproval(deps, old.profile)) return undefined;
  const what = `Renew ${old.subject}, serial ${serial}:`;
  const parking = await certificateOf(ca, old.profile, what, said);
  const { subject, sans, profile } = old;
  return {
    ...parking,
    details: { ...parking.details, renews: { subject, sans, profile } },
    check: () => deps.issuance.renewable(origin, ca, request),
  };
}

interface IssueInput {
  readonly csr: string;
  readonly profile: string;
  readonly validity_days: number | undefined;
  readonly must_staple: boolean | undefined;
}

interface RenewalInput {
  readonly serial: Serial;
  readonly csr: string | undefined;
  readonly validity_days: number | undefined;
}

async function renewed({ store }: IssueParkingDeps, ca: CaRecord, serial: Serial) {
  const { cas, certificates } = store.read;
  for (const member of await cas.lineage(ca.lineage)) {
    const found = await certificates.bySerial(member.id, serial);
    if (found?.kind === "leaf") return found;
  }
  return undefined;
}

async function certificateOf(ca: CaRecord, profile: string, what: string, said: JsonObject) {
  return {
    resourceKey: `ca:${ca.id}:profile:${profile}`,
    resourceName: `${ca.label} ${profile}`,
    summary: `${what} a certificate of ${ca.label}, profile ${profile}.`,
    details: { ...issuerOf(ca), ...(await shown(said)) },
  };
}

const needsApproval = ({ profiles }: IssueParkingDeps, profile: string): boolean =>
  profiles().has(profile) && profiles().named(profile).requireApproval;

/** The input with requests and certificates as what they say; a digest stands for their octets. */
async function shown(body: JsonObject): Promise<JsonObject> {
  const members: [string, Json][] = [];
  for (const [name, value] of Object.entries(body)) {
    const view = typeof value === "string" ? views[name] : undefined;
    members.push([name, view === undefined ? value : await view(String(value))]);
  }
  return Object.fromEntries(members);
}

const views: Readonly<Record<string, (pem: string) => Promise<Json>>> = {
  csr: requestView,
  csr_pem: requestView,
  certificate_pem: async (pem) => {
    const der = decodePem(pem, ["CERTIFICATE"]);
    if (der === undefined) throw refuse("bad_certificate", { reason: "not one PEM certificate" });
    return certificateView(der);
  },
  chain_pem: async (pem) =>
    (decodePemBlocks(pem, "CERTIFICATE", chainMax) ?? []).map(certificateView),
};

async function requestView(text: string): Promise<Json> {
  const { subject, sans, spki } = await provenRequest(text);
  return {
    subject: nameText(subject),
    sans: sans.map(generalNameText),
    public_key_fingerprint: fingerprint(spki),
    sha256: digestOf(text),
  };
}

function certificateView(der: Uint8Array): Json {
  const certificate = readOrRefuse("bad_certificate", () => parseCertificate(der));
  const { subject, issuer, serial, notBefore, notAfter, spki } = certificate;
  return {
    subject: nameText(subject),
    issuer: nameText(issuer),
    serial,
    not_before: timestamp(notBefore),
    not_after: timestamp(notAfter),
    public_key_fingerprint: fingerprint(spki),
    sha256: sha256Hex(der),
  };
}

/** The CA as details name it. */
export const issuerOf = (ca: CaRecord): JsonObject => ({ ca_id: ca.id, ca_label: ca.label });

const digestOf = (text: string): string => sha256Hex(new TextEncoder().encode(text));

const chainMax = 16;
