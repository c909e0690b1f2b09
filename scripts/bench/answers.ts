/**
 * OCSP against its floors: each figure between two measurements of its floor, so that a slow moment
 * strikes both.
 */

import { Instance } from "#test/support/instances/instance.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { createHsmToken } from "#test/support/keys/soft-token.ts";
import { bareServer, rawSigning, hsmTokenSigning } from "./floors.ts";
import type { Load } from "./load.ts";
import { cachedGet, freshPost, newTarget, type OcspTarget, sameBytes } from "./ocsp.ts";
import { row, section } from "./print.ts";
import type { Bench } from "./scenario.ts";
import { median } from "./statistics.ts";

/**
 * Prints the ratios for software keys and for keys in SoftHSM; every round takes some four times
 * `seconds`. The floor of the token is one session on one processor, as that of software keys is
 * one thread, and beside it all that eight sessions give, for which the token takes every
 * processor.
 */
export async function answers({ seconds, binary }: Bench): Promise<void> {
  await unrecorded(seconds, binary);
  const hsmToken = await createHsmToken();
  const ways = [
    {
      name: "software keys",
      of: "ocsp.software",
      config: {},
      env: {},
      floor: async () => rawSigning(seconds),
    },
    {
      name: "SoftHSM keys",
      of: "ocsp.softhsm",
      config: hsmToken.config,
      env: hsmToken.env,
      floor: () => hsmTokenSigning(hsmToken.env, seconds, 1),
    },
  ];
  for (const { name, of, config, env, floor } of ways) {
    section(of, `OCSP answers, ${name}, median of ${rounds} rounds`);
    const server = { public_http: { enabled: true, address: "127.0.0.1:0" } };
    const log = { level: "info", format: "json" };
    const instance = await Instance.start({ binary, config: { ...config, log, server }, env });
    try {
      const target = await targetOf(instance);
      const bytes = await sameBytes(target);
      await against(
        "cached GET",
        () => cachedGet(target, seconds),
        async () => bareServer(seconds, { bytes }),
      );
      const fresh = () => freshPost(target, seconds);
      await against("freshly signed, with nonce", fresh, floor);
      if (config === hsmToken.config) {
        await against("the same, eight sessions", fresh, () => hsmTokenSigning(env, seconds, 8));
      }
    } finally {
      await instance.dispose();
    }
  }
  hsmToken.remove();
}

/**
 * The answer alone: the bare server writes nothing down, whereas a line in the request log and a
 * row in the access log follow every request of an instance that is not told otherwise.
 */
async function unrecorded(seconds: number, binary: string): Promise<void> {
  section(
    "ocsp.unrecorded",
    `OCSP answers, neither request log nor access log, median of ${rounds} rounds`,
  );
  const address = `127.0.0.1:${await freePort()}`;
  const instance = await Instance.start({
    config: {
      log: { level: "warn", format: "json" },
      access_log: { enabled: false },
      server: { public_http: { enabled: true, address } },
    },
    publicUrl: `http://${address}`,
    binary,
  });
  try {
    const target = await targetOf(instance);
    const bytes = await sameBytes(target);
    await against(
      "cached GET",
      () => cachedGet(target, seconds),
      async () => bareServer(seconds, { bytes }),
    );
  } finally {
    await instance.dispose();
  }
}

async function against(
  name: string,
  measure: () => Promise<Load>,
  floor: () => Promise<number>,
): Promise<void> {
  const ratios: number[] = [];
  const rates: number[] = [];
  const floors = [await floor()];
  let failed = 0;
  for (let round = 0; round < rounds; round++) {
    settle();
    const figure = await measure();
    settle();
    floors.push(await floor());
    const around = ((floors[round] ?? 0) + (floors[round + 1] ?? 0)) / 2;
    ratios.push(figure.perSecond / around);
    rates.push(figure.perSecond);
    failed += figure.failed;
  }
  const share = `${median(ratios).toFixed(2)} of its floor of ${median(floors).toFixed(0)}/s`;
  row(name, `${median(rates).toFixed(0)}/s, ${share}${failed > 0 ? `, ${failed} FAILED` : ""}`);
}

async function targetOf(instance: Instance): Promise<OcspTarget> {
  const { intermediateId } = await createChain(instance, "ecdsa-p256");
  return newTarget(instance, intermediateId, instance.publicUrl);
}

/** A million rows of the access log wait to reach the disk; no figure pays for the one before. */
const settle = (): void => void Bun.spawnSync(["sync"]);

const rounds = 3;
