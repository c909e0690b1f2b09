/**
 * HOW GUARDED OPERATIONS ARE SHOWN to those who approve them: resource, summary, everything that
 * would be executed, and what must hold.
 */

import { decodePemBlocks, decodePem } from "#core/asn1/pem.ts";
import type { JsonObject, Json, StoredInput } from "#core/approvals/input.ts";
import type { ApprovalClass } from "#core/approvals/classes.ts";
import { sha256Hex } from "#core/crypto.ts";
import { parseSerial, type TenantId } from "#core/ids.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { assert, refuse } from "#core/problems.ts";
import { readBody } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { readOrRefuse } from "#core/x509/foreign.ts";
import { generalNameText } from "#core/x509/general-names.ts";
import { nameText } from "#core/x509/names.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import type { Origin } from "#domain/actor.ts";
import type { ParkableCall } from "#domain/approvals/four-eyes.ts";
import { activeMember } from "#domain/authorities/resolve.ts";
import { oldestSuperseded, rotatable } from "#domain/hierarchy/rollover.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Issuance } from "#domain/certificates/issue.ts";
import { provenRequest } from "#domain/certificates/planning.ts";
import type { BulkRevocation } from "#domain/revocation/bulk.ts";
import type { Store } from "#domain/store.ts";
import { type OperationName, operations } from "#operations";
import { bulkFields, orderOf } from "./bulk-revocations.ts";
import { caFields, intermediateFields, intermediateRequestOf, rootRequestOf } from "./ca-fields.ts";

export interface ParkingDeps {
  readonly store: Store;
  readonly issuance: Pick<Issuance, "admissible" | "renewable">;
  readonly bulk: Pick<BulkRevocation, "plan">;
  readonly profiles: () => ProfileSet;
}

/** A call that was authorized and read. */
export interface AskedCall extends StoredInput {
  readonly origin: Origin;
  readonly ca: CaRecord | undefined;
  readonly tenant: TenantId | undefined;
}

/** What a request says of its call. */
export type Parking = Pick<
  ParkableCall,
  "resourceKey" | "resourceName" | "summary" | "details" | "check"
>;

/** Undefined for a call that needs nobody else: a plan, or a token that only reads. */
type Describe = (deps: ParkingDeps, call: AskedCall) => Promise<Parking | undefined>;

export type GuardedName = {
  [N in OperationName]: (typeof operations)[N] extends { takesTwo: ApprovalClass } ? N : never;
}[OperationName];

/** True for rows with a class. */
export const isGuarded = (name: OperationName): name is GuardedName =>
  Object.hasOwn(operations[name], "takesTwo");

/** Every guarded row; one without a description does not compile. */
export const parkings: Readonly<Record<GuardedName, Describe>> = {
  "ca.init_root": async (deps, call) => newCa(deps, call, undefined),
  "ca.issue_intermediate": async (deps, call) => newCa(deps, call, presentCa(call)),
  "ca.import_cert": async (_, call) =>
    onCa(call, "Take the certificate another CA made for", async () => {
      const { csr, status } = presentCa(call);
      const from = call.body.replace === true ? "active" : "pending";
      if (csr === undefined || status !== from) throw refuse("ca_not_pending", { status });
    }),
  "ca.cross_sign": async ({ store }, call) =>
    onCa(call, "Vouch for another CA by", () => activeMember(store.read.cas, presentCa(call))),
  "ca.rotate": async ({ store }, call) =>
    onCa(call, "Give a new key to", () => rotatable(store.read.cas, presentCa(call))),
  "ca.retire": async ({ store }, call) =>
    onCa(call, "Revoke the oldest superseded key of", async () => {
      const { status } = presentCa(call);
      const old = await oldestSuperseded(store.read.cas, presentCa(call));
      if (old === undefined) throw refuse("ca_not_superseded", { status });
    }),
  "cert.revoke_bulk": revokeBulk,
  "kek.rotate": async () => ({
    resourceKey: "kek",
    resourceName: "key-encryption key",
    details: {},
    summary: "Make a new key-encryption key and retire the old one.",
    check: async () => {},
  }),
  "token.create": newApiToken,
  "webauthn.reset": async (_, { body }) => ({
    resourceKey: `passkeys:${String(body.subject)}`,
    resourceName: String(body.subject),
    summary: `Remove all passkeys of ${String(body.subject)}, who then adds a new one.`,
    details: body,
    check: async () => {},
  }),
  "cert.issue": issue,
  "cert.renew": renew,
};

async function newCa(
  { store }: ParkingDeps,
  call: AskedCall,
  parent: CaRecord | undefined,
): Promise<Parking> {
  const { tenant_id: _tenant, ...body } = call.body;
  const request =
    parent === undefined
      ? rootRequestOf(readBody(caFields, body))
      : intermediateRequestOf(readBody(intermediateFields, body));
  const kind = parent === undefined ? "root CA" : `CA under ${parent.label},`;
  return {
    resourceKey: `ca:new:${request.label}`,
    resourceName: request.label,
    summary: `Make the ${kind} ${request.label} (${request.keyType}).`,
    details: { ...issuerOf(parent), ...call.body },
    check: async () => {
      if (parent !== undefined) await activeMember(store.read.cas, parent);
      const taken = await store.read.cas.byLabel(request.label);
      if (taken !== undefined) throw refuse("already_exists", { field: "label" });
    },
  };
}

async function onCa(
  call: AskedCall,
  what: string,
  check: () => Promise<unknown>,
): Promise<Parking> {
  const ca = presentCa(call);
  return {
    resourceKey: `ca:${ca.id}`,
    resourceName: ca.label,
    summary: `${what} ${ca.label}.`,
    details: { ...issuerOf(ca), ...(await shown(call.body)) },
    check,
  };
}

async function revokeBulk(deps: ParkingDeps, call: AskedCall): Promise<Parking | undefined> {
  const { origin: _origin, body } = call;
  const read = readBody(bulkFields, body);
  if (read.dry_run) return undefined;
  const ca = presentCa(call);
  if (read.confirm_count === undefined && !read.force) {
    throw refuse("missing_field", { field: "confirm_count" });
  }
  const { confirm_count: confirmed } = read;
  const count = confirmed === undefined ? "all it finds" : String(confirmed);
  return {
    resourceKey: `ca:${ca.id}`,
    resourceName: ca.label,
    summary: `Revoke many certificates of ${ca.label}: ${count}, reason ${read.reason}.`,
    details: { ...issuerOf(ca), ...body },
    check: async () => {
      const { total } = await deps.bulk.plan(ca, orderOf(read));
      if (confirmed === undefined || confirmed === total) return;
      throw refuse("confirm_count_mismatch", { confirm_count: confirmed, actual_count: total });
    },
  };
}

async function newApiToken(_: ParkingDeps, call: AskedCall): Promise<Parking | undefined> {
  const { body, tenant } = call;
  const roles = Array.isArray(body.roles) ? body.roles.map(String) : [];
  if (body.scope !== "platform" && roles.every((role) => role === "auditor")) return undefined;
  const name = String(body.name);
  const where = tenant ?? "platform";
  return {
    resourceKey: `token:new:${where}:${name}`,
    resourceName: name,
    summary: `Mint the API token ${name} with ${roles.join(", ")} (${where}).`,
    details: body,
    check: async () => {},
  };
}

async function issue(deps: ParkingDeps, call: AskedCall): Promise<Parking | undefined> {
  const { origin, body } = call;
  const ca = presentCa(call);
  const profile = String(body.profile);
  if (!needsApproval(deps, profile)) return undefined;
  const request = {
    csr: String(body.csr),
    profile,
    validityDays: numberOf(body.validity_days),
    mustStaple: typeof body.must_staple === "boolean" ? body.must_staple : undefined,
    caller: "approved" as const,
  };
  return {
    ...(await certificateOf(call, profile, "Issue")),
    check: () => deps.issuance.admissible(origin, ca, request),
  };
}

async function renew(deps: ParkingDeps, call: AskedCall): Promise<Parking | undefined> {
  const { origin, body } = call;
  const ca = presentCa(call);
  const serial = parseSerial(String(body.serial));
  const csr = typeof body.csr === "string" ? body.csr : undefined;
  const validityDays = numberOf(body.validity_days);
  const request = { serial, csr, validityDays, caller: "approved" as const };
  const old = await renewed(deps, ca, serial);
  if (old === undefined || !needsApproval(deps, old.profile)) return undefined;
  const parking = await certificateOf(call, old.profile, `Renew ${old.subject}, serial ${serial}:`);
  const { subject, sans, profile } = old;
  return {
    ...parking,
    details: { ...parking.details, renews: { subject, sans, profile } },
    check: () => deps.issuance.renewable(origin, ca, request),
  };
}

async function renewed(
  { store }: ParkingDeps,
  ca: CaRecord,
  serial: ReturnType<typeof parseSerial>,
) {
  const { cas, certificates } = store.read;
  for (const member of await cas.lineage(ca.lineage)) {
    const found = await certificates.bySerial(member.id, serial);
    if (found?.kind === "leaf") return found;
  }
  return undefined;
}

async function certificateOf(call: AskedCall, profile: string, what: string) {
  const ca = presentCa(call);
  return {
    resourceKey: `ca:${ca.id}:profile:${profile}`,
    resourceName: `${ca.label} ${profile}`,
    summary: `${what} a certificate of ${ca.label}, profile ${profile}.`,
    details: { ...issuerOf(ca), ...(await shown(call.body)) },
  };
}

const needsApproval = ({ profiles }: ParkingDeps, profile: string): boolean =>
  profiles().has(profile) && profiles().named(profile).requireApproval;

/** The body with requests and certificates as what they say; a digest stands for their octets. */
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

const issuerOf = (ca: CaRecord | undefined): JsonObject =>
  ca === undefined ? {} : { ca_id: ca.id, ca_label: ca.label };

function presentCa({ ca }: AskedCall): CaRecord {
  assert(ca !== undefined, "an operation on a CA has one");
  return ca;
}

const numberOf = (value: Json | undefined): number | undefined =>
  typeof value === "number" ? value : undefined;

const digestOf = (text: string): string => sha256Hex(new TextEncoder().encode(text));

const chainMax = 16;
