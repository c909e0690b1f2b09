/**
 * What a bulk issue does: ten thousand requests in one call, and the same call again, which finds
 * them all issued.
 */

import { csr, newKey } from "#test/support/worlds/issuance.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { row, section } from "./print.ts";
import type { Bench } from "./scenario.ts";

/** Prints plan, execution and repetition. */
export async function bulk({ binary }: Bench, size = 10_000): Promise<void> {
  section("bulk", `bulk issue of ${size.toLocaleString("en")}, software keys, 64 at a time`);
  const key = newKey("ecdsa-p256");
  const items = Array.from({ length: size }, (_, index) => ({
    csr: csr({ key, dns: [`host-${index}.example.test`], subject: [] }),
  }));
  const order = { operation_id: "bench", items, concurrency: 64 };
  const instance = await Instance.start({
    binary,
    config: { log: { level: "info", format: "json" } },
  });
  try {
    const { intermediateId } = await createChain(instance, "ecdsa-p256");
    const call = async (request: object): Promise<BulkAnswer> => {
      const path = `/api/ca/${intermediateId}/certificates:bulk`;
      const began = performance.now();
      const answer = await instance.admin<Omit<BulkAnswer, "seconds">>("POST", path, {
        ...order,
        ...request,
      });
      return { ...answer, seconds: (performance.now() - began) / 1000 };
    };
    const plan = await call({ dry_run: true });
    row("plan", `${plan.seconds.toFixed(1)} s, ${plan.valid} valid`);
    const first = await call({ confirm_count: size });
    const rate = (size / first.seconds).toFixed(0);
    row("execution", `${first.seconds.toFixed(1)} s, ${rate}/s, ${first.failed} failed`);
    const again = await call({ confirm_count: size });
    row("repetition", `${again.seconds.toFixed(1)} s, ${again.failed} failed`);
    const { valid, events } = await instance.admin<{ valid: boolean; events: number }>(
      "GET",
      "/api/events/verify",
    );
    row("audit chain after it", `${valid ? "valid" : "BROKEN"}, ${events} events`);
  } finally {
    await instance.dispose();
  }
}

interface BulkAnswer {
  readonly seconds: number;
  readonly valid: number;
  readonly issued: number;
  readonly failed: number;
}
