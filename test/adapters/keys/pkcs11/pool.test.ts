/** How signatures are spread over the sessions of a token. */

import { expect, test } from "bun:test";

import type { Work } from "#adapters/keys/pkcs11/jobs.ts";
import { WorkerPool } from "#adapters/keys/pkcs11/pool.ts";
import { hangs, places } from "#test/support/pool-worker.ts";

const ever = 2 ** 30;

test("the first signatures go one by one, so that the token's speed is known", async () => {
  const { pool, most } = await started({ signMs: 5, lateMs: ever });
  await Promise.all(Array.from({ length: 64 }, () => pool.run(signing("a"))));
  expect(most()).toBe(1);
});

test("a device that takes its time signs in every session at once", async () => {
  const { pool, now, release } = await measured({ signMs: 5, lateMs: ever });
  const answers = Array.from({ length: 8 }, () => pool.run(signing(hangs)));
  while (now() < sessions) await Bun.sleep(1);
  release();
  for (const { status } of await Promise.all(answers)) expect(status).toBe("signed");
});

test("a token faster than any device signs in one session", async () => {
  const { pool, most } = await measured({ signMs: 0.05, lateMs: ever });
  await Promise.all(Array.from({ length: 30 }, () => pool.run(signing("a"))));
  expect(most()).toBe(1);
});

test("a token faster than any device signs in more sessions when much waits", async () => {
  const { pool, now, release } = await measured({ signMs: 0.05, lateMs: ever });
  const answers = Array.from({ length: 200 }, () => pool.run(signing(hangs)));
  while (now() < 2) await Bun.sleep(1);
  release();
  expect(await Promise.all(answers)).toHaveLength(200);
});

test("a session that hangs does not keep the others from what waits", async () => {
  const { pool, release } = await measured({ signMs: 0.05, lateMs: 1 });
  let hung = true;
  const first = pool.run(signing(hangs)).then(() => {
    hung = false;
  });
  await Promise.resolve(); // The first is handed over by itself.
  expect(await pool.run(signing("a"))).toMatchObject({ status: "signed" });
  expect(hung).toBe(true);
  release();
  await first;
});

test("no signature waits behind a key that is being made", async () => {
  const { pool, release } = await measured({ signMs: 0.05, lateMs: ever });
  const made = pool.run({ operation: "generate", label: hangs, keyType: "rsa-4096" });
  expect(await Promise.all([pool.run(signing("a")), pool.run(signing("b"))])).toHaveLength(2);
  release();
  await made;
});

const signing = (label: string): Work => ({
  ...{ operation: "sign", algorithm: "ecdsa-sha256", message: new Uint8Array(1) },
  ref: { id: "00", label },
});

/** A pool whose workers say that a signature takes `signMs`. */
async function started({ signMs, lateMs }: { signMs: number; lateMs: number }) {
  const shared = new Int32Array(new SharedArrayBuffer(12));
  const pool = await WorkerPool.start({
    workerUrl: import.meta.resolve("#test/support/pool-worker.ts"),
    count: sessions,
    start: { modulePath: "", slot: new Uint8Array(shared.buffer), serial: String(signMs) },
    broken: (reason) => {
      throw new Error(reason);
    },
    lateMs,
  });
  const release = () => {
    Atomics.store(shared, places.released, 1);
    Atomics.notify(shared, places.released);
  };
  const at = (place: number) => () => Atomics.load(shared, place);
  return { pool, release, now: at(places.now), most: at(places.most) };
}

/** The same, once it knows so. */
async function measured(given: { signMs: number; lateMs: number }) {
  const made = await started(given);
  await Promise.all(Array.from({ length: 64 }, () => made.pool.run(signing("a"))));
  return made;
}

const sessions = 4;
