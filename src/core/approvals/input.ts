/**
 * The canonical input of a parked operation: what is fingerprinted, shown, and executed, one and
 * the same.
 */

import { sha256Hex } from "#core/crypto.ts";
import type { Fields } from "#core/shape.ts";

/** Plain JSON. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [member: string]: Json };

/** One call as it is stored, and replayed when it is approved. */
export interface StoredInput {
  readonly path: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/**
 * The body in full: every member as it was given, and the defaults of those that were not, so that
 * what approvers read does not depend on what they know by heart. Members without value and default
 * are left out.
 */
export function completeBody(fields: Fields, given: JsonObject): JsonObject {
  const members = Object.entries(fields).flatMap(([name, field]): [string, Json][] => {
    const own = Object.hasOwn(given, name) ? given[name] : plain(field.fallback);
    return own === undefined ? [] : [[name, own]];
  });
  return Object.fromEntries(members);
}

/**
 * Lower hex SHA-256 over class, operation, resource, tenant and the whole input; the order of
 * members says nothing.
 */
export function fingerprintOf(of: {
  readonly operationClass: string;
  readonly operation: string;
  readonly resourceKey: string;
  readonly tenant: string | undefined;
  readonly input: StoredInput;
}): string {
  const { operationClass, operation, resourceKey, tenant = "", input } = of;
  // Plain by its type.
  const whole = [operationClass, operation, resourceKey, tenant, sorted(input as unknown as Json)];
  return sha256Hex(new TextEncoder().encode(JSON.stringify(whole)));
}

/** Defaults are plain JSON, or objects whose absent members are undefined. */
function plain(value: unknown): Json | undefined {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value);
  return text === undefined ? undefined : (JSON.parse(text) as Json); // Just written as JSON.
}

function sorted(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = Object.entries(value as JsonObject); // No list, by the line above.
  const inOrder = members.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(inOrder.map(([name, member]) => [name, sorted(member)]));
}
