/**
 * What an instance is before it has any CA: its ids, its default tenant, the first ledger entry,
 * the root password.
 */

import { defaultTenant } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import { timestamp } from "#core/time.ts";
import { fingerprint, parseFingerprint } from "#core/x509/public-keys.ts";
import { discarded } from "#domain/discard.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { unlimited } from "#domain/tenants/store.ts";

export interface InstanceDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
  /** What the data directory says the id is; the database takes it over when it has none. */
  readonly instanceId: string;
  /** argon2id at rest; slow on purpose. */
  readonly hashPassword: (password: string) => Promise<string>;
  /**
   * Shows or keeps a password made up now; called before its hash is stored, so that no crash makes
   * it unknown.
   */
  readonly keepRootPassword: (password: string) => void;
}

/** What the configuration says about root; neither given means: make one up. */
export interface RootSettings {
  readonly password: string | undefined;
  readonly passwordHash: string | undefined;
}

export interface PreparedInstance {
  readonly id: string;
  readonly rootPasswordHash: string;
}

/** Creates at the first start what every later one finds; running it again changes nothing. */
export async function prepareInstance(
  deps: InstanceDeps,
  root: RootSettings,
): Promise<PreparedInstance> {
  await beginLedger(deps);
  const { store, clock } = deps;
  const id = (await store.read.instance.value("instance_id")) ?? deps.instanceId;
  const password = await rootPassword(deps, root);
  const [genesis] = await store.read.audit.ledgerAfter(0, 1);
  assert(genesis !== undefined, "the ledger has begun");
  const createdAt = clock.now();
  const prepared = { id, rootPasswordHash: password.hash };
  // An instance whose database was rolled back has all of this already.
  if (store.rollback() !== undefined) return prepared;
  await store.atomically(async (tx) => {
    await tx.instance.setValue("instance_id", id);
    await tx.keyChecks.claim(parseFingerprint(genesis.signerFingerprint));
    if (password.stored) await tx.instance.setValue("root_password_hash", password.hash);
    await tx.tenants.ensure({
      id: defaultTenant,
      slug: "default",
      name: "Default",
      status: "active",
      createdAt,
      kekLabel: "",
      quotas: unlimited,
    });
  });
  return prepared;
}

/**
 * The genesis entry names the ledger key, which is pinned out of band (LED-2). The key is
 * software-held and sealed, never a CA key. A crash between key and entry leaves an unused key and
 * a ledger that begins anew.
 */
async function beginLedger(deps: InstanceDeps): Promise<void> {
  const { store, keys, clock, random } = deps;
  if ((await store.read.audit.ledgerHead()).seq > 0) return;
  const ledgerId = random.uuid();
  const label = `ledger-${ledgerId}`;
  const handle = await keys.generate({
    provider: "software",
    label,
    keyType: "ed25519",
    role: "ledger",
  });
  const now = clock.now();
  try {
    await store.atomically(async (tx) => {
      const entry = await tx.audit.appendLedger({
        kind: "genesis",
        timestamp: timestamp(now),
        provider: handle.ref.provider,
        deviceSerial: handle.deviceSerial,
        keyLabel: label,
        role: "ledger",
        signerFingerprint: fingerprint(handle.spki),
      });
      assert(entry.number === 1, "the genesis is the first entry of the ledger");
      // Of replicas that begin at once the one with the ledger gives the id.
      await tx.instance.setValue("instance_id", deps.instanceId);
      await tx.instance.setValue("ledger_id", ledgerId);
      await tx.instance.setValue("ledger_key_id", handle.ref.id);
    });
  } catch (error) {
    // Units come one after the other: behind an empty one it is decided whose the ledger is.
    await store.atomically(async () => {});
    if ((await store.read.instance.value("ledger_key_id")) === handle.ref.id) return;
    // Another replica began the ledger meanwhile: its key stands, this one was never used.
    await discarded(() => keys.destroy(handle.ref));
    if ((await store.read.audit.ledgerHead()).seq === 0) throw error;
  }
}

async function rootPassword(deps: InstanceDeps, root: RootSettings) {
  if (root.passwordHash !== undefined) return { hash: root.passwordHash, stored: false };
  if (root.password !== undefined) {
    return { hash: await deps.hashPassword(root.password), stored: false };
  }
  const kept = await deps.store.read.instance.value("root_password_hash");
  if (kept !== undefined) return { hash: kept, stored: false };
  const fresh = readable(deps.random.bytes(20));
  const hash = await deps.hashPassword(fresh);
  deps.keepRootPassword(fresh);
  return { hash, stored: true };
}

/** 160 bits in groups of four letters and digits that are hard to confuse. */
function readable(bytes: Uint8Array): string {
  const alphabet = "abcdefghjkmnpqrstuvwxyz23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
  let value = BigInt(`0x${bytes.toHex()}`);
  let text = "";
  for (let n = 0; n < 28; n++) {
    text += alphabet[Number(value % BigInt(alphabet.length))];
    value /= BigInt(alphabet.length);
  }
  return text.match(/.{4}/g)?.join("-") ?? text;
}
