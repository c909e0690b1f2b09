/** What counts as one account where failed logins are counted by account. */

/**
 * Names that a directory may take for one and the same count together: without case, marks, blanks
 * and what is invisible (RFC 4518 §2). For counting alone: who somebody is, is compared exactly,
 * and elsewhere.
 */
export const accountKey = (name: string): string =>
  name
    .normalize("NFKD")
    .replace(/[\p{M}\p{Z}\p{C}]/gu, "")
    .toUpperCase()
    .toLowerCase();
