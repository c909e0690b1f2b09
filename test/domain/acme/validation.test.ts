/** When proofs are looked for: at once, and again when it is due, whatever else is (CHA-1). */

import { beforeEach, expect, test } from "bun:test";

import { Directories } from "#domain/acme/directories.ts";
import { Validation } from "#domain/acme/validation.ts";
import type { ValidationTask } from "#domain/acme/validators.ts";
import { type MemoryStore, openMemoryStore } from "#test/support/memory/store.ts";
import { type TestClock, testClock } from "#test/support/ports.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { noon } from "#test/support/stores/records.ts";
import { until } from "#test/support/until.ts";

let store: MemoryStore;
let clock: TestClock;
let validation: Validation;
/** Tokens in the order in which they were looked for. */
let asked: string[];
/** Those that are there by now. */
let shown: Set<string>;

beforeEach(() => {
  store = openMemoryStore();
  clock = testClock(new Date(noon).toISOString());
  asked = [];
  shown = new Set();
  validation = new Validation({
    store,
    clock,
    config: () => ({ acme, caa: { identifier: undefined } }),
    directories: new Directories({ store, config: () => ({ acme: served }) }),
    validators: { attempt: async (task) => outcomeOf(task) },
    onAttempt: () => {},
    onFault: (error) => {
      throw error;
    },
  });
});

function outcomeOf({ token }: ValidationTask) {
  asked.push(token);
  if (shown.has(token)) return { proved: true, addresses: [] } as const;
  const problem = { type: "connection", detail: "There is nobody." } as const;
  return { proved: false, problem } as const;
}

/** A challenge of an account and a name of its own, put to work. */
async function begun(token: string): Promise<string> {
  const account = make.account();
  const proof = make.authorization(
    { account: account.id, identifier: { type: "dns", value: `${token}.test` } },
    [],
  );
  const challenge = make.challenge({ authorization: proof.id, token });
  await store.atomically(async (tx) => {
    await tx.acme.addAccount(account);
    await tx.acme.addAuthorization({ ...proof, challenges: [challenge] });
  });
  await validation.begin(challenge.id, async () => {});
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
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  }
}

test("a proof that failed is looked for again after 2 seconds, then after 10", async () => {
  const id = await begun("a");
  await validation.run();
  await pass(1);
  expect(asked).toEqual(["a"]);
  await pass(1);
  await settled(id, 2);
  expect(asked).toEqual(["a", "a"]);
  await pass(9);
  expect(asked).toEqual(["a", "a"]);
  shown.add("a");
  await pass(1);
  expect(asked).toEqual(["a", "a", "a"]);
  const found = await store.read.acme.challenge(id);
  expect(found).toMatchObject({ challenge: { status: "valid" } });
});

test("each of several is looked for when it is due, not when the first one is", async () => {
  await begun("a");
  await pass(1);
  await begun("b");
  await pass(1);
  expect(asked).toEqual(["a", "b", "a"]);
  await pass(1);
  expect(asked).toEqual(["a", "b", "a", "b"]);
});

const acme = {
  enabled: true,
  terms_of_service: undefined,
  renewal_explanation_url: undefined,
  challenge_types: ["http-01"],
  validation_attempts: 4,
  validation_timeout_seconds: 10,
  allow_ip_identifiers: false,
  pre_authorization: false,
  order_validity_hours: 1,
  authz_validity_hours: 1,
  idle_account_days: 365,
  max_identifiers: 10,
  renewal_window_days: 0,
  renewal_window_width_hours: 0,
  renewal_poll_hours: 6,
} as const;

const served = {
  enabled: true,
  base_url: "https://ca.test",
  directory_path: "/acme",
  profiles: {},
  directories: {},
  ca_id: undefined,
  ca_label: "ca",
  profile: "server",
  require_eab: false,
} as const;
