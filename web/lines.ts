/** The command line that shows what a page shows, tab by tab, with its filters. */

import type { Address } from "./address.ts";
import { word } from "#web/pages/certificates/line.ts";
import { eventMembers } from "#web/pages/events/members.ts";

/** One CA, and of it what its tab shows, or all. */
export function authoritiesLine({ path: [, id], query }: Address): string {
  if (id === undefined) return "pkid ca list";
  if (query.tab === "certificate") return `pkid ca chain ${word(id)}`;
  if (query.tab === "crl") return `pkid crl status --ca ${word(id)}`;
  if (query.tab === "cross") return `pkid ca cross-signs ${word(id)}`;
  if (query.tab === "rollover") return `pkid ca rotation ${word(id)}`;
  return `pkid ca show ${word(id)}`;
}

/** What was issued or waits; how to issue where nothing has been yet. */
export function issueLine({ path: [, part, first, second] }: Address): string {
  if (part === "request" && first !== undefined) return `pkid approvals show ${word(first)}`;
  if (part !== "result" || first === undefined || second === undefined) {
    return part === "many" ? "pkid cert issue-bulk --help" : "pkid cert issue --help";
  }
  return `pkid cert show ${word(second)} --ca ${word(first)}`;
}

/** Looks what a selection is, and revokes nothing. */
export function revokeLine({ query }: Address): string {
  const { ca, public_key_sha256: key, include_expired, all, ...others } = query;
  if (ca === undefined || ca === "") return "pkid revoke bulk --help";
  const { profile, pattern, reason, issued_after: after, issued_before: before } = others;
  const said = {
    ca,
    profile,
    pattern,
    "issued-after": after,
    "issued-before": before,
    "by-public-key": key,
    reason,
  };
  const line = withFlags("pkid revoke bulk --dry-run", said, Object.keys(said));
  const flags = [
    ...(include_expired === "true" ? [" --include-expired"] : []),
    ...(all === "true" ? [" --all"] : []),
  ];
  return line + flags.join("");
}

/** The open request, or the list. */
export function approvalsLine({ path: [, id], query }: Address): string {
  if (id !== undefined) return `pkid approvals show ${word(id)}`;
  const list = "pkid approvals list";
  if (query.decidable !== "true") return withFlags(list, query, ["status", "class", "tenant"]);
  return withFlags(`${list} --decidable`, query, ["class", "tenant"]);
}

/** The filters the command has; it cannot be told of a result or a request. */
export function eventsLine({ query }: Address): string {
  const { from: since, to: until, ...members } = eventMembers(query);
  const names = ["action", "actor", "ca", "serial", "tenant", "since", "until"] as const;
  return withFlags("pkid audit list", { ...members, since, until }, names);
}

/** Directories stand in the configuration alone. */
export function enrolmentLine({ path: [, part, id], query }: Address): string {
  if (part === "credentials") return withFlags("pkid acme eab list", query, ["status"]);
  if (part === "accounts") return withFlags("pkid acme accounts", query, ["status"]);
  if (part === "orders") return withFlags("pkid acme orders", query, ["status", "account"]);
  if (part !== "replacements") return "pkid config show";
  if (id !== undefined) return `pkid acme replacement show ${word(id)}`;
  return "pkid acme replacements";
}

/** Passkeys of people are listed to themselves alone; the command resets them. */
export function peopleLine({ path: [, part, id], query }: Address): string {
  const { ca } = query;
  if (part === "grants") return `pkid grant list --resource ${ca ? word(ca) : "issuing"}`;
  if (part === "tenants") return id ? `pkid tenant show ${word(id)}` : "pkid tenant list";
  if (part === "sessions") return "pkid sessions list";
  if (part === "passkeys") return "pkid passkeys --help";
  return withFlags("pkid token list", query, ["tenant"]);
}

/** Preflight where no other command tells of it. */
export const operationsLine = ({ path: [, part] }: Address): string =>
  operationsLines.get(part ?? "") ?? "pkid preflight";

const operationsLines: ReadonlyMap<string, string> = new Map([
  ["keys", "pkid keys inventory"],
  ["ledger", "pkid hsm entries"],
  ["publication", "pkid preflight --only crl.freshness"],
  ["backup", "pkid backup status"],
  ["jobs", "pkid preflight --only leader.presence"],
  ["settings", "pkid config show --origin --json"],
  ["blocked", "pkid keys block list"],
]);

/** A chapter, or which there are. */
export const manualLine = ({ path: [, part, name] }: Address): string =>
  part === "chapters" && name !== undefined ? `pkid manual ${word(name)}` : "pkid manual";

/** The members that are set, as flags of the same names. */
function withFlags(
  command: string,
  query: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): string {
  const flags = names.flatMap((name) => {
    const value = query[name];
    return value === undefined || value === "" ? [] : [`--${name} ${word(value)}`];
  });
  return [command, ...flags].join(" ");
}
