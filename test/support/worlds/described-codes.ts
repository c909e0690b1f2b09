/** Holds refusals against the codes that the description of their operation names. */

import { Problem, type ProblemCode, problems } from "#core/problems.ts";
import type { Mounted } from "#domain/access/mounted.ts";
import type { Entry } from "#http/catalog.ts";
import { codesOf } from "#http/openapi-refusals.ts";
import { shapeOf } from "#http/openapi.ts";

/** What is refused before anybody knows, or cares, which operation is asked for. */
export const refusedAtTheDoor: readonly ProblemCode[] = [
  "bad_header",
  "method_not_allowed",
  "headers_too_large",
];

/** The codes an operation is described with. */
export const describedCodes = (entry: Entry): readonly ProblemCode[] =>
  codesOf(entry.row, shapeOf(entry));

/** What is wrong with a refusal of the operation; undefined where its description names it. */
export function codeFault(entry: Entry, code: unknown): string | undefined {
  const known: readonly unknown[] = [...describedCodes(entry), ...refusedAtTheDoor];
  if (known.includes(code)) return undefined;
  const isCode = typeof code === "string" && Object.hasOwn(problems, code);
  return `refused with ${String(code)}, which ${isCode ? "is not described" : "is no code"}`;
}

/** The same work; a refusal that the description of the operation does not name is a fault. */
export async function asDescribed<T>(mounted: Mounted, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { row, name } = mounted;
    const entry = { kind: "mounted", mounted, row } as const;
    const fault = error instanceof Problem ? codeFault(entry, error.code) : undefined;
    if (fault === undefined) throw error;
    throw new Error(`${name}: ${fault}`, { cause: error });
  }
}
