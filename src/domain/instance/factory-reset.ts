/**
 * Empties the token of this instance's keys, for a device that is given away: nothing of it can be
 * undone.
 */

import { effectiveRoles } from "#core/access/principal.ts";
import { refuse } from "#core/problems.ts";
import type { Origin } from "#domain/actor.ts";
import { announceKey } from "#domain/signing/entries.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { announceKek } from "#domain/envelopes/keks.ts";
import type { KekVersion } from "#domain/envelopes/store.ts";
import { type InventoriedKey, keyInventory } from "#domain/authorities/key-inventory.ts";
import type { KeyRef, ProviderName } from "#domain/key-ref.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

export interface FactoryResetDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  /** The provider of the CA role, whose device is meant. */
  readonly provider: ProviderName;
}

export interface FactoryResetRequest {
  /** Serial of the device, so that the right one is meant. */
  readonly confirm: string;
  /** Also keys of CAs that still sign something. */
  readonly destroyCaKeys: boolean;
  /**
   * Also KEK versions that have retired: what was backed up before they were replaced opens nowhere
   * any more.
   */
  readonly destroyRetiredKeks: boolean;
}

/**
 * Destroys every key of this instance on the device; keys that are not this instance's stay. Run
 * again after a failure it goes on. Refuses `not_supported` where keys lie in files,
 * `key_unavailable`, `invalid_field` for another serial, and `keys_in_use` for a KEK that has not
 * retired, which values need that cannot be made again, for retired ones unless they are to go too,
 * and for keys of CAs likewise.
 */
export async function factoryReset(
  deps: FactoryResetDeps,
  origin: Origin,
  { confirm, destroyCaKeys, destroyRetiredKeks }: FactoryResetRequest,
): Promise<void> {
  const { store, keys, clock, provider } = deps;
  if (provider !== "pkcs11") throw refuse("not_supported");
  const facts = (await keys.facts()).find((one) => one.provider === provider);
  if (facts?.available !== true) throw refuse("key_unavailable", { retry_after: 2 });
  if (facts.deviceSerial !== confirm) {
    throw refuse("invalid_field", { field: "confirm", reason: "is not the serial of the device" });
  }
  const bound = (await keyInventory(deps, [provider])).filter(
    (key) => key.provider === provider && key.bound,
  );
  const versions = await store.read.envelopes.versions();
  const retiredAs = (key: InventoriedKey) =>
    versions.find((one) => one.status === "retired" && isSameKey(one.key, key));
  const sealing = bound.filter(({ role }) => role === "kek" || role === "ledger");
  const needed = sealing.filter((key) => retiredAs(key) === undefined);
  if (needed.length > 0) throw inUse(needed, sealsSecrets);
  if (sealing.length > 0 && !destroyRetiredKeks) throw inUse(sealing, hasRetired);
  if (!destroyCaKeys) {
    const used = await keysOfUsedCas(deps, bound);
    if (used.length > 0) throw inUse(used);
  }
  // On record before the first key goes: a crash leaves fewer keys, never a reset that nobody asked
  // for.
  const at = clock.now();
  await store.atomically((tx) => tx.audit.appendEvent(resetEvent(origin, confirm), at));
  for (const key of bound) {
    const kek = retiredAs(key);
    if (kek === undefined) await destroyed(deps, key);
    else await kekDestroyed(deps, kek);
  }
}

async function kekDestroyed({ store, keys, clock }: FactoryResetDeps, kek: KekVersion) {
  await keys.keks.destroy(kek.key);
  const at = clock.now();
  await store.atomically((tx) => announceKek(tx, kek, "destroy", at));
}

async function destroyed({ store, keys, clock }: FactoryResetDeps, key: InventoriedKey) {
  const { provider, label, id, role } = key;
  const handle: KeyHandle = await keys.find({ provider, label, id });
  await keys.destroy(handle.ref);
  const at = clock.now();
  await store.atomically((tx) => announceKey(tx, handle, role, "destroy", at));
}

/** A retired CA signs lists and answers until its own end (CRL-14). */
async function keysOfUsedCas(
  { store, clock }: FactoryResetDeps,
  bound: readonly InventoriedKey[],
): Promise<readonly InventoriedKey[]> {
  const now = clock.now();
  const over = ({ status, notAfter }: CaRecord) =>
    status === "retired" && notAfter !== undefined && notAfter <= now;
  const used: InventoriedKey[] = [];
  for (const key of bound) {
    const ca = key.ca && (await store.read.cas.byId(key.ca.id));
    if (ca !== undefined && !over(ca)) used.push(key);
  }
  return used;
}

const isSameKey = (a: KeyRef, b: KeyRef): boolean =>
  a.provider === b.provider && a.label === b.label && a.id === b.id;

const sealsSecrets =
  "The device holds the key that seals secrets; rotate first to one in files, without `secret.kek_label`.";
const hasRetired =
  "The device holds retired keys that backups from before a rotation need; they go with `destroy_retired_keks`.";

const inUse = (keys: readonly InventoriedKey[], sentence?: string) =>
  refuse("keys_in_use", { labels: keys.map(({ label }) => label) }, sentence);

function resetEvent({ principal, ip, requestId, approval }: Origin, serial: string) {
  return {
    action: "hsm.factory_reset",
    result: "success",
    actor: principal.subject,
    actorName: principal.name,
    actorRoles: effectiveRoles(principal, undefined),
    target: serial,
    ip,
    requestId,
    approval: approval?.id,
    detail: {},
  } as const;
}
