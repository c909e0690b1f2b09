/** Why somebody asks, as far as they have said so in what they ask for. */

import type { Answers } from "#api/answers.ts";

/** Undefined where they have not. */
export function whyOf({ details }: Pick<Answers["approval.show"], "details">): string | undefined {
  const { description, comment, reason, revoke } = details as Partial<Record<string, unknown>>;
  const said = [description, comment].find((one) => typeof one === "string" && one !== "");
  if (typeof said === "string") return said;
  const code = reason ?? revoke;
  return typeof code === "string" && code !== "" ? `reason ${code}` : undefined;
}
