/**
 * The refusals an operation can meet: before its own rules are asked, as its row and its shapes
 * tell them, and those of its own.
 */

import { type ProblemCode, problems } from "#core/problems.ts";
import type { Fields } from "#core/shape.ts";
import type { Operation } from "#operations";

/** What the shapes of a handler say about what can be wrong with a call. */
export interface Taken {
  readonly query: Fields;
  readonly body: Fields | undefined;
  /** True where the body is octets. */
  readonly octets: boolean;
  /** Codes of the operation's own rules. */
  readonly own: readonly ProblemCode[];
}

/** Codes by HTTP status, in ascending order. */
export function refusalsOf(
  row: Operation,
  taken: Taken,
): readonly (readonly [status: number, codes: readonly ProblemCode[]])[] {
  const met = conditions.filter(([, applies]) => applies(row, taken)).flatMap(([these]) => these);
  const codes = [...new Set([...met, ...taken.own])];
  const statuses = [...new Set(codes.map((code) => problems[code][0]))].sort((a, b) => a - b);
  return statuses.map((status) => [status, codes.filter((code) => problems[code][0] === status)]);
}

type Condition = readonly [
  codes: readonly ProblemCode[],
  applies: (row: Operation, taken: Taken) => boolean,
];

/** In the order of the gates (GATE-1). */
const conditions: readonly Condition[] = [
  [["rate_limited"], ({ limit }) => limit !== undefined && limit !== "exempt"],
  [["body_too_large"], (_, { body, octets }) => body !== undefined || octets],
  [["unauthenticated", "invalid_credentials", "invalid_token"], (row) => row.needs !== "pub"],
  [["csrf_failed"], (row) => row.needs !== "pub" && !row.route.startsWith("GET ")],
  [["forbidden"], ({ needs }) => needs !== "pub" && needs !== "any"],
  [["not_found"], ({ route }) => route.includes("{")],
  [["tenant_suspended"], ({ suspendable }) => suspendable === true],
  [["step_up_required"], ({ stepUp }) => stepUp !== undefined],
  [["bad_query"], (_, { query }) => Object.keys(query).length > 0],
  [["unknown_parameter"], ({ needs }) => needs !== "pub"],
  [["bad_cursor"], (_, { query }) => Object.hasOwn(query, "cursor")],
  [
    ["malformed_json", "unknown_field", "invalid_field", "unsupported_media_type"],
    (_, { body }) => body !== undefined,
  ],
  [["missing_field"], (_, { body }) => Object.values(body ?? {}).some(({ optional }) => !optional)],
  [
    ["approval_rejected", "approval_expired", "approval_failed"],
    (row) => row.takesTwo !== undefined,
  ],
  [["overloaded", "key_unavailable"], ({ limit }) => limit === "admin_sign"],
  [["storage_unavailable"], ({ writes }) => writes === true],
  [["internal"], () => true],
  [["shutting_down"], () => true],
];
