/** How signatures are spread over token sessions, and when those are given back. */

import { expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Work } from "#adapters/keys/pkcs11/jobs.ts";
import { WorkerPool } from "#adapters/keys/pkcs11/pool.ts";
import { ran } from "#test/support/child.ts";
import { hangs, places } from "#test/support/keys/pool-worker.ts";
import type { Rested } from "#test/support/keys/resting-pool.ts";
import { newSoftHsm, softHsmModule } from "#test/support/keys/softhsm.ts";

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

test("workers that nobody needed from one look to the next end, all but one, and come back for work", async () => {
  const { pool, workers, ended, release, hang } = await grown();
  pool.look(); // Since the look before they have all worked.
  expect(ended()).toBe(0);
  pool.look();
  while (ended() < session_pool_size - 1) await Bun.sleep(1);
  pool.look();
  pool.look();
  expect((await pool.run(signing("a"))).status).toBe("signed");
  expect([ended(), workers()]).toEqual([session_pool_size - 1, session_pool_size]);
  hang();
  const answers = Array.from({ length: 40 }, () => pool.run(signing(hangs)));
  while (workers() < 2 * session_pool_size - 1) await Bun.sleep(1);
  release();
  for (const { status } of await Promise.all(answers)) expect(status).toBe("signed");
});

test("one that works does not end, and neither does one that was needed since the last look", async () => {
  const { pool, now, ended, release, hang } = await grown();
  pool.look();
  hang();
  const busy = [0, 1].map(() => pool.run(signing(hangs)));
  while (now() < 2) await Bun.sleep(1);
  pool.look();
  while (ended() < session_pool_size - 2) await Bun.sleep(1);
  release();
  for (const { status } of await Promise.all(busy)) expect(status).toBe("signed");
  pool.look();
  expect((await pool.run(signing("a"))).status).toBe("signed");
  expect(ended()).toBe(session_pool_size - 2);
});

test.todoIf(softHsmModule === undefined)(
  "a token keeps its login while workers come and go, and every signature is right",
  async () => {
    const { settings, pin, configurationFile } = newSoftHsm({ session_pool_size });
    const folder = mkdtempSync(join(tmpdir(), "pkid-pool-"));
    const [record, seen] = [join(folder, "refused"), join(folder, "seen")];
    const script = join(import.meta.dir, "../../../support/keys/resting-pool.ts");
    const command = [process.execPath, script, pin, record, JSON.stringify(settings)];
    const env = { SOFTHSM2_CONF: configurationFile, SEEN: seen };
    const { code, stdout, stderr } = await ran(command, { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { rounds, signed, wrong, alive }: Rested = JSON.parse(stdout);
    expect(rounds).toEqual(Array(5).fill({ loaded: session_pool_size, rested: 1 }));
    expect({ wrong, alive }).toEqual({ wrong: 0, alive: true });
    expect(signed).toBeGreaterThan(100);
  },
);

/** A pool with as many workers as it may have, all of them idle. */
async function grown() {
  const made = await started({ signMs: 5 });
  const answers = Array.from({ length: 40 }, () => made.pool.run(signing(hangs)));
  while (made.workers() < session_pool_size) await Bun.sleep(1);
  made.release();
  await Promise.all(answers);
  return made;
}

const signing = (label: string): Work => ({
  operation: "sign",
  algorithm: "ecdsa-sha256",
  message: new Uint8Array(1),
  ref: { id: "00", label },
});

/** A pool whose workers say that a signature takes `signMs`. */
async function started({ signMs }: { signMs: number }) {
  const shared = new Int32Array(new SharedArrayBuffer(20));
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
  const hang = () => void Atomics.store(shared, places.released, 0);
  const at = (place: number) => () => Atomics.load(shared, place);
  const [now, workers, ended] = [at(places.now), at(places.started), at(places.ended)];
  const giveOnly = (sessions: number) => Atomics.store(shared, places.sessions, sessions);
  return { pool, release, hang, giveOnly, now, workers, ended };
}

const session_pool_size = 4;
