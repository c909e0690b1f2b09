/** The inventory in JSON. */

import { type CaId, type Serial, findSerials } from "#core/ids.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { refuse } from "#core/problems.ts";
import { flag, many, oneOf, optional, shape, text, type ValueOf, words } from "#core/shape.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { fingerprintOf } from "#core/x509/public-keys.ts";
import { revocationReasons } from "#core/x509/reasons.ts";
import { type Asking, type Definition, operation } from "#domain/access/operation.ts";
import { theCa } from "#domain/access/targets.ts";
import { certificatePem } from "#domain/authorities/bundle.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { findInLineage, listLineage } from "#domain/certificates/lineage.ts";
import type {
  CertificateFilter,
  CertificateRecord,
  IntentRecord,
} from "#domain/certificates/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { certificateFingerprintField, fingerprintField, serialField, timeField } from "./fields.ts";
import { listOf, pageFields, pageOf } from "./pages.ts";
import { count, fingerprintText, pemText, reasonText, serialText, time } from "./shapes.ts";
import { isKnownProfile } from "./profiles.ts";
import { serialPrefix } from "./serial-prefix.ts";
import { ctMemberShapes, ctMembers } from "./transparency.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly profiles: () => ProfileSet;
}

/** Handlers for `cert.list`, `cert.show`, `cert.orphans`. */
export function certificateHandlers(deps: Deps) {
  const { store, clock } = deps;
  return {
    "cert.list": certificateList(deps),
    "cert.show": operation({
      summary: "One certificate of the inventory.",
      target: theCa,
      input: { serial: serialField },
      output: certificateShape,
      run: async (call) => {
        // CA and responder certificates are not inventory (API-7).
        const found = await findInLineage(store.read, call.ca, call.input.serial, inventoried);
        if (found === undefined) throw refuse("not_found");
        const { certificate: record, issuer } = found;
        const now = clock.now();
        const outlived = await store.read.certificates.superseded(issuer.id, [record.serial]);
        return certificateJson(record, now, outlived);
      },
    }),
    "cert.orphans": operation({
      summary: "Serials that were intended and never became a certificate.",
      target: theCa,
      input: pageFields,
      output: listOf(orphanShape),
      run: async (call) => {
        const { id } = call.ca;
        const { orphans } = store.read.certificates;
        return await pageOf("cert.orphans", call, { id }, orphanJson, (limit, after) =>
          orphans(id, limit, after),
        );
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const listFields = {
  status: optional(oneOf(["good", "valid", "revoked", "held", "expired"])),
  profile: optional(text({ min: 1, max: 100 })),
  q: optional(text({ min: 1, max: 200 })),
  serial_prefix: optional(serialPrefix()),
  expires_before: optional(timeField),
  public_key_sha256: optional(fingerprintField),
  certificate_sha256: optional(certificateFingerprintField),
  requested_by: optional(text({ min: 1, max: 500 })),
  ...pageFields,
};

function certificateList(deps: Deps) {
  const { store, clock } = deps;
  return operation({
    summary: "Certificates of a CA, newest first.",
    target: theCa,
    input: listFields,
    output: listOf(certificateShape),
    refuses: ["forbidden"],
    run: async (call) => {
      const ca = call.ca;
      await refuseCrossing(call, ca);
      const { status, profile, q, serial_prefix, expires_before } = call.input;
      const { public_key_sha256, certificate_sha256, requested_by } = call.input;
      if (profile !== undefined && !(await isKnownProfile(deps, profile, call.reach))) {
        throw refuse("bad_query", { parameter: "profile", reason: "names no profile" });
      }
      const filters = {
        caId: ca.id,
        profile,
        text: q,
        serialPrefix: serial_prefix,
        expiresBefore: expires_before,
        spkiSha256: public_key_sha256,
        sha256: certificate_sha256,
        requestedBy: requested_by,
        status: status === "valid" ? "good" : status,
      } satisfies Omit<CertificateFilter, "now">;
      const now = clock.now();
      const isSerialSearch = serial_prefix !== undefined || findSerials(q ?? "").length > 0;
      const caId = isSerialSearch ? await findSearchedCa(store, ca, { ...filters, now }) : ca.id;
      let outlived: ReadonlySet<Serial> = new Set();
      // The cursor is bound to what the caller asked for, not to the moment of asking.
      return await pageOf(
        "cert.list",
        call,
        filters,
        (record: CertificateRecord) => certificateJson(record, now, outlived),
        async (limit, after) => {
          const page = await store.read.certificates.page({ ...filters, caId, now }, limit, after);
          const serials = page.items.map(({ serial }) => serial);
          outlived = await store.read.certificates.superseded(caId, serials);
          return page;
        },
      );
    },
  });
}

/** Returns the first CA of the lineage with a match, and `ca` if none has one (ROL-3). */
async function findSearchedCa(
  { read }: Pick<Store, "read">,
  ca: CaRecord,
  filter: CertificateFilter,
): Promise<CaId> {
  for (const { id } of await listLineage(read.cas, ca)) {
    const { items } = await read.certificates.page({ ...filter, caId: id }, 1);
    if (items.length > 0) return id;
  }
  return ca.id;
}

/**
 * Searching by fingerprint or by requester crosses subjects, so it wants `audit:read` on the CA as
 * well (API-8).
 */
async function refuseCrossing(
  call: Pick<Asking, "rights"> & {
    readonly input: Readonly<Record<(typeof crossing)[number], string | undefined>>;
  },
  ca: CaRecord,
): Promise<void> {
  if (crossing.every((name) => call.input[name] === undefined)) return;
  if (await call.rights.on(ca, "audit:read")) return;
  throw refuse("forbidden", { capability: "audit:read" });
}

const crossing = ["public_key_sha256", "certificate_sha256", "requested_by"] as const;

const certificateShape = shape({
  id: words(),
  ca_id: words(),
  serial: serialText,
  subject: words(),
  common_name: words(),
  sans: many(words()),
  profile: words(),
  /** Empty for one that was pruned. */
  certificate: pemText,
  pruned: optional(flag()),
  not_before: time,
  not_after: time,
  status: oneOf(["good", "revoked", "held", "expired"]),
  superseded: flag(),
  revoked_at: optional(time),
  revocation_reason: optional(count),
  reason: optional(reasonText),
  requested_by: words(),
  created_at: time,
  ...ctMemberShapes,
  marker: optional(words()),
  public_key_fingerprint: fingerprintText,
  crl_partition: optional(count),
});

/** A certificate as answers show it; `expired` is computed and only from good (API-7). */
function certificateJson(
  record: CertificateRecord,
  now: Instant,
  outlived: ReadonlySet<Serial>,
): ValueOf<typeof certificateShape> {
  const { status, revokedAt, reason, marker } = record;
  return {
    id: record.id,
    ca_id: record.caId,
    serial: record.serial,
    subject: record.subject,
    common_name: record.commonName,
    sans: record.sans,
    profile: record.profile,
    ...derMembers(record),
    not_before: timestamp(record.notBefore),
    not_after: timestamp(record.notAfter),
    status: status === "good" && record.notAfter < now ? "expired" : status,
    superseded: outlived.has(record.serial),
    ...(revokedAt === undefined ? {} : { revoked_at: timestamp(revokedAt) }),
    ...(reason === undefined ? {} : { revocation_reason: revocationReasons[reason], reason }),
    requested_by: record.requestedBy,
    created_at: timestamp(record.createdAt),
    ...ctMembers(record),
    ...(marker === "" ? {} : { marker }),
    public_key_fingerprint: fingerprintOf(record.spkiSha256),
    ...(record.crlPartition === undefined ? {} : { crl_partition: record.crlPartition }),
  };
}

/** Of a tombstone there is no DER to show, and it says so (RET-1). */
const derMembers = ({ certificate }: CertificateRecord) =>
  certificate.length === 0
    ? { certificate: "", pruned: true }
    : { certificate: certificatePem(certificate) };

const orphanShape = shape({
  serial: serialText,
  created_at: time,
  purpose: words(),
  state: words(),
  requested_by: words(),
});

function orphanJson({ serial, createdAt, purpose, state, requestedBy }: IntentRecord) {
  const created_at = timestamp(createdAt);
  return { serial, created_at, purpose, state, requested_by: requestedBy };
}

const inventoried = ({ kind }: CertificateRecord) => kind === "leaf" || kind === "serving";
