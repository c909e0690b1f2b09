/** Connections are shed before the process lacks file descriptors, and accepted again after. */

import { describe, expect, test } from "bun:test";

import {
  type Acceptance,
  computeAcceptedFilesMax,
  computeBacklog,
  computeOpenFilesMax,
  ConnectionGate,
} from "#adapters/sockets/connection-gate.ts";

/** Returns a gate over numbers, and a list of its actions. */
function createGate() {
  const state = { open: 60, elapsed: 0 };
  const done: string[] = [];
  const lines: string[] = [];
  const acceptance: Acceptance = {
    refresh: () => done.push("refresh"),
    pause: () => done.push("pause"),
    resume: () => done.push("resume"),
    limitOpenFiles: (max) => done.push(String(max)),
    shed: () => {
      done.push("shed");
      return 7;
    },
  };
  const gate = new ConnectionGate({
    acceptance,
    limit: 1024,
    countOpenFiles: () => state.open,
    stopwatch: { elapsedMs: () => state.elapsed },
    log: { write: (_level, message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`) },
  });
  /** Counts this number of open files, and returns the actions of the gate. */
  const check = (open: number) => {
    state.open = open;
    const nextMs = gate.check();
    return { did: done.splice(0), nextMs };
  };
  return { gate, check, done, lines, state };
}

describe("a gate for 768 of 1,024 open files", () => {
  test("the gate pauses the listeners, sheds waiting clients, and resumes when descriptors are free", () => {
    const { check } = createGate();
    expect(check(60).did).toEqual(["refresh"]);
    expect(check(767).did).toEqual([]);
    expect(check(768).did).toEqual(["pause", "1024", "shed"]);
    expect(check(760).did).toEqual(["shed"]);
    expect(check(740).did).toEqual(["shed", "896", "resume"]);
    expect(check(740).did).toEqual([]);
  });

  test("the gate counts more often if fewer descriptors are left", () => {
    const { check } = createGate();
    expect(check(60).nextMs).toBeLessThanOrEqual(25);
    expect(check(704).nextMs).toBe(1);
    expect(check(Number.POSITIVE_INFINITY).nextMs).toBe(1);
  });

  test("the gate pauses sockets that replaced others during an attack", () => {
    const { gate, check } = createGate();
    check(800);
    gate.refresh();
    expect(check(800).did).toEqual(["refresh", "pause", "shed"]);
  });

  test("the gate limits open files while it accepts, and opens when it ends", () => {
    const { gate, done, state } = createGate();
    state.open = 800;
    const end = gate.start();
    end();
    const closed = ["896", "refresh", "pause", "1024", "shed"];
    expect(done).toEqual([...closed, "896", "resume", "1024"]);
  });

  test("the gate logs one line per minute, with the number of connections shed since the last", () => {
    const { check, lines, state } = createGate();
    for (let round = 0; round < 3; round++) {
      check(800);
      check(700);
    }
    expect(lines).toHaveLength(1);
    state.elapsed = 60_000;
    check(800);
    expect(lines[1]).toBe('connections_shed {"open_files":800,"open_files_max":768,"shed":42}');
  });
});

test("a quarter of the descriptors is a reserve, of at least 128 and at most 1,024", () => {
  const limits = [256, 1024, 2048, 65_536];
  expect(limits.map(computeOpenFilesMax)).toEqual([128, 768, 1536, 64_512]);
  expect(limits.map(computeAcceptedFilesMax)).toEqual([192, 896, 1792, 65_024]);
  expect(limits.map(computeBacklog)).toEqual([64, 128, 256, undefined]);
});
