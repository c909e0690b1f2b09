/**
 * The canonical input of a parked operation: what is fingerprinted, shown, and executed, one and
 * the same.
 */

import { sha256Hex } from "#core/crypto.ts";
import type { Json, JsonObject } from "#core/shape.ts";

/**
 * One call as it is stored, and read again by the shapes of its operation when it is approved:
 * every member, written by its own field, with the defaults of those that were not given, so that
 * what approvers read does not depend on what they know by heart.
 */
export type StoredInput = JsonObject;

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
  const whole = [operationClass, operation, resourceKey, tenant, sorted(input)];
  return sha256Hex(new TextEncoder().encode(JSON.stringify(whole)));
}

function sorted(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = Object.entries(value as JsonObject); // No list, by the line above.
  const inOrder = members.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(inOrder.map(([name, member]) => [name, sorted(member)]));
}
