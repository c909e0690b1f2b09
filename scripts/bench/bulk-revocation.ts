/**
 * What a bulk revocation does: a hundred thousand certificates with their events, and what others
 * wait meanwhile.
 */

import type { Instance } from "#test/support/instances/instance.ts";
import { filledInstance, made } from "./fill.ts";
import { question } from "./ocsp.ts";
import { row, section } from "./print.ts";
import { processorSeconds } from "./processor.ts";
import type { Bench } from "./scenario.ts";

/**
 * Prints plan and run for two reasons, one of which blocks every key too, and once more beside
 * others.
 */
export async function bulkRevocation(bench: Bench, size = 100_000): Promise<void> {
  section(
    "bulk-revocation",
    `bulk revocation of ${size.toLocaleString("en")}, SQLite, batches of 500`,
  );
  for (const reason of ["superseded", "keyCompromise"]) await measured(bench, size, reason, false);
  await measured(bench, size, "superseded", true);
}

async function measured(
  { binary }: Bench,
  size: number,
  reason: string,
  beside: boolean,
): Promise<void> {
  // Every 1000th row is revoked from the start.
  const { instance, ca, certificate } = await filledInstance(
    binary,
    Math.ceil((size * 1001) / 1000) + 1,
  );
  try {
    const order = { reason, filter: { pattern: "h*.example.test" }, operation_id: "bench" };
    const path = `/api/ca/${ca}/revocations:bulk`;
    const plan = await timed(() =>
      instance.admin<{ total: number }>("POST", path, { ...order, dry_run: true }),
    );
    row(`plan, ${reason}`, `${plan.seconds.toFixed(1)} s, ${plan.value.total} found`);
    const before = await peak(instance.pid);
    const worked = await processorSeconds(instance.pid);
    const { parent_id: root } = await instance.admin<{ parent_id: string }>("GET", `/api/ca/${ca}`);
    const others = beside ? disturb(instance, { ca, root }, certificate) : undefined;
    const body = { ...order, force: true };
    const run = await timed(() => instance.admin<{ revoked: number }>("POST", path, body));
    const waits = await others?.end();
    const rate = (run.value.revoked / run.seconds).toFixed(0);
    row(`bulk revocation of ${run.value.revoked}`, `${run.seconds.toFixed(1)} s, ${rate}/s`);
    const used = (await processorSeconds(instance.pid)) - worked;
    row("processor time of the server", `${used.toFixed(1)} s`);
    if (waits !== undefined) {
      row("others meanwhile: OCSP, p99 and worst", figure(waits.ocsp));
      row("others meanwhile: single revocation, p99 and worst", figure(waits.revoke));
    }
    const grown = (await peak(instance.pid)) - before;
    row("resident memory grown at its peak", `${grown.toFixed(0)} MB`);
    const { valid, events } = await instance.admin<{ valid: boolean; events: number }>(
      "GET",
      "/api/events/verify",
    );
    row("audit chain after it", `${valid ? "valid" : "BROKEN"}, ${events} events`);
  } finally {
    await instance.dispose();
  }
}

/**
 * Somebody who asks OCSP and somebody who revokes under another CA, one request after the other,
 * until the end.
 */
function disturb(instance: Instance, { ca, root }: Cas, issuer: string) {
  const waits = { ocsp: [] as number[], revoke: [] as number[] };
  let going = true;
  const again = async (kept: number[], work: (at: number) => Promise<unknown>) => {
    for (let at = 0; going; at++) kept.push((await timed(() => work(at))).seconds * 1000);
  };
  const base = `${instance.publicUrl}/api/ca/${ca}/ocsp`;
  const both = Promise.all([
    again(waits.ocsp, async (at) => {
      const body = question({ base, issuer, serial: made(at * 7).serial });
      const headers = { "content-type": "application/ocsp-request" };
      const response = await fetch(base, { method: "POST", body: new Uint8Array(body), headers });
      if (!response.ok) throw new Error(`OCSP answered ${response.status}`);
      await response.arrayBuffer();
    }),
    again(waits.revoke, (at) =>
      instance.admin("POST", `/api/ca/${root}/revoke`, { serial: String(at + 1) }),
    ),
  ]);
  return {
    end: async () => {
      going = false;
      await both;
      return waits;
    },
  };
}

interface Cas {
  readonly ca: string;
  readonly root: string;
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; seconds: number }> {
  const begun = performance.now();
  const value = await work();
  return { value, seconds: (performance.now() - begun) / 1000 };
}

function figure(waits: readonly number[]): string {
  const sorted = waits.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  return `${p99.toFixed(0)} ms, ${(sorted.at(-1) ?? 0).toFixed(0)} ms, of ${sorted.length}`;
}

/** The most megabytes the process ever held. */
async function peak(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
