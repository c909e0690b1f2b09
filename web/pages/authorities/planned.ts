/**
 * The certificate that a form would lead to, field by field, computed in the page: what only the
 * server settles (serial, key, exact second) is said in words.
 */

import { defaultSignature, type KeyType } from "#core/x509/algorithms.ts";
import { encodeName, nameText } from "#core/x509/names.ts";
import type { Ca } from "./ca.ts";
import { subtreeKinds, type TypedCa, type TypedSubtrees } from "./ca-form.ts";
import { linesOf } from "./members.ts";

export interface PlannedField {
  readonly name: string;
  readonly value: string;
  /** Of an extension only. */
  readonly critical?: boolean;
}

/** For a root when there is no parent. */
export function plannedFields(
  typed: TypedCa,
  parent: Ca | undefined,
  now: number,
): readonly PlannedField[] {
  const subject = subjectText(typed);
  const second = typed.algorithm === "hybrid" ? `, beside it ${typed.alternative}` : "";
  return [
    { name: "Version, serial", value: "3, 16 random octets drawn by the server" },
    { name: "Issuer", value: parent?.subject ?? (subject || none) },
    { name: "Subject", value: subject || none },
    { name: "Valid from", value: "the minute it is signed, a little before" },
    { name: "Valid until", value: untilWords(typed, parent, now) },
    { name: "Key", value: `${typed.keyType}${second}` },
    { name: "Signed with", value: signatureWords(typed, parent) },
    ...plannedExtensions(typed, parent),
  ];
}

function plannedExtensions(typed: TypedCa, parent: Ca | undefined): readonly PlannedField[] {
  const purposes = parent === undefined ? [] : linesOf(typed.purposes);
  const policies = linesOf(typed.policies);
  const constraints = [
    ...subtreeWords("only", typed.permitted),
    ...subtreeWords("never", typed.excluded),
  ];
  const limits = [
    ...(typed.requireExplicitPolicy
      ? [`policies required after ${typed.requireExplicitPolicy}`]
      : []),
    ...(typed.inhibitPolicyMapping ? [`no mapping after ${typed.inhibitPolicyMapping}`] : []),
  ];
  const optional: readonly (readonly [string, readonly string[], boolean])[] = [
    ["Extended key usage", purposes, false],
    ["Name constraints", constraints, typed.constraintsCritical],
    ["Policies", [...policies, ...(typed.cps ? [typed.cps] : [])], typed.policiesCritical],
    ["Policy mappings", linesOf(typed.mappings), false],
    ["Policy constraints", limits, true],
  ];
  return [
    { name: "Basic constraints", value: pathWords(typed, parent), critical: true },
    { name: "Key usage", value: "digitalSignature, keyCertSign, cRLSign", critical: true },
    ...optional
      .filter(([, values]) => values.length > 0)
      .map(([name, values, critical]) => ({ name, value: values.join(", "), critical })),
    { name: "Subject key identifier", value: "a digest of the new key", critical: false },
    ...(parent === undefined
      ? []
      : [
          {
            name: "Authority key identifier",
            value: `the key of ${parent.label}`,
            critical: false,
          },
          {
            name: "Addresses",
            value: "of the issuer's certificate, OCSP and CRL, where this instance has them",
            critical: false,
          },
        ]),
  ];
}

/** RFC 4514, as the record will show it. */
function subjectText(typed: TypedCa): string {
  const given = attributesInOrder
    .map((name) => ({ type: name.toUpperCase(), value: typed[name].trim() }))
    .filter(({ value }) => value !== "");
  return given.length === 0 ? "" : nameText(encodeName(given));
}

function untilWords({ validityDays }: TypedCa, parent: Ca | undefined, now: number): string {
  const days = /^\d{1,5}$/.test(validityDays.trim()) ? Number(validityDays) : undefined;
  const usual = parent === undefined ? rootDays : intermediateDays;
  const end = now + (days ?? usual) * 86_400_000;
  const limit =
    parent?.not_after === undefined ? Number.POSITIVE_INFINITY : Date.parse(parent.not_after);
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  if (days === undefined && end > limit) return `${day(limit)}, where ${parent?.label} ends`;
  const span = `${day(end)}, ${days ?? usual} days`;
  return end > limit ? `${span}: beyond ${parent?.label}, which ends ${day(limit)}` : span;
}

function signatureWords(typed: TypedCa, parent: Ca | undefined): string {
  const key: KeyType = parent?.key_type ?? typed.keyType;
  const own = typed.algorithm === "hybrid" ? typed.alternative : undefined;
  const second = parent === undefined ? own : parent.alt_key_type;
  const by = parent === undefined ? "by itself" : `by ${parent.label}`;
  return `${defaultSignature(key)}${second === undefined ? "" : ` and ${second}`}, ${by}`;
}

/** RFC 5280 §4.2.1.9: below its issuer's, which it inherits when none is named. */
function pathWords({ pathLength }: TypedCa, parent: Ca | undefined): string {
  const most = parent?.max_path_len === undefined ? undefined : parent.max_path_len - 1;
  const wanted = /^\d{1,2}$/.test(pathLength.trim()) ? Number(pathLength) : most;
  if (wanted === undefined) return "a CA, any number of CAs below it";
  if (most !== undefined && (most < 0 || wanted > most)) {
    return `a CA, path length ${Math.max(wanted, 0)}: more than ${parent?.label} leaves`;
  }
  return wanted === 0 ? "a CA, none below it" : `a CA, ${wanted} below it at most`;
}

const subtreeWords = (kind: string, subtrees: TypedSubtrees): readonly string[] =>
  subtreeKinds.flatMap(([name]) =>
    linesOf(subtrees[name]).map((line) => `${kind} ${name} ${line}`),
  );

const none = "not named yet";
/** Most general first, as in what is signed. */
const attributesInOrder = ["c", "st", "l", "o", "ou", "cn"] as const;
const rootDays = 3650;
const intermediateDays = 1825;
