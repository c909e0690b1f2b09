/**
 * What the caller may do, as the table of operations and the roles say it: for showing it, never
 * for deciding it, which the server does.
 */

import { useEffect, useState } from "preact/hooks";
import { type Capability, gives, parseRole } from "#core/access/roles.ts";
import { type Operation, type OperationName, operations } from "#operations";
import { ask, replied } from "./api.ts";
import { type Console, useConsole } from "./console.ts";

export type Right =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: string };

/** Where something would be done: on a CA, or in a tenant; nowhere named means anywhere. */
export interface Where {
  readonly caId?: string | undefined;
  readonly tenantId?: string | undefined;
}

/** What roles alone allow. A grant on the CA may allow more: `useRight` asks for it. */
export function rightByRoles(
  { caller, tenants }: Pick<Console, "caller" | "tenants">,
  name: OperationName,
  { caId, tenantId }: Where = {},
): Right {
  const row: Operation = operations[name];
  const suspended = tenants.some(({ id, status }) => id === tenantId && status === "suspended");
  if (suspended && row.suspendable) return { allowed: false, reason: "The tenant is suspended." };
  const { needs } = row;
  if (needs === "pub" || needs === "any" || mayEverywhere(caller, needs)) return { allowed: true };
  const inTenants = Object.entries(caller.tenant_roles)
    .filter(([tenant]) => tenantId === undefined || isSame(tenants, tenant, tenantId))
    .flatMap(([, roles]) => roles);
  if (row.on !== "platform" && hasRole(inTenants, needs, "tenant")) return { allowed: true };
  return { allowed: false, reason: `Needs ${needs}${placeOf(row, caId, tenantId)}.` };
}

/** What roles for the whole platform allow. */
export const mayEverywhere = (caller: Console["caller"], needs: Capability): boolean =>
  caller.is_root || hasRole(caller.roles, needs, "platform");

/** What roles allow, or a grant on the CA that is named. */
export function useRight(name: OperationName, where: Where = {}): Right {
  const known = useConsole();
  const right = rightByRoles(known, name, where);
  const { needs }: Operation = operations[name];
  const granted = useGranted(right.allowed ? undefined : where.caId);
  if (right.allowed || right.reason === "The tenant is suspended.") return right;
  const grantGivesIt = needs !== "pub" && needs !== "any" && granted.includes(needs);
  return grantGivesIt ? { allowed: true } : right;
}

/** The capabilities that roles and grants give on this CA, asked for only where they are needed. */
function useGranted(caId: string | undefined): readonly string[] {
  const { credential } = useConsole();
  const [granted, setGranted] = useState<readonly string[]>([]);
  useEffect(() => {
    if (caId === undefined) return;
    const stop = new AbortController();
    const members = { resource: `ca/${caId}` };
    void replied(ask("grant.effective", members, credential, stop.signal)).then((reply) => {
      if (!stop.signal.aborted && reply.kind === "answered") {
        setGranted(reply.answer.capabilities);
      }
    });
    return () => stop.abort();
  }, [caId, credential]);
  return granted;
}

function hasRole(
  roles: readonly string[],
  needs: Capability,
  scope: "platform" | "tenant",
): boolean {
  return roles.some((word) => {
    const role = parseRole(word);
    return role !== undefined && gives(role, needs, scope);
  });
}

/** Roles name a tenant by its id or by its slug. */
const isSame = (tenants: Console["tenants"], named: string, id: string): boolean =>
  named === id || tenants.some((tenant) => tenant.id === id && tenant.slug === named);

function placeOf(row: Operation, caId: string | undefined, tenantId: string | undefined): string {
  if (row.on === "platform") return " on the whole platform";
  if (caId !== undefined) return " on this CA";
  return tenantId === undefined ? "" : " in this tenant";
}
