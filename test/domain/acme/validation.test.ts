/** When proofs are looked for: at once, and again when it is due, whatever else is (CHA-1). */

import { beforeEach, expect, test } from "bun:test";

import { nextTurn } from "#core/turns.ts";
import type { Validation } from "#domain/acme/validation.ts";
import type { ValidationTask } from "#domain/acme/validators.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import type { TestClock } from "#test/support/ports.ts";
import { challenges, clockAtNoon, seeking } from "#test/support/worlds/seeking.ts";
import { until } from "#test/support/until.ts";

let store: MemoryStore;
let clock: TestClock;
let validation: Validation;
/** Hosts in the order in which they were asked. */
let asked: string[];
/** Those that show the proof by now. */
let shown: Set<string>;

beforeEach(() => {
  store = createMemoryStore();
  clock = clockAtNoon();
  asked = [];
  shown = new Set();
  validation = seeking({ store, clock, validators: { attempt: async (task) => outcomeOf(task) } });
});

function outcomeOf({ identifier }: ValidationTask) {
  asked.push(identifier.value);
  if (shown.has(identifier.value)) return { proved: true, addresses: [] } as const;
  const problem = { type: "connection", detail: "There is nobody." } as const;
  return { proved: false, problem } as const;
}

/** A challenge of an account and a host of its own, put to work. */
async function begun(host: string): Promise<string> {
  const [challenge] = await challenges(store, [host]);
  if (challenge === undefined) throw new Error("a challenge was made");
  await validation.begin(challenge, async () => {});
  await settled(challenge.id, 1);
  return challenge.id;
}

/** Waits until what became of an attempt is written. */
const settled = (id: string, attempt: number) =>
  until(async () => {
    const found = await store.read.acme.challenge(id);
    const { attempts = 0, status, error } = found?.challenge ?? {};
    return attempts >= attempt && (status !== "processing" || error !== undefined);
  });

/** One second after the other, with a look in each, as the schedule has it. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1);
    await validation.run();
    for (let turn = 0; turn < 20; turn++) await nextTurn();
  }
}

test("a proof that failed is looked for again after 2 seconds, then after 10", async () => {
  const id = await begun("a.test");
  await validation.run();
  await pass(1);
  expect(asked).toEqual(["a.test"]);
  await pass(1);
  await settled(id, 2);
  expect(asked).toEqual(["a.test", "a.test"]);
  await pass(9);
  expect(asked).toEqual(["a.test", "a.test"]);
  shown.add("a.test");
  await pass(1);
  expect(asked).toEqual(["a.test", "a.test", "a.test"]);
  const found = await store.read.acme.challenge(id);
  expect(found).toMatchObject({ challenge: { status: "valid" } });
});

test("CHA-1: from the third failure on a proof is looked for every 30 seconds", async () => {
  const id = await begun("a.test");
  await pass(2);
  await settled(id, 2);
  await pass(10);
  await settled(id, 3);
  expect(asked).toHaveLength(3);
  await pass(29);
  expect(asked).toHaveLength(3);
  await pass(1);
  await settled(id, 4);
  expect(asked).toHaveLength(4);
  const found = await store.read.acme.challenge(id);
  expect(found?.challenge).toMatchObject({ status: "invalid", attempts: 4 });
  await pass(120);
  expect(asked).toHaveLength(4);
});

test("CHA-1: where more attempts are allowed, 30 seconds lie between all further ones", async () => {
  const attempt = async (task: ValidationTask) => outcomeOf(task);
  validation = seeking({ store, clock, validators: { attempt }, acme: { validation_attempts: 6 } });
  const id = await begun("a.test");
  const times: number[] = [];
  for (let second = 1; second <= 110; second++) {
    const before = asked.length;
    await pass(1);
    if (asked.length > before) times.push(second);
  }
  expect(times).toEqual([2, 12, 42, 72, 102]);
  const found = await store.read.acme.challenge(id);
  expect(found?.challenge).toMatchObject({ status: "invalid", attempts: 6 });
});

test("each of several is looked for when it is due, not when the first one is", async () => {
  await begun("a.test");
  await pass(1);
  await begun("b.test");
  await pass(1);
  expect(asked).toEqual(["a.test", "b.test", "a.test"]);
  await pass(1);
  expect(asked).toEqual(["a.test", "b.test", "a.test", "b.test"]);
});

test("of each attempt it is told whether it proved, was denied, or nobody could say", async () => {
  const words = {
    connection: "error",
    dns: "error",
    tls: "error",
    unauthorized: "denied",
    incorrectResponse: "denied",
    rejectedIdentifier: "denied",
  } as const;
  const told: string[] = [];
  const types = Object.keys(words) as readonly (keyof typeof words)[]; // Its keys.
  let next: keyof typeof words | undefined;
  validation = seeking({
    store,
    clock,
    validators: {
      attempt: async () =>
        next === undefined
          ? { proved: true, addresses: [] }
          : { proved: false, problem: { type: next, detail: "So it is." } },
    },
    onAttempt: (type, word) => told.push(`${type} ${word}`),
  });
  for (const type of types) {
    next = type;
    await begun(`${type}.test`);
  }
  next = undefined;
  await begun("proved.test");
  const expected = [...types.map((type) => words[type]), "success"];
  expect(told).toEqual(expected.map((word) => `http-01 ${word}`));
});
