/** The sign ledger over HTTP: newest first, by kind, key and number, and a changed entry shows. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { beforeEach, expect, test } from "bun:test";

import { ledgerHandlers } from "#api/ledger.ts";
import { fingerprintOf } from "#core/x509/public-keys.ts";
import { seededRandom } from "#test/support/ports.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
beforeEach(async () => {
  small = await smallCa({ ocsp: { delegated: false } });
  for (let n = 0; n < 3; n += 1) await small.issue();
  await small.revoker.revoke(
    { ca: small.ca, serial: (await small.issue()).serial, origin: rootOrigin, mayManageCa: true },
    "superseded",
  );
  await small.store.atomically(async (tx) => {
    for (const opId of ["a", "b", "c"]) {
      await tx.audit.appendLedger({ ...entry, kind: "intent", opId });
      await tx.audit.appendLedger({ ...entry, kind: "outcome", opId, result: "success" });
    }
  });
});

const entry = {
  timestamp: "2027-01-01T00:00:00.000000Z",
  provider: "software",
  keyLabel: "root",
  signerFingerprint: fingerprintOf("11".repeat(32)),
  role: "ca",
  operation: "sign",
  purpose: "certificate",
} as const;

interface Listed {
  readonly items: readonly {
    readonly number: number;
    readonly hash_valid: boolean;
    readonly kind: string;
  }[];
  readonly total: number;
  readonly next_cursor: string;
}

async function listed(query = ""): Promise<Listed & Readonly<Record<string, unknown>>> {
  const { store, keys, clock } = small;
  const random = seededRandom();
  const handlers = ledgerHandlers({
    store,
    keys,
    clock,
    random,
    roles: { ca: "software" },
  });
  const perform = openPipeline({ ...small });
  const answer = await askJson(
    perform,
    {
      operation: "hsm.audit_log",
      origin: rootOrigin,
      path: {},
      query: new URLSearchParams(query),
      body: async () => undefined,
    },
    handlers["hsm.audit_log"],
  );
  // What the handler gives.
  return answer.body as Awaited<ReturnType<typeof listed>>;
}

test("entries come newest first, page by page, and say whose ledger it is", async () => {
  const first = await listed("limit=4");
  const head = await small.store.read.audit.ledgerHead();
  expect(first.items.map(({ number }) => number)).toEqual([0, 1, 2, 3].map((n) => head.seq - n));
  expect(first.total).toBe(head.seq);
  expect(first).toMatchObject({ provider: "software", device_serial: "software:memory" });
  const second = await listed(`limit=4&cursor=${first.next_cursor}`);
  expect(second.items[0]?.number).toBe(head.seq - 4);
  expect(first.items.every(({ hash_valid }) => hash_valid)).toBe(true);
});

test("they are found by kind, by key and by number, both ends included", async () => {
  const { seq } = await small.store.read.audit.ledgerHead();
  const range = await listed(`from_number=${seq - 1}&to_number=${seq}`);
  expect(range.items.map(({ kind }) => kind)).toEqual(["outcome", "intent"]);
  const [ours, other] = ["11", "22"].map((octet) =>
    encodeURIComponent(fingerprintOf(octet.repeat(32))),
  );
  expect((await listed(`kind=intent&signer_fingerprint=${ours}`)).total).toBe(3);
  expect((await listed(`kind=intent&signer_fingerprint=${"11".repeat(32)}`)).total).toBe(3);
  expect((await listed(`signer_fingerprint=${other}`)).total).toBe(0);
  const none = "signer_fingerprint=SHA256:key";
  for (const wrong of ["kind=none", "from_number=0", "to_number=x", none]) {
    await expect(listed(wrong)).rejects.toMatchObject({ status: 400 });
  }
});

test("an entry that was changed is shown as such", async () => {
  const { seq } = await small.store.read.audit.ledgerHead();
  await small.store.tamper("update ledger set result = 'error' where number = ?", seq);
  const { items } = await listed(`from_number=${seq - 1}`);
  expect(items.map(({ hash_valid }) => hash_valid)).toEqual([false, true]);
});
