/**
 * TEN-1 against a model: whatever happens to certificates, what counts against quotas is what a
 * recount finds.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { instant } from "#core/time.ts";
import type { CertificateRecord, IntentRecord } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import * as make from "#test/support/stores/records.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

/** One thing that happens; `pick` chooses among what there is. */
type Happening =
  | { readonly kind: "intend"; readonly lifeMinutes: number; readonly system: boolean }
  | { readonly kind: "activate" | "abandon" | "orphan"; readonly pick: number }
  | { readonly kind: "revoke" | "hold" | "release"; readonly pick: number }
  | { readonly kind: "wait"; readonly minutes: number };

const pick = fc.nat(1000);
const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({
    kind: fc.constant("intend" as const),
    lifeMinutes: fc.integer({ min: 1, max: 60 * 72 }),
    system: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("activate" as const), pick }),
  fc.record({ kind: fc.constantFrom("abandon" as const, "orphan" as const), pick }),
  fc.record({
    kind: fc.constantFrom("revoke" as const, "hold" as const, "release" as const),
    pick,
  }),
  fc.record({ kind: fc.constant("wait" as const), minutes: fc.integer({ min: 1, max: 60 * 30 }) }),
);

test("TEN-1: counters of the database equal a recount after every step of any history", async () => {
  const database = await sqliteDatabase().open();
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 1, maxLength: 40 }), async (history) => {
      await followed(history, [createMemoryStore(), database]);
    }),
    { numRuns: 60 },
  );
  await database.close();
});

/** Makes the same history in both stores, and compares what they say is used. */
async function followed(history: readonly Happening[], stores: readonly Store[]): Promise<void> {
  const tenant = make.tenant(crypto.randomUUID());
  const ca = make.ca({ tenant: tenant.id });
  const open: { intent: IntentRecord; row: CertificateRecord }[] = [];
  const stored: CertificateRecord[] = [];
  let now = make.noon;
  const both = async (unit: Parameters<Store["atomically"]>[0]) => {
    for (const store of stores) await store.atomically(unit);
  };
  await both(async (tx) => {
    await tx.tenants.ensure(tenant);
    await tx.cas.insert(ca);
  });
  for (const step of history) {
    if (step.kind === "wait") now = instant(now + step.minutes * 60_000);
    else if (step.kind === "intend") {
      const row = make.certificate({
        caId: ca.id,
        tenant: tenant.id,
        createdAt: now,
        kind: step.system ? "responder" : "leaf",
        notAfter: instant(now + step.lifeMinutes * 60_000 - 1000),
      });
      const purpose = step.system ? "responder_certificate" : "certificate";
      const intent = make.intentFor(row, { createdAt: now, purpose });
      open.push({ intent, row });
      await both((tx) => tx.certificates.intend(intent));
    } else await changed(step.kind, step.pick);
    const [model, database] = await Promise.all(
      stores.map((store) => store.read.tenants.used(tenant.id, now)),
    );
    expect(database).toEqual(model as never);
  }

  async function changed(kind: Exclude<Happening["kind"], "wait" | "intend">, at: number) {
    if (kind === "activate" || kind === "abandon" || kind === "orphan") {
      const [signed] = open.splice(at % Math.max(1, open.length), 1);
      if (signed === undefined) return;
      const { intent, row } = signed;
      if (kind === "activate") stored.push(row);
      await both((tx) =>
        kind === "activate"
          ? tx.certificates.activate(intent.opId, row)
          : tx.certificates.settle(intent.opId, kind === "abandon" ? "abandoned" : "orphaned"),
      );
      return;
    }
    const row = stored[at % Math.max(1, stored.length)];
    if (row === undefined) return;
    const status = { revoke: "revoked", hold: "held", release: "good" } as const;
    await both(async (tx) => {
      const found = await tx.certificates.lock(ca.id, row.serial);
      // Revocation is for good.
      if (found === undefined || found.status === "revoked") return;
      const since = kind === "release" ? undefined : now;
      const reason = kind === "release" ? undefined : "superseded";
      await tx.certificates.setStatus(ca.id, row.serial, status[kind], since, reason);
    });
  }
}
