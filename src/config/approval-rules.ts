/** Startup validation of approvals: V-23. */

import { approvalClasses, thresholdOf } from "#core/approvals/classes.ts";

import type { Fault } from "./faults.ts";
import type { ApprovalsSetting } from "#config/sections/approvals.ts";

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
  const needs = approvalClasses.map((name) => ({ name, needed: thresholdOf(block, name) }));
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
