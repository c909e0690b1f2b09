/** The command lines that show what a page of the console shows. */

import type { Address } from "./address.ts";

/** Of one authority, or of all. */
export const authoritiesLine = ({ path: [, id] }: Address): string =>
  id === undefined ? "pkid ca list" : `pkid ca show ${shellWord(id)}`;

/** Of one request for approval, or of those that are listed. */
export function approvalsLine({ path: [, id], query: { status } }: Address): string {
  if (id !== undefined) return `pkid approvals show ${shellWord(id)}`;
  return `pkid approvals list${status === undefined ? "" : ` --status ${shellWord(status)}`}`;
}

/** Of a part of people; grants are listed of one authority. */
export const peopleLine = ({ path: [, part], query: { ca } }: Address): string =>
  part === "grants" && ca !== undefined
    ? `pkid grant list --resource ${shellWord(ca)}`
    : lineOf(peopleLines, part);

export const enrolmentLine = ({ path: [, part] }: Address): string => lineOf(enrolmentLines, part);

export const operationsLine = ({ path: [, part] }: Address): string =>
  lineOf(operationsLines, part);

/** The first is that of the page, and of parts that the shell has no command for. */
const lineOf = (lines: readonly (readonly [string, string])[], part: string | undefined): string =>
  (lines.find(([segment]) => segment === part) ?? lines[0])?.[1] ?? "";

const enrolmentLines = [
  ["directories", "pkid config reference acme"],
  ["credentials", "pkid acme eab list"],
  ["accounts", "pkid acme accounts"],
  ["orders", "pkid acme orders"],
  ["replacements", "pkid acme replacements"],
] as const;

const peopleLines = [
  ["tokens", "pkid token list"],
  ["tenants", "pkid tenant list"],
  ["sessions", "pkid sessions list"],
] as const;

const operationsLines = [
  ["preflight", "pkid preflight"],
  ["keys", "pkid keys inventory"],
  ["blocked", "pkid keys block list"],
  ["ledger", "pkid hsm entries"],
  ["backup", "pkid backup status"],
  ["settings", "pkid config show"],
] as const;

/** One word of a shell, whatever a link has put into the address. */
export const shellWord = (text: string): string =>
  /^[\w.:/@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
