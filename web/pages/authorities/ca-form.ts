/** What is typed about a new CA, and the members it is asked for with. */

import type { Json } from "#core/shape.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { countOf, filled, filledObject, linesOf } from "./members.ts";

/** The attributes of a subject, in the order they are asked for. */
export const attributes = [
  ["cn", "Common name"],
  ["o", "Organisation"],
  ["ou", "Unit"],
  ["c", "Country"],
  ["st", "State"],
  ["l", "Place"],
] as const;
export type AttributeName = (typeof attributes)[number][0];
export type TypedSubject = Readonly<Record<AttributeName, string>>;

/** Kinds of names that can be constrained. */
export const subtreeKinds = [
  ["dns", "DNS domains", "example.com"],
  ["ip", "Address ranges", "10.0.0.0/8"],
  ["email", "E-mail domains or mailboxes", "example.com"],
  ["uri", "URI hosts", ".example.com"],
  ["dir_names", "Directory names", "C=DE, O=Example"],
] as const;
export type SubtreeKind = (typeof subtreeKinds)[number][0];
export type TypedSubtrees = Readonly<Record<SubtreeKind, string>>;

export interface TypedCa extends TypedSubject {
  readonly label: string;
  readonly tenant: string;
  readonly algorithm: "classical" | "pqc" | "hybrid";
  readonly keyType: KeyType;
  readonly alternative: KeyType;
  readonly validityDays: string;
  readonly pathLength: string;
  readonly permitted: TypedSubtrees;
  readonly excluded: TypedSubtrees;
  readonly constraintsCritical: boolean;
  readonly policies: string;
  readonly cps: string;
  readonly policiesCritical: boolean;
  readonly mappings: string;
  readonly requireExplicitPolicy: string;
  readonly inhibitPolicyMapping: string;
  readonly purposes: string;
}

export const noSubject: TypedSubject = { cn: "", o: "", ou: "", c: "", st: "", l: "" };

const noSubtrees: TypedSubtrees = { dns: "", ip: "", email: "", uri: "", dir_names: "" };

/** Nothing typed yet. */
export const emptyCa: TypedCa = {
  ...noSubject,
  label: "",
  tenant: "",
  algorithm: "classical",
  keyType: "ecdsa-p384",
  alternative: "ml-dsa-65",
  validityDays: "",
  pathLength: "",
  permitted: noSubtrees,
  excluded: noSubtrees,
  constraintsCritical: true,
  policies: "",
  cps: "",
  policiesCritical: false,
  mappings: "",
  requireExplicitPolicy: "",
  inhibitPolicyMapping: "",
  purposes: "",
};

/** The subject as a member: an object even where nothing is typed, so that a name is asked for. */
export const subjectMember = (typed: TypedSubject): Json =>
  filled(Object.fromEntries(attributes.map(([name]) => [name, typed[name].trim()])));

/** Everything `ca.init_root` and `ca.issue_intermediate` have in common. */
export function caMembers(typed: TypedCa): Readonly<Record<string, Json>> {
  const members = filled({
    label: typed.label.trim(),
    key_type: typed.keyType,
    algorithm: typed.algorithm,
    alt_key_type: typed.algorithm === "hybrid" ? typed.alternative : undefined,
    validity_days: countOf(typed.validityDays),
    max_path_len: countOf(typed.pathLength),
    name_constraints: constraintsMember(typed),
    policies: policiesMember(typed),
  });
  return { ...members, subject: subjectMember(typed) };
}

function constraintsMember(typed: TypedCa): Json | undefined {
  const permitted = subtreesMember(typed.permitted);
  const excluded = subtreesMember(typed.excluded);
  if (permitted === undefined && excluded === undefined) return undefined;
  return { ...filled({ permitted, excluded }), critical: typed.constraintsCritical };
}

function subtreesMember(typed: TypedSubtrees): Json | undefined {
  const { dir_names, ...texts } = typed;
  const lists = Object.entries(texts).map(([kind, text]) => [kind, linesOf(text)] as const);
  return filledObject({
    ...Object.fromEntries(lists),
    dir_names: linesOf(dir_names).map(directoryName),
  });
}

/** `C=DE, O=Example`; a comma within a value stands behind a backslash. */
function directoryName(line: string): Json {
  const parts = line.split(/(?<!\\),/).map((part) => part.replaceAll("\\,", ",").trim());
  return Object.fromEntries(
    parts.map((part) => {
      const at = part.indexOf("=");
      const name = at < 0 ? part : part.slice(0, at);
      return [name.trim().toLowerCase(), at < 0 ? "" : part.slice(at + 1).trim()];
    }),
  );
}

function policiesMember(typed: TypedCa): Json | undefined {
  const given = filledObject({
    oids: linesOf(typed.policies),
    cps: typed.cps.trim(),
    mappings: linesOf(typed.mappings),
    require_explicit_policy: countOf(typed.requireExplicitPolicy),
    inhibit_policy_mapping: countOf(typed.inhibitPolicyMapping),
  });
  if (given === undefined) return undefined;
  // What is in it is an object of members.
  return { ...(given as Readonly<Record<string, Json>>), critical: typed.policiesCritical };
}
