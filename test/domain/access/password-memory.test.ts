/** What is remembered of passwords: for a while, bounded, and never beyond the account it is of. */

import { describe, expect, test } from "bun:test";

import { AttemptKeys } from "#domain/access/login-attempt.ts";
import { PasswordMemory } from "#domain/access/password-memory.ts";
import { RootAccount } from "#domain/access/root-account.ts";
import { seededRandom } from "#test/support/ports.ts";
import { handClock, turnWorld } from "#test/support/worlds/turns.ts";

const minutes = (count: number): number => count * 60_000;

/** Root's account, whose slow hash is counted. */
function world() {
  const { turns, pass, time } = turnWorld();
  const clock = handClock();
  let checks = 0;
  const root = new RootAccount({
    username: "root",
    passwordHash: "hash of correct",
    checkPassword: async (password, hash) => {
      checks += 1;
      return hash === `hash of ${password}`;
    },
    turns,
    attempts: new AttemptKeys(seededRandom()),
    memory: new PasswordMemory(clock),
  });
  const verify = (name: string, password: string) => root.verify(name, password, { ip: "::1" });
  return { verify, checks: () => checks, pass, time, clock };
}

describe("a password that has been looked at", () => {
  test("takes no second look, right or wrong", async () => {
    const { verify, checks } = world();
    for (let n = 0; n < 3; n++) {
      expect(await verify("root", "correct")).toBe(true);
      expect(await verify("root", "stale")).toBe(false);
      expect(await verify("nobody", "correct")).toBe(false);
    }
    expect(checks()).toBe(3);
  });

  test("is another one under a name that reads alike, or with a part moved to the name", async () => {
    const { verify } = world();
    expect(await verify("root", "correct")).toBe(true);
    for (const [name, password] of [
      ["ROOT", "correct"],
      ["root\0", "correct"],
      ["rootc", "orrect"],
      ['root","correct', ""],
      ["root", "correct "],
    ] as const) {
      expect(await verify(name, password)).toBe(false);
    }
  });

  test("is forgotten when nobody has used it for a quarter of an hour", async () => {
    const { verify, checks, clock } = world();
    expect(await verify("root", "correct")).toBe(true);
    await clock.pass(minutes(14));
    expect(await verify("root", "correct")).toBe(true);
    await clock.pass(minutes(14));
    expect(await verify("root", "correct")).toBe(true);
    expect(checks()).toBe(1);
    await clock.pass(minutes(15));
    expect(await verify("root", "correct")).toBe(true);
    expect(checks()).toBe(2);
  });

  test("that was wrong is remembered for as long, however often it is repeated", async () => {
    const { verify, checks, clock } = world();
    for (let minute = 0; minute < 15; minute++) {
      expect(await verify("root", "stale")).toBe(false);
      await clock.pass(minutes(1));
    }
    expect(checks()).toBe(1);
    expect(await verify("root", "stale")).toBe(false);
    expect(checks()).toBe(2);
  });
});

test("of wrong passwords the last thousands are remembered, and the right one whatever comes", () => {
  const memory = new PasswordMemory(handClock());
  memory.keep("right", true);
  for (let n = 0; n < 5000; n++) memory.keep(`wrong ${n}`, false);
  expect(memory.isRight("right")).toBe(true);
  expect(memory.isWrong("wrong 0")).toBe(false);
  expect(memory.isWrong("wrong 4999")).toBe(true);
  expect(memory.isWrong("right")).toBe(false);
});
