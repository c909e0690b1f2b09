/** Tenants to choose from: those that a text finds, and the one that nobody needs to choose. */

import { type Tenant, useConsole } from "#web/console.ts";
import { useAnsweredQuestion } from "./answered-question.ts";
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
  /** False while the answer to this very text has not come. */
  readonly settled: boolean;
  /** Why there is none. */
  readonly fault: string | undefined;
}

/**
 * Those whose slug or name has the text in it; the server is asked where not all are known. Where
 * `exactly`, also for the one whose slug it is, if that is not on the page of those.
 */
export function useFoundTenants(sought: string, exactly = false): FoundTenants {
  const { tenants, moreTenants } = useConsole();
  const text = sought.trim();
  const q = useSettled(sought).trim();
  const isAsked = moreTenants && text !== "";
  const members = isAsked && q !== "" ? { q, limit: tenantsMax } : undefined;
  const { reply } = useAsked("tenant.list", members, ["tenant.*"]);
  const isOfText = useAnsweredQuestion(reply, q) === text && q === text && reply !== undefined;
  const answer = members !== undefined && reply?.kind === "answered" ? reply.answer : undefined;
  // The last answer stays while the next one is waited for.
  const listed = isOfText && answer !== undefined ? answer.items : undefined;
  const found = listed ?? (answer?.items ?? tenants).filter(fits(sought));
  const isHidden = exactly && isOfText && answer?.has_more === true && !found.some(isSlug(text));
  const { exact, isKnown } = useTenantOf(isHidden ? text.toLowerCase() : undefined);
  return {
    found: exact === undefined ? found : [exact, ...found],
    total: Math.max(found.length, isOfText ? (answer?.total ?? 0) : 0),
    settled: !isAsked || (isOfText && isKnown),
    fault: isAsked && isOfText && reply.kind === "refused" ? reply.refusal.sentence : undefined,
  };
}

/** The one of a slug, if there is one; whether that is known. */
function useTenantOf(slug: string | undefined) {
  const { reply } = useAsked("tenant.show", slug === undefined ? undefined : { id: slug });
  const isOfSlug = useAnsweredQuestion(reply, slug ?? "") === slug && reply !== undefined;
  const isFound = isOfSlug && reply.kind === "answered" && isSlug(slug)(reply.answer);
  return {
    exact: isFound ? reply.answer : undefined,
    isKnown: slug === undefined || isOfSlug,
  };
}

/** Slugs have lower case alone. */
export const isSlug =
  (text: string) =>
  ({ slug }: Tenant): boolean =>
    slug === text.trim().toLowerCase();

function fits(sought: string): (tenant: Tenant) => boolean {
  const text = sought.trim().toLowerCase();
  return ({ slug, name }) => [slug, name].some((one) => one.toLowerCase().includes(text));
}

/** One page of the interface. */
export const tenantsMax = 500;
/** With more than these a list is looked through by a search. */
export const tenantsSeen = 8;
