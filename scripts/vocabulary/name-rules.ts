/** Rules on declared names: functions start with a verb, types are nouns declared once. */

import type { DeclaredName } from "./declarations.ts";
import { splitName } from "./declarations.ts";
import {
  bareAdjectives,
  finalPrepositions,
  gerundNouns,
  initialPrepositions,
  isPastParticiple,
  isPresentParticiple,
  phrasalVerbs,
} from "./grammar.ts";
import type { Hit, RuleName } from "./hit.ts";
import type { SourceContent } from "./source-content.ts";

/** Collects the violations among the names that one file declares. */
export function collectNameHits(path: string, names: readonly DeclaredName[]): Hit[] {
  const hits: Hit[] = [];
  const add = ({ name, line }: DeclaredName, rule: RuleName, instead: string): void => {
    hits.push({ rule, path, line, found: name, instead });
  };
  for (const declared of names) {
    const { name, role } = declared;
    if (name.includes("_")) continue;
    if (role === "type" && isBareModifier(name)) {
      add(declared, "type name: participle or adjective", "a noun that names the content");
    }
    if (role !== "function" || isExemptFunction(name, path)) continue;
    const parts = splitName(name).split(" ");
    if (parts[0] === "get") add(declared, "function name: get", "find, load, compute, list");
    if (hasOuterParticiple(parts))
      add(declared, "function name: participle", "a verb and its object");
    if (hasOuterPreposition(parts))
      add(declared, "function name: preposition", "a verb and its object");
  }
  return hits;
}

function isBareModifier(name: string): boolean {
  const lower = splitName(name);
  if (lower.includes(" ") || lower.length < 3) return false;
  if (bareAdjectives.has(lower) || isPastParticiple(lower)) return true;
  return isPresentParticiple(lower) && !gerundNouns.has(lower);
}

/** Components, hooks, handlers, and builders named after their product. */
const isExemptFunction = (name: string, path: string): boolean =>
  /^[A-Z]/.test(name) || /^(use|on)[A-Z]/.test(name) || builderFiles.test(path);

const builderFiles =
  /^src\/(core\/asn1\/der|core\/x509\/[^/]*extensions|core\/shape|config\/fields)\.ts$/;

function hasOuterParticiple(parts: readonly string[]): boolean {
  const [first = ""] = parts;
  if (isPastParticiple(first) || isPresentParticiple(first)) return true;
  return parts.length > 1 && !predicates.has(first) && isPastParticiple(parts.at(-1) ?? "");
}

/** Predicates may end in the property that they check. */
const predicates: ReadonlySet<string> = new Set([
  "is",
  "are",
  "has",
  "have",
  "was",
  "can",
  "should",
  "needs",
  "allows",
  "supports",
  "matches",
  "includes",
  "equals",
]);

function hasOuterPreposition(parts: readonly string[]): boolean {
  const last = parts.at(-1) ?? "";
  if (initialPrepositions.has(parts[0] ?? "")) return true;
  return finalPrepositions.has(last) && !phrasalVerbs.has(`${parts.at(-2) ?? ""}-${last}`);
}

/** Collects every declaration of a type name that is exported more than once. */
export function collectDuplicateTypes(files: readonly SourceContent[]): Hit[] {
  return ["src", "web"].flatMap((tree) => {
    const exported = files
      .filter(({ path }) => path.startsWith(`${tree}/`))
      .flatMap(({ path, names }) =>
        names
          .filter(({ role, isExported }) => role === "type" && isExported)
          .map(({ name, line }) => ({ name, line, path })),
      );
    const groups = [...Map.groupBy(exported, ({ name }) => name).values()];
    return groups.filter(isInSeveralFiles).flatMap((group) =>
      group.map(({ name, line, path }): Hit => {
        const others = group.filter((other) => other.path !== path).map((other) => other.path);
        const rule: RuleName = "type name: exported twice";
        return { rule, path, line, found: name, instead: `another noun; also in ${others[0]}` };
      }),
    );
  });
}

/** An interface and a class of one file may merge into one type. */
const isInSeveralFiles = (group: readonly { readonly path: string }[]): boolean =>
  new Set(group.map(({ path }) => path)).size > 1;
