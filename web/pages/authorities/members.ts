/** What is typed as members of an operation: what is empty is left out, counts are numbers. */

import type { Json } from "#core/shape.ts";

/** The members that say something: empty texts, lists and objects are left out. */
export function filled(
  members: Readonly<Record<string, Json | undefined>>,
): Readonly<Record<string, Json>> {
  const given: Record<string, Json> = {};
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined && !isEmpty(value)) given[name] = value;
  }
  return given;
}

/** The same as one member, which is left out where nothing is in it. */
export function filledObject(
  members: Readonly<Record<string, Json | undefined>>,
): Json | undefined {
  const given = filled(members);
  return Object.keys(given).length === 0 ? undefined : given;
}

/** A count as the server takes it; what is none goes as it was typed, for the server to refuse. */
export function countOf(text: string): Json | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return /^\d{1,9}$/.test(trimmed) ? Number(trimmed) : trimmed;
}

/** The lines that say something. */
export const linesOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

const isEmpty = (value: Json): boolean =>
  value === "" ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === "object" && value !== null && Object.keys(value).length === 0);
