/** The key store in JSON. */

import { encodePem } from "#core/asn1/pem.ts";
import { keyRoles } from "#core/audit/ledger.ts";
import {
  flag,
  many,
  oneOf,
  optional,
  otherwise,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { anyScope, thePlatform } from "#domain/access/targets.ts";
import type { Page, PageKey } from "#domain/page.ts";
import { factoryReset } from "#domain/instance/factory-reset.ts";
import { type InventoriedKey, keyInventory } from "#domain/authorities/key-inventory.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { listMembers, pageFields, pageOf } from "./pages.ts";
import {
  count,
  fingerprintText,
  keyTypeText,
  pemText,
  providerText,
  simpleChange,
} from "./shapes.ts";

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
    "hsm.info": hsmInfo(deps),
    "hsm.factory_reset": operation({
      summary: "Destroy every key of this instance on the token, for good.",
      target: thePlatform,
      input: {
        confirm: text({ min: 1, max: 128 }),
        destroy_ca_keys: otherwise(flag(), false),
        destroy_retired_keks: otherwise(flag(), false),
      },
      output: simpleChange("reset"),
      refuses: ["keys_in_use", "not_supported", "key_unavailable"],
      run: async ({ origin, input }) => {
        const request = {
          confirm: input.confirm,
          destroyCaKeys: input.destroy_ca_keys,
          destroyRetiredKeks: input.destroy_retired_keks,
        };
        await factoryReset({ ...deps, provider: deps.roles.ca }, origin, request);
        return { status: "reset" as const };
      },
    }),
    "inventory.keys": operation({
      summary: "Every key of the key providers, whose it is, and whether it could leave.",
      target: thePlatform,
      input: pageFields,
      output: inventoryShape,
      refuses: ["key_unavailable"],
      run: async (call) => {
        const all = await keyInventory(deps, Object.values(deps.roles));
        const page = await pageOf("inventory.keys", call, {}, keyJson, async (limit, after) =>
          pageIn(all, limit, after),
        );
        return {
          ...page,
          provider: deps.roles.ca,
          extractable_count: all.filter(leaves).length,
          unbound_count: all.filter(({ bound }) => !bound).length,
        };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function hsmInfo({ store, keys, roles, pool: poolNow }: KeyHandlerDeps) {
  return operation({
    summary: "What the key provider says about itself, also while it is unavailable.",
    target: anyScope,
    output: hsmShape,
    run: async () => {
      const facts = await keys.facts();
      const main = facts.find((one) => one.provider === roles.ca);
      const head = await store.read.audit.ledgerHead();
      const pool = poolNow();
      const ledgerId = await store.read.instance.value("ledger_id");
      return {
        available: main?.available ?? false,
        provider: roles.ca,
        roles,
        ...(main?.manufacturer === undefined ? {} : { manufacturer: main.manufacturer }),
        ...(main?.model === undefined ? {} : { part_number: main.model }),
        ...(main === undefined ? {} : { serial: main.deviceSerial }),
        key_types: main?.keyTypes ?? [],
        pool: { size: pool.size, in_use: pool.inUse, waiting: pool.waiting },
        ledger: { ledger_id: ledgerId ?? "", last_number: head.seq },
        ...(main?.error === undefined ? {} : { error: main.error }),
      };
    },
  });
}

const hsmShape = shape({
  available: flag(),
  provider: providerText,
  roles: shape({ ca: providerText, responder: providerText }),
  manufacturer: optional(words()),
  part_number: optional(words()),
  serial: optional(words()),
  key_types: many(keyTypeText),
  pool: shape({ size: count, in_use: count, waiting: count }),
  ledger: shape({ ledger_id: words(), last_number: count }),
  error: optional(words()),
});

/** A key that could leave, or whose value the provider would show. */
const leaves = ({ extractable, sensitive }: InventoriedKey): boolean => extractable || !sensitive;

const keyShape = shape({
  label: words(),
  key_type: words({ description: "As the provider calls it where it is none of pkid's." }),
  provider: providerText,
  role: oneOf(keyRoles),
  extractable: flag(),
  sensitive: flag(),
  ca_id: optional(words()),
  ca_label: optional(words()),
  public_key: optional(pemText),
  public_key_fingerprint: optional(fingerprintText),
});
const inventoryShape = shape({
  ...listMembers(keyShape),
  provider: providerText,
  extractable_count: count,
  unbound_count: count,
});

const keyJson = ({
  label,
  keyType,
  provider,
  role,
  extractable,
  sensitive,
  ca,
  spki,
}: InventoriedKey): ValueOf<typeof keyShape> => ({
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
