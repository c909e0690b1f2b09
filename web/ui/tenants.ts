/** Tenants to choose from: those that a text finds, and the one that nobody needs to choose. */

import { type Tenant, useConsole } from "#web/console.ts";
import { useAsked } from "./asked.tsx";
import { useSettled } from "./settled.ts";

/** Whether an address or a member means it. */
export const isTenant =
  (named: string) =>
  ({ id, slug }: Tenant): boolean =>
    id === named || slug === named;

/** The tenant of the address, else the only one there is; undefined where one must be chosen. */
export function useOnlyTenant(): Tenant | undefined {
  const { tenants, moreTenants, address } = useConsole();
  const only = tenants.length === 1 && !moreTenants ? tenants[0] : undefined;
  return tenants.find(isTenant(address.query.tenant ?? "")) ?? only;
}

export interface FoundTenants {
  readonly found: readonly Tenant[];
  /** How many there are; where the server has not answered yet, of those that are known here. */
  readonly total: number;
}

/** Those whose slug or name has the text in it; the server is asked where not all are known. */
export function useFoundTenants(sought: string): FoundTenants {
  const { tenants, moreTenants } = useConsole();
  const q = useSettled(sought).trim();
  const members = moreTenants && q !== "" ? { q, limit: tenantsMax } : undefined;
  const { reply } = useAsked("tenant.list", members, ["tenant.*"]);
  const answer = members !== undefined && reply?.kind === "answered" ? reply.answer : undefined;
  // The last answer stays while the next one is waited for.
  const found = (answer?.items ?? tenants).filter(fits(sought));
  return { found, total: Math.max(found.length, answer?.total ?? 0) };
}

function fits(sought: string): (tenant: Tenant) => boolean {
  const text = sought.trim().toLowerCase();
  return ({ slug, name }) => [slug, name].some((one) => one.toLowerCase().includes(text));
}

/** One page of the interface. */
export const tenantsMax = 500;
/** With more than these a list is looked through by a search. */
export const tenantsSeen = 8;
