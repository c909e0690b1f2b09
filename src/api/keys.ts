/** The key store in JSON. */

import { encodePem } from "#core/asn1/pem.ts";
import { flag, otherwise, text } from "#core/shape.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import { type Handler, handler, ok } from "#domain/access/call.ts";
import type { Page, PageKey } from "#domain/page.ts";
import { factoryReset } from "#domain/instance/factory-reset.ts";
import { type InventoriedKey, keyInventory } from "#domain/authorities/key-inventory.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";

import { pageFields, pageOf } from "./pages.ts";

export interface KeyHandlerDeps {
  readonly clock: Clock;
  readonly store: Store;
  readonly keys: Keys;
  /** Which provider holds the keys of each role. */
  readonly roles: { readonly ca: ProviderName; readonly responder: ProviderName };
  /** Most operations on the device at once, and how many are under way and waiting. */
  readonly pool: () => { readonly size: number; readonly inUse: number; readonly waiting: number };
}

/** Handlers for `hsm.info`, `hsm.factory_reset` and `inventory.keys`. */
export function keyHandlers(deps: KeyHandlerDeps) {
  return {
    "hsm.info": handler({
      summary: "What the key provider says about itself, also while it is unavailable.",
      run: async () => {
        const facts = await deps.keys.facts();
        const main = facts.find((one) => one.provider === deps.roles.ca);
        const head = await deps.store.read.audit.ledgerHead();
        const pool = deps.pool();
        const ledgerId = await deps.store.read.instance.value("ledger_id");
        return ok({
          available: main?.available ?? false,
          provider: deps.roles.ca,
          roles: deps.roles,
          ...(main?.manufacturer === undefined ? {} : { manufacturer: main.manufacturer }),
          ...(main?.model === undefined ? {} : { part_number: main.model }),
          ...(main === undefined ? {} : { serial: main.deviceSerial }),
          key_types: main?.keyTypes ?? [],
          pool: { size: pool.size, in_use: pool.inUse, waiting: pool.waiting },
          ledger: { ledger_id: ledgerId ?? "", last_number: head.seq },
          ...(main?.error === undefined ? {} : { error: main.error }),
        });
      },
    }),
    "hsm.factory_reset": handler({
      summary: "Destroy every key of this instance on the token, for good.",
      body: {
        confirm: text({ min: 1, max: 128 }),
        destroy_ca_keys: otherwise(flag(), false),
        destroy_retired_keks: otherwise(flag(), false),
      },
      run: async ({ origin, body }) => {
        const request = {
          confirm: body.confirm,
          destroyCaKeys: body.destroy_ca_keys,
          destroyRetiredKeks: body.destroy_retired_keks,
        };
        await factoryReset({ ...deps, provider: deps.roles.ca }, origin, request);
        return ok({ status: "reset" });
      },
    }),
    "inventory.keys": handler({
      summary: "Every key of the key providers, whose it is, and whether it could leave.",
      query: pageFields,
      run: async (call) => {
        const all = await keyInventory(deps, Object.values(deps.roles));
        const page = await pageOf("inventory.keys", call, {}, keyJson, async (limit, after) =>
          pageIn(all, limit, after),
        );
        return ok({
          ...page,
          provider: deps.roles.ca,
          extractable_count: all.filter(leaves).length,
          unbound_count: all.filter(({ bound }) => !bound).length,
        });
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

/** A key that could leave, or whose value the provider would show. */
const leaves = ({ extractable, sensitive }: InventoriedKey): boolean => extractable || !sensitive;

const keyJson = ({
  label,
  keyType,
  provider,
  role,
  extractable,
  sensitive,
  ca,
  spki,
}: InventoriedKey) => ({
  label,
  key_type: keyType,
  provider,
  role,
  extractable,
  sensitive,
  ...(ca === undefined ? {} : { ca_id: ca.id, ca_label: ca.label }),
  ...(spki === undefined
    ? {}
    : { public_key: encodePem("PUBLIC KEY", spki), public_key_fingerprint: fingerprint(spki) }),
});

/** The place in a sorted list stands for its row; keys come and go rarely. */
function pageIn(
  all: readonly InventoriedKey[],
  limit: number,
  after: PageKey | undefined,
): Page<InventoriedKey> {
  const from = after?.at ?? 0;
  const end = from + limit;
  const next = end < all.length ? { at: end, id: "" } : undefined;
  return { items: all.slice(from, end), next, total: all.length };
}
