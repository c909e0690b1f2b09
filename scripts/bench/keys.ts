/** What an instance does with its keys at one place: starts, issues, OCSP answers. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, type InstanceOptions } from "#test/support/instances/instance.ts";
import { bareServer, rawSigning } from "./floors.ts";
import { issuing } from "./issuing.ts";
import { cachedGet, freshPost, newTarget } from "./ocsp.ts";
import { figure, row, section } from "./print.ts";
import { treeMemory } from "./processor.ts";
import { type Bench, type KeyHome, measured } from "./scenario.ts";
import { median } from "./statistics.ts";

/** Prints all of it for P-256. */
export async function keys(bench: Bench, home: KeyHome): Promise<void> {
  section(home.name, `${home.title}, ecdsa-p256`);
  const options = measured(bench, home);
  const instance = await Instance.start(options);
  try {
    figure({
      name: "start.empty",
      label: "start to ready, empty data directory",
      value: instance.readyMs,
      unit: "ms",
    });
    await restart(join(instance.home, "restart"), options);
    row("idle RSS, server and signer", `${treeMemory(instance.pid).rss.toFixed(0)} MB`);
    const chain = await createChain(instance, "ecdsa-p256");
    await issuing(instance, chain.intermediateId, home, bench.seconds);
    await answering(instance, chain.intermediateId, bench.seconds);
    row("RSS after the load", `${treeMemory(instance.pid).rss.toFixed(0)} MB`);
    const { valid, events } = await instance.admin<{ valid: boolean; events: number }>(
      "GET",
      "/api/events/verify",
    );
    row("audit chain after the load", `${valid ? "valid" : "BROKEN"}, ${events} events`);
  } finally {
    await instance.dispose();
  }
}

/** A start on a data directory that exists, measured beside the running instance. */
async function restart(home: string, options: InstanceOptions): Promise<void> {
  mkdirSync(home);
  const first = await Instance.start({ ...options, home });
  await first.stop();
  const times: number[] = [];
  for (let n = 0; n < 5; n++) {
    const instance = await Instance.start({ ...options, home });
    times.push(instance.readyMs);
    await instance.stop();
  }
  figure({
    name: "start.existing",
    label: "start to ready, existing data (median of 5)",
    value: median(times),
    unit: "ms",
  });
}

async function answering(instance: Instance, ca: string, seconds: number): Promise<void> {
  const target = await newTarget(instance, ca, instance.publicUrl);
  const cached = await cachedGet(target, seconds);
  figure({
    name: "ocsp.cached",
    label: "cached OCSP GET, 32 connections, cleartext",
    value: cached.perSecond,
    unit: "/s",
    floor: { name: "a bare Bun.serve", value: await bareServer(seconds) },
    note: cached.failed > 0 ? `${cached.failed} FAILED` : undefined,
  });
  const fresh = await freshPost(target, seconds);
  figure({
    name: "ocsp.fresh",
    label: "freshly signed OCSP with nonce, 32 connections",
    value: fresh.perSecond,
    unit: "/s",
    floor: { name: "raw signing", value: rawSigning(Math.min(2, seconds)) },
    note: fresh.failed > 0 ? `${fresh.failed} FAILED` : undefined,
  });
}
