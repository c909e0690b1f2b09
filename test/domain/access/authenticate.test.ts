/** Authentication: the evaluation order, and refusals that say nothing about why. */

import { beforeEach, expect, test } from "bun:test";

import { Problem } from "#core/problems.ts";
import { type Authenticate, authenticator } from "#domain/access/authenticate.ts";
import type { Presented } from "#domain/access/presented.ts";
import { ApiTokens } from "#domain/access/tokens.ts";
import { type MemoryStore, openMemoryStore } from "#test/support/memory-store.ts";
import { seededRandom, type TestClock, testClock } from "#test/support/ports.ts";

let store: MemoryStore;
let clock: TestClock;
let checks: number;

beforeEach(() => {
  store = openMemoryStore();
  clock = testClock();
  checks = 0;
});

test("root with the right password is a platform admin", async () => {
  const principal = await ask(authenticate(), basic("root", "correct"));
  expect(principal?.isRoot).toBe(true);
  expect(principal?.subject).toBe("root");
});

test("a wrong name and a wrong password are one refusal and take one password check each", async () => {
  const login = authenticate();
  for (const credential of [basic("root", "wrong"), basic("admin", "correct")]) {
    expect(await refusalOf(ask(login, credential))).toBe("invalid_credentials");
  }
  expect(checks).toBe(2);
});

test("an empty password is refused before it is checked", async () => {
  expect(await refusalOf(ask(authenticate(), basic("root", "")))).toBe("invalid_credentials");
  expect(checks).toBe(0);
});

test("root's right password is refused while Basic is switched off for root", async () => {
  const login = authenticate(false);
  expect(await refusalOf(ask(login, basic("root", "correct")))).toBe("invalid_credentials");
});

test("the slow hash runs once for a password that passed", async () => {
  const login = authenticate();
  await ask(login, basic("root", "correct"));
  await ask(login, basic("root", "correct"));
  expect(checks).toBe(1);
});

test("failures from one address fold into one event a minute", async () => {
  const login = authenticate();
  for (let i = 0; i < 5; i++) await refusalOf(ask(login, basic("root", `wrong-${i}`)));
  expect(store.state.events.size).toBe(1);
  clock.advance(60);
  await refusalOf(ask(login, basic("root", "wrong")));
  const events = [...store.state.events.values()];
  expect(events.length).toBe(2);
  expect(events[1]?.detail).toContain("count=5");
});

test("a password never enters an event", async () => {
  await refusalOf(ask(authenticate(), basic("root", "hunter2-hunter2")));
  expect(JSON.stringify([...store.state.events.values()])).not.toContain("hunter2");
});

test("a bearer without a provider and malformed credentials are refused, never ignored", async () => {
  const login = authenticate();
  expect(await refusalOf(ask(login, { kind: "bearer", token: "x" }))).toBe("invalid_token");
  expect(await refusalOf(ask(login, { kind: "malformed", scheme: "token" }))).toBe("invalid_token");
  expect(await refusalOf(ask(login, { kind: "malformed", scheme: "basic" }))).toBe(
    "invalid_credentials",
  );
});

test("nothing presented is nobody, and the local socket is one person whoever calls", async () => {
  const login = authenticate();
  expect(await ask(login, { kind: "none" })).toBeUndefined();
  const alice = await ask(login, { kind: "local", user: "alice" });
  const bob = await ask(login, { kind: "local", user: "bob" });
  expect(alice?.subject).toBe("local:alice");
  expect(alice?.person).toBe(bob?.person ?? "nobody");
});

function authenticate(basicAllowed = true): Authenticate {
  const tokens = new ApiTokens({
    ...{ store, clock, random: seededRandom(), maxLifetimeDays: 0, onVerified: () => {} },
  });
  return authenticator({
    ...{ store, clock, tokens, onLogin: () => {} },
    root: { username: "root", passwordHash: "hash of correct", basicAllowed },
    checkPassword: async (password, hash) => {
      checks += 1;
      return hash === `hash of ${password}`;
    },
  });
}

const basic = (name: string, password: string): Presented => ({ kind: "basic", name, password });

const ask = (login: Authenticate, presented: Presented) => login(presented, "192.0.2.7", "r1");

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const outcome = await work.then(
    () => "accepted",
    (error: unknown) => error,
  );
  return outcome instanceof Problem ? outcome.code : String(outcome);
}
