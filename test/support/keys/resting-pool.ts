/**
 * The workers of a real token, in a process of their own: grown under load, ended at rest, and
 * grown again. Prints what was seen of it as JSON. Arguments: the PIN, the record of refused PINs,
 * the token's settings; `SEEN` is a file in which the threads say that they come and go.
 */

import { createPublicKey, verify } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

import { openHsmToken } from "#adapters/keys/pkcs11/hsm-token.ts";
import type { Outcome, Work } from "#adapters/keys/pkcs11/jobs.ts";
import { WorkerPool } from "#adapters/keys/pkcs11/pool.ts";
import { runSignerWorker } from "#adapters/keys/pkcs11/worker.ts";
import type { Pkcs11Settings } from "#adapters/keys/settings.ts";

/** What is printed. */
export interface Rested {
  /** Workers, by round under load and at rest. */
  readonly rounds: readonly { readonly loaded: number; readonly rested: number }[];
  readonly signed: number;
  /** Of these, what the public key does not verify. */
  readonly wrong: number;
  /** False when the token or the login is gone. */
  readonly alive: boolean;
}

const { SEEN: seen = "" } = process.env;
if (isMainThread) {
  console.log(JSON.stringify(await rested()));
  process.exit(0);
} else {
  appendFileSync(seen, "+");
  process.on("exit", () => appendFileSync(seen, "-"));
  runSignerWorker();
}

async function rested(): Promise<Rested> {
  const [pin = "", record = "", text = ""] = process.argv.slice(2);
  const settings = JSON.parse(text) as Pkcs11Settings; // Written by the test.
  const presenting = { record, run: "test", asked: true, lookingOnly: false };
  const another = () => Promise.reject(new Error("the PIN is right"));
  const token = await openHsmToken(settings, { pin: () => pin, another, presenting });
  const pool = await WorkerPool.start({
    workerUrl: import.meta.url,
    count: settings.session_pool_size,
    start: { module_path: settings.module_path, slot: token.slot, serial: token.serial },
    broken: (reason) => {
      console.error(reason);
      process.exit(1);
    },
  });
  const count = (sign: string) => readFileSync(seen, "utf8").split(sign).length;
  const workers = () => count("+") - count("-");
  const made = await pool.run({ operation: "generate", label: "a", keyType: "rsa-2048" });
  if (made.status !== "found") throw new Error(made.status);
  const { ref, spki } = made.keyHandle;
  const key = createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" });
  let [signed, wrong] = [0, 0];
  const sign = async () => {
    const message = crypto.getRandomValues(new Uint8Array(32));
    const work: Work = { operation: "sign", algorithm: "rsa-pkcs1-sha256", ref, message };
    const outcome: Outcome = await pool.run(work);
    signed += 1;
    const good =
      outcome.status === "signed" && verify("sha256", message, key, Buffer.from(outcome.signature));
    if (!good) wrong += 1;
  };
  const rounds: Rested["rounds"][number][] = [];
  for (let round = 0; round < 5; round++) {
    while (workers() < settings.session_pool_size) {
      await Promise.all(Array.from({ length: 40 }, sign));
    }
    const loaded = workers();
    pool.look();
    pool.look();
    // Somebody comes while they leave.
    await Promise.all(Array.from({ length: 3 }, sign));
    while (workers() > 1) {
      await Bun.sleep(5);
      pool.look();
    }
    rounds.push({ loaded, rested: workers() });
    await sign();
  }
  return { rounds, signed, wrong, alive: token.alive() };
}
