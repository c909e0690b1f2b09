/** Whatever held the thread that serves requests is counted and logged with its name. */

import { expect, test } from "bun:test";

import type { Exchange, Observer } from "#http/exchange.ts";
import { LoopWatch } from "#http/loop-watch.ts";

function world() {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const passed: string[] = [];
  const time = { now: 1000, cpu: 0, held: 0 };
  const next: Observer = {
    began: ({ requestId }) => passed.push(`began ${requestId}`),
    ended: ({ requestId }) => passed.push(`ended ${requestId}`),
  };
  const watch = new LoopWatch({
    next,
    stopwatch: { elapsedMs: () => time.now },
    log: { write: (level, message, facts) => lines.push({ level, message, ...facts }) },
    onBlocked: () => time.held++,
    cpuMs: () => time.cpu,
  });
  const stop = watch.start();
  stop(); // The test looks itself.
  return { watch, lines, passed, time };
}

const exchange = (requestId: string, movedAt: number, operation?: string) =>
  // What the watch looks at.
  ({ requestId, movedAt, operation, route: `/${requestId}` }) as Exchange;

test("a look in time says nothing", () => {
  const { watch, lines, time } = world();
  for (let round = 0; round < 10; round++) {
    time.now += 70;
    watch.look();
  }
  expect(lines).toEqual([]);
  expect(time.held).toBe(0);
});

test("a late look names the request that moved on meanwhile, and not the one that waits for a token", () => {
  const { watch, lines, time, passed } = world();
  watch.began(exchange("waits", 200, "cert.issue"));
  watch.began(exchange("works", 1001, "cert.issue_bulk"));
  time.now += 225;
  time.cpu += 190;
  watch.look();
  expect(lines).toEqual([
    {
      level: "warn",
      message: "event_loop_held",
      held_ms: 200,
      cpu_ms: 190,
      operations: ["cert.issue_bulk"],
      request_ids: ["works"],
    },
  ]);
  expect(time.held).toBe(1);
  expect(passed).toEqual(["began waits", "began works"]);
});

test("a request that has been answered before the look is named as well, once", () => {
  const { watch, lines, time } = world();
  const held = exchange("page", 1001);
  watch.began(held);
  held.movedAt = 1200;
  watch.ended(held, { status: 200, bytesOut: 0, durationMs: 199 });
  time.now = 1200;
  watch.look();
  time.now = 1400;
  watch.look();
  expect(lines.map(({ operations }) => operations)).toEqual([["/page"], []]);
});

test("when nothing was seen to move, all that is under way is named, eight at most", () => {
  const { watch, lines, time } = world();
  for (let at = 0; at < 20; at++) watch.began(exchange(`r${at}`, 0, "cert.lint"));
  time.now += 500;
  watch.look();
  expect(lines[0]?.request_ids).toEqual(["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"]);
});
