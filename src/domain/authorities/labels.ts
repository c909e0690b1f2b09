/** Labels of CAs: unique, and reserved where the configuration names a CA for a tenant. */

import { hasIn } from "#core/access/principal.ts";
import { defaultTenant, type TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import type { Origin } from "#domain/actor.ts";
import type { Store } from "#domain/store.ts";

/** Setting that names a CA by id or label. */
export interface CaSetting {
  /** Id or label, as the configuration has it. */
  readonly reference: string;
  /** Id or slug of the tenant the CA belongs to; undefined if the setting names no tenant. */
  readonly tenant: string | undefined;
  /** Path of the setting, such as `acme.ca_label`. */
  readonly setting: string;
}

/** Collaborators of `requireFreeLabel`. */
export interface LabelDeps {
  readonly store: Pick<Store, "read">;
  /** Settings of the current configuration that name a CA; undefined for none. */
  readonly caSettings?: (() => readonly CaSetting[]) | undefined;
}

/** Creation of a CA: its origin, tenant and label. */
export interface LabelRequest {
  readonly origin: Origin;
  readonly tenant: TenantId;
  readonly label: string;
}

/**
 * Refuses `already_exists` for a label that another CA has, or that the configuration names for
 * another tenant. A tenant that took it first would issue for the directory of the other one. A
 * setting without tenant reserves the label for the default tenant and for platform administrators.
 */
export async function requireFreeLabel(deps: LabelDeps, request: LabelRequest): Promise<void> {
  const { label } = request;
  if ((await deps.store.read.cas.byLabel(label)) !== undefined) {
    throw refuse("already_exists", { field: "label" });
  }
  const setting = await findReservation(deps, request);
  if (setting === undefined) return;
  const message = `The label "${label}" is reserved for another tenant by the configuration.`;
  throw refuse("already_exists", { field: "label" }, message);
}

/** Returns a setting that reserves the label for another tenant, or undefined. */
async function findReservation(
  { store, caSettings = () => [] }: LabelDeps,
  { origin, tenant, label }: LabelRequest,
): Promise<CaSetting | undefined> {
  const naming = caSettings().filter(({ reference }) => reference === label);
  const isPlatform = tenant === defaultTenant || hasIn(origin.principal, "ca:manage", undefined);
  for (const { tenant: owner } of naming) {
    const isOwner =
      owner === undefined ? isPlatform : (await store.read.tenants.named(owner))?.id === tenant;
    if (isOwner) return undefined;
  }
  return naming[0];
}
