/**
 * The floor of the token: C_SignInit and C_Sign with P-256, as many threads with a session each as
 * pkid has.
 */

import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

import { cka, ckf, ckk, ckm, ckuUser } from "#adapters/keys/pkcs11/ck.ts";
import { loadModule } from "#adapters/keys/pkcs11/module.ts";
import { curveParameters } from "#adapters/keys/pkcs11/public-half.ts";
import { softHsmModule } from "#test/support/keys/soft-token.ts";

interface Share {
  readonly slot: Uint8Array;
  readonly key: Uint8Array;
  readonly seconds: number;
}

if (isMainThread) await main(Number(process.argv[2] ?? "2"), Number(process.argv[3] ?? "8"));
else signAway(workerData as Share); // Given below.

async function main(seconds: number, sessions: number): Promise<void> {
  const p11 = loadModule(softHsmModule);
  p11.C_Initialize({ flags: ckf.osLockingOk });
  const slot = p11
    .C_GetSlotList(true)
    .find((each) => p11.C_GetTokenInfo(each).label.trim() === "pkid");
  if (slot === undefined) throw new Error("there is no token pkid");
  const session = p11.C_OpenSession(slot, ckf.serialSession | ckf.rwSession);
  p11.C_Login(session, ckuUser, "1234");
  const params = Buffer.from(curveParameters["ecdsa-p256"] ?? "", "hex");
  const { privateKey } = p11.C_GenerateKeyPair(
    session,
    { mechanism: ckm.ecKeyPairGen },
    [
      { type: cka.keyType, value: ckk.ec },
      { type: cka.ecParams, value: params },
    ],
    [
      { type: cka.token, value: true },
      { type: cka.private, value: true },
      { type: cka.sign, value: true },
    ],
  );
  const share: Share = { slot, key: privateKey, seconds };
  const counts = Array.from(
    { length: sessions },
    () =>
      new Promise<number>((resolve, reject) => {
        const worker = new Worker(new URL(import.meta.url), { workerData: share });
        worker.once("message", resolve);
        worker.once("error", reject);
      }),
  );
  const signed = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  console.log((signed / seconds).toFixed(0));
  process.exit(0);
}

function signAway({ slot, key, seconds }: Share): void {
  const p11 = loadModule(softHsmModule);
  const session = p11.C_OpenSession(Buffer.from(slot), ckf.serialSession);
  const [digest, output, handle] = [Buffer.alloc(32, 7), Buffer.alloc(2048), Buffer.from(key)];
  let count = 0;
  for (const end = performance.now() + seconds * 1000; performance.now() < end; count++) {
    p11.C_SignInit(session, { mechanism: ckm.ecdsa }, handle);
    p11.C_Sign(session, digest, output);
  }
  parentPort?.postMessage(count);
}
