/** How signatures are spread over token sessions. */

import { expect, test } from "bun:test";

import type { Work } from "#adapters/keys/pkcs11/jobs.ts";
import { WorkerPool } from "#adapters/keys/pkcs11/pool.ts";
import { hangs, places } from "#test/support/keys/pool-worker.ts";

test("a device that takes its time signs in every token session at once", async () => {
  const { pool, now, release } = await started({ signMs: 5 });
  const answers = Array.from({ length: 8 }, () => pool.run(signing(hangs)));
  while (now() < session_pool_size) await Bun.sleep(1);
  release();
  for (const { status } of await Promise.all(answers)) expect(status).toBe("signed");
});

test("a token session that hangs does not keep the others from what waits", async () => {
  const { pool, release } = await started({ signMs: 5 });
  let hung = true;
  const first = pool.run(signing(hangs)).then(() => {
    hung = false;
  });
  await Promise.resolve(); // The first is handed over by itself.
  const others = Array.from({ length: 30 }, () => pool.run(signing("a")));
  for (const { status } of await Promise.all(others)) expect(status).toBe("signed");
  expect(hung).toBe(true);
  release();
  await first;
});

test("no signature waits behind a key that is being made", async () => {
  const { pool, release } = await started({ signMs: 0.05 });
  const made = pool.run({ operation: "generate", label: hangs, keyType: "rsa-4096" });
  expect(await Promise.all([pool.run(signing("a")), pool.run(signing("b"))])).toHaveLength(2);
  release();
  await made;
});

test("there is one worker until work waits, and never more than the token gives sessions", async () => {
  const { pool, workers, release } = await started({ signMs: 5 });
  await pool.run(signing("a"));
  await pool.run(signing("b"));
  expect(workers()).toBe(1);
  const answers = Array.from({ length: 40 }, () => pool.run(signing(hangs)));
  while (workers() < session_pool_size) await Bun.sleep(1);
  release();
  await Promise.all(answers);
  expect(workers()).toBe(session_pool_size);
});

test("a token that has no session for one more worker is signed with by those that are there", async () => {
  const { pool, workers, release, giveOnly } = await started({ signMs: 5 });
  giveOnly(2);
  const answers = Array.from({ length: 40 }, () => pool.run(signing(hangs)));
  while (workers() < 2) await Bun.sleep(1);
  // The third asks in vain, and ends.
  await Bun.sleep(100);
  release();
  for (const { status } of await Promise.all(answers)) expect(status).toBe("signed");
  expect((await pool.run(signing("a"))).status).toBe("signed");
  expect(workers()).toBe(2);
});

const signing = (label: string): Work => ({
  operation: "sign",
  algorithm: "ecdsa-sha256",
  message: new Uint8Array(1),
  ref: { id: "00", label },
});

/** A pool whose workers say that a signature takes `signMs`. */
async function started({ signMs }: { signMs: number }) {
  const shared = new Int32Array(new SharedArrayBuffer(16));
  const pool = await WorkerPool.start({
    workerUrl: import.meta.resolve("#test/support/keys/pool-worker.ts"),
    count: session_pool_size,
    start: { module_path: "", slot: new Uint8Array(shared.buffer), serial: String(signMs) },
    broken: (reason) => {
      throw new Error(reason);
    },
  });
  const release = () => {
    Atomics.store(shared, places.released, 1);
    Atomics.notify(shared, places.released);
  };
  const at = (place: number) => () => Atomics.load(shared, place);
  const giveOnly = (sessions: number) => Atomics.store(shared, places.sessions, sessions);
  return { pool, release, giveOnly, now: at(places.now), workers: at(places.started) };
}

const session_pool_size = 4;
