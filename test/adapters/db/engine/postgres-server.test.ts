/** Tests which PostgreSQL servers an engine admits, by the state that a server reports. */

import { expect, test } from "bun:test";

import { UnusableServerError } from "#adapters/db/engine/faults.ts";
import { type ServerState, SharedServer } from "#adapters/db/engine/postgres-server.ts";

const primary: ServerState = {
  backend: "17",
  identity: "1700000000.5 7000 00000001",
  isStandby: false,
  isReadOnly: false,
  unsafeSettings: [],
  clockMs: 0,
};
const successor = { ...primary, backend: "18", identity: "1700000009.5 7000 00000002" };

function findReason(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error instanceof UnusableServerError ? error.reason : String(error);
  }
}

test("the first connection defines the server, and connections to any other are refused", () => {
  const server = new SharedServer(false);
  expect(findReason(() => server.admit(primary))).toBeUndefined();
  expect(findReason(() => server.admit({ ...primary, backend: "19" }))).toBeUndefined();
  expect(findReason(() => server.admit(successor))).toBe("other_server");
  for (const part of ["1700000000.6 7000 00000001", "1700000000.5 7001 00000001"]) {
    expect(findReason(() => server.admit({ ...primary, identity: part }))).toBe("other_server");
  }
  server.reset();
  expect(server.includes(primary)).toBe(false);
  expect(findReason(() => server.readmit(primary, primary))).toBe("other_server");
  expect(findReason(() => server.admit(successor))).toBeUndefined();
  expect(findReason(() => server.admit(primary))).toBe("other_server");
});

test("a server that takes no writes is refused by a store, and accepted by a command that reads", () => {
  const states = [
    [{ isStandby: true, isReadOnly: true }, "standby"],
    [{ isReadOnly: true }, "read_only"],
  ] as const;
  for (const [change, reason] of states) {
    const state = { ...primary, ...change };
    expect(findReason(() => new SharedServer(false).admit(state))).toBe(reason);
    expect(findReason(() => new SharedServer(true).admit(state))).toBeUndefined();
    const server = new SharedServer(false);
    server.admit(primary);
    expect(findReason(() => server.readmit(primary, state))).toBe(reason);
  }
});

test("a connection whose server process changes is behind a pooler in transaction mode", () => {
  const server = new SharedServer(false);
  server.admit(primary);
  const now = { ...primary, backend: "18" };
  expect(findReason(() => server.readmit(primary, now))).toBe("transaction_pooling");
});

test("a server that becomes read-only is reported as read-only also after a reset", () => {
  const server = new SharedServer(false);
  server.admit(primary);
  server.reset();
  const now = { ...primary, isReadOnly: true };
  expect(findReason(() => server.readmit(primary, now))).toBe("read_only");
  expect(findReason(() => server.readmit(primary, primary))).toBe("other_server");
});

test("the epoch counts servers: it remains after a lost connection to the same one", () => {
  const server = new SharedServer(false);
  server.admit(primary);
  const { epoch } = server;
  server.reset();
  server.admit(primary);
  expect(server.epoch).toBe(epoch);
  server.reset();
  server.admit(successor);
  expect(server.epoch).toBe(epoch + 1);
});
