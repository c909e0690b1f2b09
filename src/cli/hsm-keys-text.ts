/** What people are told of keys that an archive only refers to. */

import type { HsmToken } from "#core/backup/archive.ts";

import type { HsmKeysReport } from "./command.ts";

/** Where the keys were, as a sentence; empty for an archive of a release that did not tell. */
export function tokensText(tokens: readonly HsmToken[]): string {
  if (tokens.length === 0) return "";
  const named = tokens.map(tokenText).join(" and ");
  return `The keys were on the token ${named}; bring them back by the procedure of its vendor.`;
}

/** What the token here lacks, with where it was; else empty. */
export function missingText({ tokens, here, missing }: HsmKeysReport): string {
  if (missing.length === 0) return "";
  return `The token here${serialText(here)} lacks ${missing.join(", ")}. ${tokensText(tokens)}`.trim();
}

/** That the keys are on another token than before; else empty. */
export function otherTokenText({ tokens, here, missing }: HsmKeysReport): string {
  const isKnown = tokens.length === 0 || tokens.some(({ serial }) => serial === here);
  if (isKnown || missing.length > 0) return "";
  return `The token here${serialText(here)} is another one than before, and has the same keys.`;
}

const serialText = (serial: string): string => (serial === "" ? "" : ` (serial ${serial})`);

function tokenText({ label, manufacturer, model, serial }: HsmToken): string {
  const made = [manufacturer, model].filter((part) => part !== undefined).join(" ");
  const about = [made, `serial ${serial}`].filter((part) => part !== "").join(", ");
  return label === undefined ? `(${about})` : `"${label}" (${about})`;
}
