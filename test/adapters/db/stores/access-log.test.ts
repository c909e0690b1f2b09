/** The buffer of the access log: what is kept back, and when it is written. */

import { expect, test } from "bun:test";

import { instant } from "#core/time.ts";
import { AccessLog, type AccessLogTarget, batchRows } from "#adapters/db/stores/access-log.ts";
import { until } from "#test/support/until.ts";
import { plainRow } from "#test/support/stores/access-log-rows.ts";

const row = plainRow(instant(1_700_000_000_000));

test("rows whose time comes while others are written are written after them, though none follows", async () => {
  let written = 0;
  const target: AccessLogTarget = {
    // Read through the store, which has a suite of its own.
    reads: undefined as never,
    insert: async (rows) => {
      // Longer than a row is kept back.
      if (written === 0) await Bun.sleep(700);
      written += rows.length;
    },
    prune: async () => false,
    rest: async () => {},
    close: async () => {},
  };
  const log = new AccessLog({ target, onFault: () => {} });
  for (let n = 0; n < batchRows + 20; n++) log.add(row);
  await until(() => written === batchRows + 20);
  await log.close();
  expect([written, log.dropped]).toEqual([batchRows + 20, 0]);
});
