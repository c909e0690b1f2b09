/** Where another tenant's things are shown: the same page, with what means something there too. */

import { type Address, hrefOf, hrefWith } from "#web/address.ts";

/** The address to change to; undefined shows all tenants, and everything keeps its place. */
export function tenantHref(address: Address, tenant: string | undefined): string {
  if (tenant === undefined) return hrefWith(address, { tenant });
  const kept = Object.entries(address.query).filter(([name]) => !ofOneTenant.has(name));
  return hrefOf(partOf(address.path), { ...Object.fromEntries(kept), tenant });
}

/** The page and its part, without the thing that is open in it. */
function partOf(path: Address["path"]): Address["path"] {
  const [page = "", part = ""] = path;
  if (page === "manual") return path;
  return path.slice(0, withParts.has(page) || (page === "issue" && part === "many") ? 2 : 1);
}

/** What names a thing, which the other tenant has not, or stands over one. */
const ofOneTenant: ReadonlySet<string> = new Set([
  "account",
  "ca",
  "cursor",
  "dialog",
  "earlier",
  "op",
  "operation",
  "page",
  "panel",
  "panel_cursor",
  "panel_earlier",
  "panel_page",
  "resource",
  "serial",
  "source",
  "tab",
]);

/** Their second segment is a part of the page; elsewhere it names a thing. */
const withParts: ReadonlySet<string> = new Set(["enrolment", "operations", "people"]);
