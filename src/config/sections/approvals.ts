/** Settings of approval by other people (four eyes). */

import { count, field, flag, listKind, map } from "#config/fields.ts";
import { type Fault, textual, whole } from "#config/kinds.ts";
import { derived, section, type Values } from "#config/section.ts";
import { type ApprovalSettings, approvalClasses, thresholdOf } from "#core/approvals/classes.ts";

/** More people than any key ceremony gathers. */
const peopleMax = 100;

const members = {
  enabled: flag("Let guarded operations wait until other people have approved them.", false),
  default_threshold: field(
    "Approvals besides the maker for classes that have no threshold of their own; 0 guards nothing.",
    whole(0, peopleMax),
    derived("1, or 0 when `approvals.thresholds` is given", (of) =>
      Object.keys(of("approvals.thresholds") ?? {}).length === 0 ? 1 : 0,
    ),
  ),
  thresholds: map(
    "Approvals by class: ca.create, ca.rotate, ca.retire, revocation.bulk, kek.rotate, token.create, cert.issue.",
    whole(0, peopleMax),
  ),
  operators: map(
    "By class the subjects, or verified e-mail addresses, whose approvals alone count.",
    listKind(textual("subject", "alice", { max: 256 })),
  ),
  request_ttl_hours: count("Hours a request waits before it expires.", 72, { min: 1, max: 8760 }),
} as const;

/** The keys under `approvals`. */
export const approvals = section("Approval by other people", members);
type ApprovalsSetting = Values<typeof members>;

/** The settings as the domain reads them. */
export const approvalSettings = (block: ApprovalsSetting): ApprovalSettings => ({
  ...{ enabled: block.enabled, defaultThreshold: block.default_threshold },
  ...{ thresholds: block.thresholds, operators: block.operators },
  requestTtlHours: block.request_ttl_hours,
});

/** V-23; an unknown class is refused in a disabled block too. */
export function approvalFaults(block: ApprovalsSetting): readonly Fault[] {
  const faults = (["thresholds", "operators"] as const).flatMap((key) =>
    Object.keys(block[key])
      .filter((name) => !approvalClasses.some((known) => known === name))
      .map((name) => ({
        path: `approvals.${key}.${name}`,
        sentence: `There is no such class; it must be one of ${approvalClasses.join(", ")}.`,
      })),
  );
  if (!block.enabled) return faults;
  const settings = approvalSettings(block);
  const needs = approvalClasses.map((name) => ({ name, needed: thresholdOf(settings, name) }));
  if (needs.every(({ needed }) => needed === 0)) {
    const sentence = "Guards no class; give a threshold above 0.";
    faults.push({ path: "approvals.enabled", sentence });
  }
  const tooFew = needs.filter(({ name, needed }) => {
    const listed = Object.hasOwn(block.operators, name) ? block.operators[name] : undefined;
    return listed !== undefined && new Set(listed).size < needed;
  });
  return [
    ...faults,
    ...tooFew.map(({ name, needed }) => ({
      path: `approvals.operators.${name}`,
      sentence: `Names fewer people than the ${needed} whose approval is needed.`,
    })),
  ];
}
