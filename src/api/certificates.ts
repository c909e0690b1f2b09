/** The inventory in JSON. */

import { parseSerial, type Serial } from "#core/ids.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { assert, refuse } from "#core/problems.ts";
import { oneOf, optional, parsed, text, WrongValue } from "#core/shape.ts";
import { type Instant, parseTimestampOrDay, timestamp } from "#core/time.ts";
import { fingerprintOf, parseFingerprint } from "#core/x509/public-keys.ts";
import { revocationReasons } from "#core/x509/reasons.ts";
import { type Authorized, type Handler, handler, ok } from "#domain/access/call.ts";
import { certificatePem } from "#domain/authorities/bundle.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type {
  CertificateFilter,
  CertificateRecord,
  IntentRecord,
} from "#domain/certificates/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { pageFields, pageOf } from "./pages.ts";
import { isKnownProfile } from "./profiles.ts";
import { serialPrefix } from "./serial-prefix.ts";
import { ctMembers } from "./transparency.ts";

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
    "cert.show": handler({
      summary: "One certificate of the inventory.",
      path: { id: text(), serial: parsed({ type: "string" }, parseSerial) },
      run: async (call) => {
        const ca = presentCa(call.ca);
        const record = await store.read.certificates.bySerial(ca.id, call.path.serial);
        // Certificates of CAs and responders are no inventory (API-7).
        if (record === undefined || !inventoried(record)) throw refuse("not_found");
        const now = clock.now();
        const outlived = await store.read.certificates.superseded(ca.id, [record.serial], now);
        return ok(certificateJson(record, now, outlived));
      },
    }),
    "cert.orphans": handler({
      summary: "Serials that were promised and never became a certificate.",
      path: { id: text() },
      query: pageFields,
      run: async (call) => {
        const { id } = presentCa(call.ca);
        const { orphans } = store.read.certificates;
        return ok(
          await pageOf("cert.orphans", call, { id }, orphanJson, (limit, after) =>
            orphans(id, limit, after),
          ),
        );
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

const listFields = {
  status: optional(oneOf(["good", "valid", "revoked", "held", "expired"])),
  profile: optional(text({ min: 1, max: 100 })),
  q: optional(text({ min: 1, max: 200 })),
  serial_prefix: optional(serialPrefix()),
  expires_before: optional(timeField()),
  public_key_sha256: optional(parsed({ type: "string" }, parseFingerprint)),
  ...pageFields,
};

function certificateList(deps: Deps): Handler {
  const { store, clock } = deps;
  return handler({
    summary: "Certificates of a CA, newest first.",
    path: { id: text() },
    query: listFields,
    run: async (call) => {
      const ca = presentCa(call.ca);
      await refuseKeySearch(call, ca);
      const { status, profile, q, serial_prefix, expires_before, public_key_sha256 } = call.query;
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
        status: status === "valid" ? "good" : status,
      } satisfies Omit<CertificateFilter, "now">;
      const now = clock.now();
      let outlived: ReadonlySet<Serial> = new Set();
      // The cursor is bound to what the caller asked for, not to the moment of asking.
      return ok(
        await pageOf(
          "cert.list",
          call,
          filters,
          (record: CertificateRecord) => certificateJson(record, now, outlived),
          async (limit, after) => {
            const page = await store.read.certificates.page({ ...filters, now }, limit, after);
            const serials = page.items.map(({ serial }) => serial);
            outlived = await store.read.certificates.superseded(ca.id, serials, now);
            return page;
          },
        ),
      );
    },
  });
}

/** Searching by key crosses subjects, so it wants `audit:read` on the CA as well (API-8). */
async function refuseKeySearch(
  call: Pick<Authorized<never, never, never>, "rights"> & {
    readonly query: { readonly public_key_sha256: string | undefined };
  },
  ca: CaRecord,
): Promise<void> {
  if (call.query.public_key_sha256 === undefined) return;
  if (await call.rights.on(ca, "audit:read")) return;
  throw refuse("forbidden", { capability: "audit:read" });
}

/** A certificate as answers show it; `expired` is computed and only from good (API-7). */
function certificateJson(record: CertificateRecord, now: Instant, outlived: ReadonlySet<Serial>) {
  const { status, revokedAt, reason, marker } = record;
  return {
    id: record.id,
    ca_id: record.caId,
    serial: record.serial,
    subject: record.subject,
    common_name: record.commonName,
    sans: record.sans,
    profile: record.profile,
    certificate: certificatePem(record.certificate),
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

function orphanJson({ serial, createdAt, purpose, state, requestedBy }: IntentRecord) {
  const created_at = timestamp(createdAt);
  return { serial, created_at, purpose, state, requested_by: requestedBy };
}

const inventoried = ({ kind }: CertificateRecord) => kind === "leaf" || kind === "serving";

function timeField() {
  return parsed<Instant>({ type: "string" }, (value) => {
    const at = parseTimestampOrDay(value);
    if (at === undefined) throw new WrongValue("must be an RFC 3339 time or a day");
    return at;
  });
}

function presentCa(ca: CaRecord | undefined): CaRecord {
  assert(ca !== undefined, "an operation on a CA has one");
  return ca;
}
