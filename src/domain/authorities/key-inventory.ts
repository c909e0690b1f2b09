/** What keys the providers hold, which of them belong to a CA, and which could leave. */

import type { KeyRole } from "#core/audit/ledger.ts";
import type { PageKey } from "#domain/page.ts";
import type { CaRecord } from "./store.ts";
import { ledgerKey } from "#domain/signing/document.ts";
import type { KeyRef, ProviderName } from "#domain/key-ref.ts";
import type { Keys, ListedKey } from "#domain/keys.ts";
import type { Store } from "#domain/store.ts";

/** A key with its place in the instance. */
export interface InventoriedKey extends ListedKey {
  readonly role: KeyRole;
  /** True when something of the instance uses it: a CA, a responder, the ledger, sealed values. */
  readonly bound: boolean;
  /** The CA that signs with it, or whose responder does. */
  readonly ca: Pick<CaRecord, "id" | "label"> | undefined;
  /**
   * SubjectPublicKeyInfo, DER, of the ledger's own key: no certificate has it, and its signatures
   * are for outsiders to check.
   */
  readonly spki: Uint8Array | undefined;
}

export interface KeyInventoryDeps {
  readonly store: Store;
  readonly keys: Keys;
}

/** Every key of the providers, by provider, label and id. Refuses as `Keys.list` does. */
export async function keyInventory(
  { store, keys }: KeyInventoryDeps,
  providers: readonly ProviderName[],
): Promise<readonly InventoriedKey[]> {
  const owners = await keyOwners(store);
  const families = (await store.read.envelopes.versions()).map(({ family }) => family);
  const found: InventoriedKey[] = [];
  const inUse = [...owners.values()].map(({ provider }) => provider);
  for (const provider of new Set([...providers, ...inUse])) {
    for (const key of await keys.list(provider)) {
      const owner = owners.get(nameOf(key));
      const role = owner?.role ?? roleOf(key, families);
      const spki = owner?.role === "ledger" ? (await keys.find(key)).spki : undefined;
      found.push({ ...key, role, bound: owner !== undefined, ca: owner?.ca, spki });
    }
  }
  return found.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

interface Owner {
  readonly role: KeyRole;
  readonly provider: ProviderName;
  readonly ca?: CaRecord;
}

async function keyOwners(store: Store): Promise<ReadonlyMap<string, Owner>> {
  const owners = new Map<string, Owner>();
  const own = (key: KeyRef, role: KeyRole, ca?: CaRecord) =>
    owners.set(nameOf(key), { role, provider: key.provider, ...(ca === undefined ? {} : { ca }) });
  for (const ca of await everyCa(store)) {
    const responder = await store.read.revocations.responder(ca.id);
    if (responder !== undefined) {
      const { keyProvider: provider, keyLabel: label, keyId: id } = responder;
      own({ provider, label, id }, "responder", ca);
    }
    own(ca.key, "ca", ca);
    if (ca.alternative !== undefined) own(ca.alternative.key, "ca", ca);
  }
  const ledger = await ledgerKey(store);
  if (ledger !== undefined) own(ledger, "ledger");
  // A retired one opens nothing any more, but backups from before its rotation need it.
  for (const { key } of await store.read.envelopes.versions()) own(key, "kek");
  return owners;
}

/** Those that sign, the internal one among them, and those that only wait or have retired. */
async function everyCa(store: Store): Promise<readonly CaRecord[]> {
  const all = [...(await store.read.cas.signing())];
  let after: PageKey | undefined;
  do {
    const page = await store.read.cas.page({ reach: "platform" }, pageRows, after);
    all.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return all;
}

/** What nothing refers to is judged by its kind and the label it was made under. */
function roleOf({ label, keyType }: ListedKey, kekFamilies: readonly string[]): KeyRole {
  // pkid makes no other secret keys.
  if (keyType.startsWith("aes-")) return "kek";
  if (kekFamilies.some((family) => label.startsWith(`${family}-v`))) return "kek";
  const named = (["kek", "tsa", "ssh", "ledger"] as const).find((role) => label.startsWith(role));
  return named ?? (label.startsWith("ocsp-") ? "responder" : "ca");
}

const nameOf = ({ provider, label, id }: Pick<ListedKey, "provider" | "label" | "id">): string =>
  `${provider}\n${label}\n${id}`;

const pageRows = 500;
