/** Mass replacement in JSON: a plan, how far it has come, and its end. */

import type { ProfileSet } from "#core/policy/profiles.ts";
import { planSecondsMin } from "#core/acme/spread.ts";
import { refuse } from "#core/problems.ts";
import {
  decimal,
  either,
  flag,
  type Input,
  integer,
  type JsonObject,
  object,
  oneOf,
  optional,
  otherwise,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { addSeconds, secondsPerDay, timestamp } from "#core/time.ts";
import {
  type Authorized,
  type Definition,
  guarded,
  operation,
  type Parking,
} from "#domain/access/operation.ts";
import { anyScope, caTarget, type OnCa, theCa } from "#domain/access/targets.ts";
import type { AcmeSections } from "#domain/acme/sections.ts";
import type { Directories } from "#domain/acme/directories.ts";
import type {
  ReplacementFound,
  ReplacementOrder,
  ReplacementProgress,
  Replacements,
} from "#domain/acme/replacements.ts";
import { type ReplacementRecord, replacementStates } from "#domain/acme/replacement-store.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { requireServed } from "./acme-targets.ts";
import {
  noPredicate,
  operationIdField,
  predicateFields,
  refuseUnknownProfile,
  selectionOf,
} from "./bulk-revocations.ts";
import { onlyOneOf, reasonField, timeField } from "./fields.ts";
import { issuerOf } from "./parking.ts";
import { listOf, pageFields, pageOf } from "./pages.ts";
import { count, present, reasonText, simpleChange, time } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly profiles: () => ProfileSet;
  readonly config: () => AcmeSections;
  readonly directories: Pick<Directories, "all">;
  readonly replacements: Replacements;
}

/** Handlers for `acme.replace.plan` and what is done with plans. */
export function replacementHandlers(deps: Deps) {
  return {
    "acme.replace.plan": planning(deps),
    "acme.replace.list": listing(deps),
    "acme.replace.show": showing(deps),
    "acme.replace.cancel": canceling(deps),
  } satisfies Partial<Record<OperationName, Definition>>;
}

/** A plan that takes longer outlives the certificates it is about. */
const daysMax = 365;

const planFields = {
  dry_run: otherwise(flag(), false),
  filter: otherwise(object(predicateFields), noPredicate),
  operation_id: optional(operationIdField),
  all: otherwise(flag(), false),
  within_seconds: optional(integer(planSecondsMin, daysMax * secondsPerDay)),
  until: optional(timeField),
  start: optional(timeField),
  revoke: optional(reasonField),
  per_second: optional(integer(1, 10_000)),
};

function planning(deps: Deps) {
  const { replacements } = deps;
  return guarded({
    summary:
      "Have the ACME clients of many certificates come for others, spread over a time; without filter those of the CA and of what it has superseded, with an operation id those that a bulk revocation has revoked.",
    target: theCa,
    input: planFields,
    output: either(foundShape, planShape),
    refuses: [
      "missing_field",
      "conflicting_fields",
      "empty_selection",
      "feature_disabled",
      "replacement_too_fast",
      "operation_running",
    ],
    parks: (call, said) => parkedPlan(deps, call, said),
    run: async ({ origin, ca, input, reach }) => {
      requireServed(deps.directories);
      await refuseUnknownProfile(deps, input.filter.profile, reach);
      const order = orderOf(deps, input);
      if (input.dry_run) return foundJson(deps, ca, await replacements.look(ca, order));
      const { notByAcme, ...plan } = await replacements.plan(origin, ca, order);
      return present({ ...planJson(plan), not_by_acme: notByAcme });
    },
  });
}

/** A plan that revokes waits as a bulk revocation does; one that only tells clients does not. */
async function parkedPlan(
  deps: Deps,
  { ca, input, reach }: Authorized<Input<typeof planFields>, OnCa>,
  said: JsonObject,
): Promise<Parking | undefined> {
  if (input.dry_run || input.revoke === undefined) return undefined;
  const { revoke } = input;
  return {
    resourceKey: `ca:${ca.id}`,
    resourceName: ca.label,
    summary: `Have certificates of ${ca.label} replaced by ACME, then revoked, reason ${revoke}.`,
    details: { ...issuerOf(ca), ...said },
    check: async () => {
      requireServed(deps.directories);
      await refuseUnknownProfile(deps, input.filter.profile, reach);
      await deps.replacements.look(ca, orderOf(deps, input));
    },
  };
}

/** The order the members express; a time from now on begins when it is carried out. */
function orderOf({ clock }: Deps, input: Input<typeof planFields>): ReplacementOrder {
  const { filter, operation_id, all, within_seconds, until, start, revoke, per_second } = input;
  onlyOneOf({ within_seconds, until });
  const now = clock.now();
  const from = start === undefined || start < now ? now : start;
  const end = within_seconds === undefined ? until : addSeconds(from, within_seconds);
  if (end === undefined) throw refuse("missing_field", { field: "within_seconds" });
  const latest = addSeconds(now, 2 * daysMax * secondsPerDay);
  if (end < addSeconds(from, planSecondsMin) || end > latest) {
    const reason = `must be ${planSecondsMin} seconds to ${daysMax} days after the start`;
    throw refuse("invalid_field", {
      field: within_seconds === undefined ? "until" : "start",
      reason,
    });
  }
  if (revoke === "certificateHold") {
    throw refuse("invalid_field", { field: "revoke", reason: "must be a reason for good" });
  }
  const selection = selectionOf({ ...filter, include_expired: false });
  const operation = operation_id;
  return { selection, operation, all, start, end, revoke, perSecond: per_second };
}

function listing({ store, directories }: Deps) {
  return operation({
    summary: "Planned replacements, newest first.",
    target: anyScope,
    input: pageFields,
    output: listOf(recordShape),
    refuses: ["feature_disabled"],
    run: async (call) => {
      requireServed(directories);
      const { reach } = call;
      return await pageOf("acme.replace.list", call, {}, recordJson, (limit, after) =>
        store.read.replacements.replacements(reach, limit, after),
      );
    },
  });
}

function showing({ store, directories, replacements }: Deps) {
  return operation({
    summary: "A planned replacement, and how far it has come.",
    target: theReplacement,
    output: planShape,
    refuses: ["feature_disabled"],
    run: async ({ input }) => {
      requireServed(directories);
      return planJson(await replacements.progress(await stored(store, input.id)));
    },
  });
}

function canceling({ store, directories, replacements }: Deps) {
  return operation({
    summary: "Call a planned replacement off: clients come at their usual times again.",
    target: theReplacement,
    output: simpleChange("canceled", "already_over"),
    refuses: ["feature_disabled"],
    run: async ({ input, origin }) => {
      requireServed(directories);
      const done = await replacements.cancel(origin, await stored(store, input.id));
      return { status: done ? ("canceled" as const) : ("already_over" as const) };
    },
  });
}

/** The CA of the plan whose id is `{id}` in the path. */
const theReplacement = caTarget({ id: text({ min: 1, max: 64 }) }, async ({ store, given }) => {
  const { id = "" } = given.named;
  const found = id.length > 64 ? undefined : await store.read.replacements.replacement(id);
  return found && (await store.read.cas.byId(found.caId));
});

/** Its target has found it, and plans are not deleted. */
async function stored(store: Pick<Store, "read">, id: string): Promise<ReplacementRecord> {
  const found = await store.read.replacements.replacement(id);
  if (found === undefined) throw refuse("not_found");
  return found;
}

const foundShape = shape({
  ca_id: words(),
  ca_label: words(),
  total: count,
  replaced: count,
  not_by_acme: count,
  per_second: decimal(),
  least_seconds: count,
  /** Clients ask at least so often; a plan that takes less time is told some of them too late. */
  poll_seconds: count,
});

const recordMembers = {
  id: words(),
  ca_id: words(),
  tenant_id: words(),
  status: oneOf(replacementStates),
  filter: words(),
  start: time,
  end: time,
  per_second: decimal(),
  revoke: optional(reasonText),
  created_by: words(),
  created_at: time,
};

const recordShape = shape(recordMembers);

const planShape = shape({
  ...recordMembers,
  total: count,
  replaced: count,
  outstanding: count,
  revoked: count,
  not_by_acme: optional(count),
});

function recordJson(record: ReplacementRecord): ValueOf<typeof recordShape> {
  return present<ValueOf<typeof recordShape>>({
    id: record.id,
    ca_id: record.caId,
    tenant_id: record.tenant,
    status: record.state,
    filter: record.selection,
    start: timestamp(record.start),
    end: timestamp(record.end),
    per_second: record.perSecond,
    revoke: record.revoke,
    created_by: record.createdBy,
    created_at: timestamp(record.createdAt),
  });
}

function planJson(plan: ReplacementProgress): ValueOf<typeof planShape> {
  const { total, replaced, revoked } = plan;
  const record = recordJson(plan);
  return { ...record, total, replaced, outstanding: total - replaced, revoked };
}

const foundJson = (
  { config }: Deps,
  ca: CaRecord,
  { total, replaced, notByAcme, perSecond, leastSeconds }: ReplacementFound,
): ValueOf<typeof foundShape> => ({
  ca_id: ca.id,
  ca_label: ca.label,
  total,
  replaced,
  not_by_acme: notByAcme,
  per_second: perSecond,
  least_seconds: leastSeconds,
  poll_seconds: config().acme.renewal_poll_hours * 3600,
});
