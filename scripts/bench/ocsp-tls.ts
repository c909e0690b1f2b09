/** OCSP on the main listener, over TLS, beside a bare server that sends the same bytes over TLS. */

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { bareServer } from "./floors.ts";
import { cachedGet, freshPost, newTarget, question, sameBytes } from "./ocsp.ts";
import { figure, section } from "./print.ts";
import { type Bench, measured, softwareKeys } from "./scenario.ts";

/** Prints both rates; the floor of each is measured before and after it. */
export async function ocspTls(bench: Bench): Promise<void> {
  section("ocsp-tls", "OCSP over TLS, software keys, 32 connections");
  const { seconds } = bench;
  const instance = await Instance.start(measured(bench, softwareKeys));
  try {
    const chain = await createChain(instance, "ecdsa-p256");
    const target = await newTarget(instance, chain.intermediateId, instance.url);
    const bytes = await sameBytes(target);
    const post = { body: question(target), contentType: "application/ocsp-request" };
    for (const [name, label, floor, measure] of [
      ["cached", "cached GET", { bytes, tls: true }, cachedGet],
      ["fresh", "freshly signed, with nonce", { bytes, tls: true, post }, freshPost],
    ] as const) {
      const before = await bareServer(seconds, floor);
      const { perSecond, p50, p99, failed } = await measure(target, seconds);
      const value = (before + (await bareServer(seconds, floor))) / 2;
      figure({
        name: `${name}.rate`,
        label,
        value: perSecond,
        unit: "/s",
        floor: { name: "a bare Bun.serve over TLS", value },
        note: failed > 0 ? `${failed} FAILED` : undefined,
      });
      figure({ name: `${name}.p50`, label: "  latency, p50", value: p50, unit: "ms" });
      figure({ name: `${name}.p99`, label: "  latency, p99", value: p99, unit: "ms" });
    }
  } finally {
    await instance.dispose();
  }
}
