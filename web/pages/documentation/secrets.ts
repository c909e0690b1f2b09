/** Secrets in an answer, which nobody beside the person at the screen should read off it. */

export interface AnsweredSecret {
  readonly member: string;
  readonly value: string;
}

/** Those of an answer in JSON, at its top: only there one is answered. */
export function secretsIn(text: string): readonly AnsweredSecret[] {
  const answer = objectIn(text);
  return secretMembers.flatMap((member) => {
    const value = answer[member];
    return typeof value === "string" && value !== "" ? [{ member, value }] : [];
  });
}

/** The same text with dots for each of them, as many for a long one as for a short one. */
export const hidden = (text: string, secrets: readonly AnsweredSecret[]): string =>
  secrets.reduce(
    (left, { value }) => left.replaceAll(JSON.stringify(value), `"${"•".repeat(12)}"`),
    text,
  );

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const told: unknown = JSON.parse(text);
    // Read member by member, each looked at before it is believed.
    return typeof told === "object" && told !== null ? (told as Record<string, unknown>) : {};
  } catch {
    return {}; // What is no JSON, or was cut off, has no members.
  }
}

/** Of an API token, and of a credential for ACME. */
const secretMembers = ["secret", "hmac_key"] as const;
