/** Secrets in an answer, which nobody beside the person at the screen should read off it. */

export interface AnsweredSecret {
  readonly member: string;
  readonly value: string;
}

export interface Veiled {
  /** The text with dots for each secret, as many for a long one as for a short one. */
  readonly text: string;
  /** Those that are there as a whole; in the order of their members. */
  readonly secrets: readonly AnsweredSecret[];
}

/**
 * Hides the secrets of an answer in JSON: they stand at its top, for only there one is answered. Of
 * what cannot be read, as it was cut or broke off, nobody knows what stands where: whatever follows
 * the name of a secret is hidden, also where its end is missing.
 */
export function veiled(text: string): Veiled {
  const answer = objectIn(text);
  if (answer === undefined) return { text: text.replace(named, `$1${dots}`), secrets: [] };
  const secrets = secretMembers.flatMap((member) => {
    const value = answer[member];
    return typeof value === "string" && value !== "" ? [{ member, value }] : [];
  });
  return { text: secrets.reduce(without, text), secrets };
}

const without = (text: string, { value }: AnsweredSecret): string =>
  text.replaceAll(JSON.stringify(value), `"${dots}"`);

/** Undefined for what is no JSON; without members where it is no object. */
function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const told: unknown = JSON.parse(text);
    // Read member by member, each looked at before it is believed.
    return typeof told === "object" && told !== null ? (told as Record<string, unknown>) : {};
  } catch {
    return undefined; // That is what is asked: what was cut off is no JSON.
  }
}

/** Of an API token, and of a credential for ACME. */
const secretMembers = ["secret", "hmac_key"] as const;
/** The name, and a value of which the end may be missing; every octet is looked at once. */
const named = new RegExp(`("(?:${secretMembers.join("|")})"\\s*:\\s*")(?:[^"\\\\]|\\\\[^])+`, "g");
const dots = "•".repeat(12);
