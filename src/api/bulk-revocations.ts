/**
 * Bulk revocation in JSON: a plan, or a run that may be repeated under its operation id (BLK-6).
 */

import { issuerOf } from "./parking.ts";
import {
  selectReading,
  type Serial,
  type SerialFormat,
  serialFormats,
  type SerialReadings,
} from "#core/ids.ts";
import { parseGlob } from "#core/policy/glob.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import type { Selection } from "#core/policy/selection.ts";
import { Problem, type ProblemCode, refuse } from "#core/problems.ts";
import {
  type Input,
  type JsonObject,
  WrongValue,
  decimal,
  either,
  flag,
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
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import type { Reach } from "#core/access/principal.ts";
import {
  type Authorized,
  type Definition,
  type Parking,
  guarded,
} from "#domain/access/operation.ts";
import { type OnCa, theCa } from "#domain/access/targets.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type {
  BulkRevocation,
  BulkRevocationOrder,
  BulkRevocationPlan,
  BulkRevocationResult,
} from "#domain/revocation/bulk.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { fingerprintField, listedTextField, reasonField, timeField } from "./fields.ts";
import { isKnownProfile } from "./profiles.ts";
import { codeText, count, reasonText, serialText, time } from "./shapes.ts";

interface Deps {
  readonly bulk: BulkRevocation;
  readonly store: Store;
  readonly profiles: () => ProfileSet;
}

/** The handler for `cert.revoke_bulk`. */
export function bulkRevocationHandlers(deps: Deps) {
  return {
    "cert.revoke_bulk": guarded({
      summary:
        "Plan a bulk revocation or carry it out; repeated under its operation id it goes on.",
      target: theCa,
      input: bulkFields,
      output: either(planShape, resultShape),
      refuses: [
        "missing_field",
        "empty_selection",
        "unknown_serials",
        "confirm_count_mismatch",
        "operation_mismatch",
        "operation_running",
        "bulk_partial",
      ],
      parks: (call, said) => parkedBulk(deps, call, said),
      run: async ({ origin, ca, input, reach }) => {
        await refuseUnknownProfile(deps, input.filter.profile, reach);
        const order = orderOf(input);
        if (input.dry_run) return planJson(ca, await deps.bulk.plan(ca, order));
        if (input.confirm_count === undefined && !input.force) {
          throw refuse("missing_field", { field: "confirm_count" });
        }
        // Under an approval a repetition after a crash is the same run, whatever its maker called
        // it.
        const operationId = order.operationId ?? origin.approval?.id;
        const result = await deps.bulk.execute(origin, ca, { ...order, operationId });
        const shown = resultJson(ca, result);
        if (result.failure !== undefined) throw refuse("bulk_partial", { result: shown });
        return shown;
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const patternField = parsed({ type: "string", minLength: 1, maxLength: 1000 }, (value) => {
  const sized = text({ min: 1, max: 1000 }).read(value);
  if (parseGlob(sized) === undefined) throw new WrongValue("must be a glob with closed sets");
  return sized;
});

/** What a run is repeated under. */
export const operationIdField = text({ min: 1, max: 64, pattern: /^[A-Za-z0-9._-]+$/ });

/** What selects among the certificates of a CA. */
export const predicateFields = {
  profile: optional(text({ min: 1, max: 100 })),
  pattern: optional(patternField),
  issued_after: optional(timeField),
  issued_before: optional(timeField),
  serials: optional(list(listedTextField, 1, 100_000)),
  serial_format: optional(oneOf(serialFormats)),
  public_key_sha256: optional(fingerprintField),
};

const filterFields = { ...predicateFields, include_expired: otherwise(flag(), false) };

type Filter = Input<typeof filterFields>;

/** Everything. */
export const noPredicate: Input<typeof predicateFields> = {
  profile: undefined,
  pattern: undefined,
  issued_after: undefined,
  issued_before: undefined,
  serials: undefined,
  serial_format: undefined,
  public_key_sha256: undefined,
};

const noFilter: Filter = { ...noPredicate, include_expired: false };

/** Undefined for a plan, which changes nothing. */
async function parkedBulk(
  deps: Deps,
  { ca, input, reach }: Authorized<Input<typeof bulkFields>, OnCa>,
  said: JsonObject,
): Promise<Parking | undefined> {
  if (input.dry_run) return undefined;
  const { confirm_count: confirmed } = input;
  if (confirmed === undefined && !input.force) {
    throw refuse("missing_field", { field: "confirm_count" });
  }
  const howMany = confirmed === undefined ? "all it finds" : String(confirmed);
  return {
    resourceKey: `ca:${ca.id}`,
    resourceName: ca.label,
    summary: `Revoke many certificates of ${ca.label}: ${howMany}, reason ${input.reason}.`,
    details: { ...issuerOf(ca), ...said },
    check: async () => {
      await refuseUnknownProfile(deps, input.filter.profile, reach);
      const { total } = await deps.bulk.plan(ca, orderOf(input));
      if (confirmed === undefined || confirmed === total) return;
      throw refuse("confirm_count_mismatch", { confirm_count: confirmed, actual_count: total });
    },
  };
}

/** Refuses `invalid_field` for a profile that nobody in reach has. */
export async function refuseUnknownProfile(
  deps: Pick<Deps, "store" | "profiles">,
  profile: string | undefined,
  reach: Reach,
): Promise<void> {
  if (profile === undefined || (await isKnownProfile(deps, profile, reach))) return;
  throw refuse("invalid_field", { field: "profile", reason: "names no profile" });
}

/** The members of `POST …/revocations:bulk`. */
export const bulkFields = {
  dry_run: otherwise(flag(), false),
  reason: otherwise(reasonField, "unspecified"),
  filter: otherwise(object(filterFields), noFilter),
  all: otherwise(flag(), false),
  confirm_count: optional(integer(0, 1_000_000_000)),
  force: otherwise(flag(), false),
  operation_id: optional(operationIdField),
  batch_size: otherwise(integer(1, 5000), 500),
};

/** The order the members express. */
export function orderOf(body: Input<typeof bulkFields>): BulkRevocationOrder {
  const { operation_id, reason, all, batch_size, force, confirm_count } = body;
  return {
    operationId: operation_id,
    reason,
    selection: selectionOf(body.filter),
    all,
    batchSize: batch_size,
    confirmed: force ? undefined : confirm_count,
  };
}

/** What the members of a filter select. */
export const selectionOf = (filter: Filter): Selection => ({
  profile: filter.profile,
  pattern: filter.pattern,
  serials: filter.serials && distinct(filter.serials, filter.serial_format),
  issuedAfter: filter.issued_after,
  issuedBefore: filter.issued_before,
  spkiSha256: filter.public_key_sha256,
  includeExpired: filter.include_expired,
});

/** Returns each serial of a list once. Refuses `bad_serial` if the format excludes it. */
const distinct = (
  listed: readonly SerialReadings[],
  format: SerialFormat | undefined,
): readonly Serial[] => [...new Set(listed.map((one) => selectReading(one, format)))];

const sampleShape = shape({
  ca_id: words(),
  serial: serialText,
  common_name: words(),
  profile: words(),
  not_after: optional(time),
  known: flag(),
});

const planShape = shape({
  operation_id: words(),
  ca_id: words(),
  ca_label: words(),
  reason: reasonText,
  filter: words(),
  total: count,
  known: count,
  unknown: count,
  held: count,
  already_revoked: count,
  filtered_out: count,
  expired_excluded: count,
  profiles: many(shape({ profile: words(), count })),
  sample: many(sampleShape),
});

const resultShape = shape({
  operation_id: words(),
  ca_id: words(),
  reason: reasonText,
  planned: count,
  revoked: count,
  upgraded: count,
  already_skipped: count,
  batches: count,
  crl_scopes: many(words()),
  ocsp_invalidated: count,
  presign_refreshed: count,
  presign_error: optional(codeText),
  duration_seconds: decimal(),
});

function planJson(ca: CaRecord, plan: BulkRevocationPlan): ValueOf<typeof planShape> {
  const { operationId, reason, filter, total, known, unknown, held, sample } = plan;
  return {
    operation_id: operationId,
    ca_id: ca.id,
    ca_label: ca.label,
    reason,
    filter,
    total,
    known,
    unknown,
    held,
    already_revoked: plan.alreadyRevoked,
    filtered_out: plan.filteredOut,
    expired_excluded: plan.expiredExcluded,
    profiles: plan.profiles.map(({ profile, count }) => ({ profile, count })),
    sample: sample.map(sampleJson),
  };
}

const sampleJson = ({
  notAfter,
  ...shown
}: BulkRevocationPlan["sample"][number]): ValueOf<typeof sampleShape> => ({
  ca_id: shown.caId,
  serial: shown.serial,
  common_name: shown.commonName,
  profile: shown.profile,
  ...(notAfter === undefined ? {} : { not_after: timestamp(notAfter) }),
  known: shown.known,
});

function resultJson(ca: CaRecord, result: BulkRevocationResult): ValueOf<typeof resultShape> {
  const { operationId, reason, planned, revoked, upgraded, batches, crlScopes } = result;
  const { presignFailure } = result;
  return {
    operation_id: operationId,
    ca_id: ca.id,
    reason,
    planned,
    revoked,
    upgraded,
    already_skipped: result.skipped,
    batches,
    crl_scopes: crlScopes,
    // The sequence each change took makes every kept answer about its serial invalid.
    ocsp_invalidated: revoked,
    presign_refreshed: result.presigned,
    ...(presignFailure === undefined ? {} : { presign_error: wordOf(presignFailure) }),
    duration_seconds: result.durationSeconds,
  };
}

/** A code of the closed list (API-3); exceptions never show their text. */
const wordOf = (failure: unknown): ProblemCode =>
  failure instanceof Problem ? failure.code : "internal";
