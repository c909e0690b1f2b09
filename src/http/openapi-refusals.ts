/**
 * The refusals an operation can meet: before its own rules are asked, as its row and its shapes
 * tell them, those of the fields it takes, and those of its own.
 */

import { type ProblemCode, problems } from "#core/problems.ts";
import { type Fields, refusesOf } from "#core/shape.ts";
import type { Operation } from "#operations";

/** What the shapes of a handler say about what can be wrong with a call. */
export interface Taken {
  readonly path: Fields;
  readonly query: Fields;
  readonly body: Fields | undefined;
  /** Media type of a body that is octets. */
  readonly takes: string | undefined;
  /** Codes of the operation's own rules. */
  readonly refuses: readonly ProblemCode[];
}

/** Codes by HTTP status, in ascending order. */
export function refusalsOf(
  row: Operation,
  taken: Taken,
): readonly (readonly [status: number, codes: readonly ProblemCode[]])[] {
  const codes = codesOf(row, taken);
  const statuses = [...new Set(codes.map((code) => problems[code][0]))].sort((a, b) => a - b);
  return statuses.map((status) => [status, codes.filter((code) => problems[code][0] === status)]);
}

/** Each code once: those of the gates in their order, of the fields, of the operation itself. */
export function codesOf(row: Operation, taken: Taken): readonly ProblemCode[] {
  const met = conditions.filter(([, applies]) => applies(row, taken)).flatMap(([these]) => these);
  const { path, query, body = {}, refuses } = taken;
  const read = [path, query, body].flatMap(refusesOf);
  return [...new Set([...met, ...read, ...refuses])];
}

type Condition = readonly [
  codes: readonly ProblemCode[],
  applies: (row: Operation, taken: Taken) => boolean,
];

/** Somebody has to be known, by whatever is presented. */
const isGuarded = ({ needs }: Operation): boolean => needs !== "pub";
const isRead = ({ route }: Operation): boolean => route.startsWith("GET ");
/** Its refusals are JSON, and pages of other sites are kept from it. */
const speaksJson = ({ speaks }: Operation): boolean => speaks === undefined;
/** A body in JSON is read, if only to find that it has no members. */
const readsJson = (row: Operation, { body }: Taken): boolean =>
  body !== undefined || (isGuarded(row) && !isRead(row));
const namesSomething = ({ route }: Operation): boolean => route.includes("{");
/** What is published is read from the store for anybody. */
const isPublished = ({ limit }: Operation): boolean => limit === "crl" || limit === "chain";

/** In the order of the gates (GATE-1). */
const conditions: readonly Condition[] = [
  // Passwords and client certificates are looked at in turns, whatever is asked with them.
  [["rate_limited"], (row) => (row.limit ?? "exempt") !== "exempt" || isGuarded(row)],
  [["body_too_large"], (row) => !isRead(row)],
  [
    ["unauthenticated", "invalid_credentials", "invalid_token", "no_access", "oidc_unavailable"],
    isGuarded,
  ],
  [["csrf_failed"], (row) => speaksJson(row) && !isRead(row)],
  [["forbidden"], ({ needs }) => needs !== "pub" && needs !== "any"],
  [
    ["not_found"],
    (row) =>
      (namesSomething(row) && speaksJson(row)) ||
      row.on === "tenant" ||
      row.by === "resource" ||
      row.takesTwo !== undefined,
  ],
  [["tenant_suspended"], ({ suspendable }) => suspendable === true],
  [["step_up_required"], ({ stepUp }) => stepUp !== undefined],
  [["bad_query"], (_, { query }) => Object.keys(query).length > 0],
  [["unknown_parameter"], isGuarded],
  [["bad_cursor"], (_, { query }) => Object.hasOwn(query, "cursor")],
  [["malformed_json", "unknown_field"], readsJson],
  [
    ["invalid_field"],
    (row, taken) => readsJson(row, taken) || (namesSomething(row) && speaksJson(row)),
  ],
  [["unsupported_media_type"], (row) => speaksJson(row) && !isRead(row)],
  // Whoever holds the capability in several tenants has to name one.
  [
    ["missing_field"],
    ({ on }, { body }) =>
      on === "tenant" || Object.values(body ?? {}).some(({ optional }) => !optional),
  ],
  // A body of octets that breaks off.
  [["malformed_json"], (_, { takes }) => takes !== undefined],
  [
    ["approval_unreachable", "approval_not_retryable", "approval_rejected", "approval_expired"],
    (row) => row.takesTwo !== undefined,
  ],
  [["key_unavailable"], ({ limit }) => limit === "admin_sign"],
  [["overloaded"], isGuarded],
  [["storage_unavailable"], (row) => isGuarded(row) || isPublished(row)],
  [["internal"], () => true],
  [["shutting_down"], () => true],
];
