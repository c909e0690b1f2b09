/** What ends an attempt without proof: a problem of the subscriber's, on its way to the outcome. */

import type { ValidationProblem } from "#domain/acme/validators.ts";

/** Thrown within an attempt and caught where it ends. */
export class ValidationFault extends Error {
  override readonly name = "ValidationFault";
  readonly problem: ValidationProblem;

  /** `cause` is never shown. */
  constructor(type: ValidationProblem["type"], detail: string, cause?: unknown) {
    super(detail, { cause });
    this.problem = { type, detail };
  }
}

/** The time was up; `what` is what had not come about. */
export const timeUp = (what: string): ValidationFault =>
  new ValidationFault("connection", `The time for this attempt was over before ${what}.`);

/**
 * At most 64 printable ASCII characters of what was received, in quotes; everything else, quotes
 * and reversed solidus too, is a full stop, so that it can be shown and logged anywhere.
 */
export function excerpt(octets: Uint8Array): string {
  const text = Array.from(octets.subarray(0, excerptMax), (octet) =>
    octet >= 0x20 && octet < 0x7f && octet !== 0x22 && octet !== 0x5c
      ? String.fromCharCode(octet)
      : ".",
  ).join("");
  return `"${text}"${octets.length > excerptMax ? " and more" : ""}`;
}

const excerptMax = 64;
