/** Which keys a signer uses on its own thread, and when it leaves them to its workers. */

import { expect, test } from "bun:test";

import { QuickKeys } from "#adapters/keys/pkcs11/quick-keys.ts";

test("a key whose signatures take less than handing them over is used here, once that is known", () => {
  const world = opened();
  for (let made = 0; made < 32; made++) {
    expect(world.sign()).toBeUndefined();
    world.learn(0.05);
  }
  expect(world.sign()).toEqual(signature);
  expect(world.sign({ label: "other" })).toBeUndefined();
  expect(world.sign({ algorithm: "ecdsa-sha384" })).toBeUndefined();
  expect(world.session_pool_size).toBe(1);
});

test("a device that takes its time keeps all its keys with the workers, and costs no token session", () => {
  const world = opened();
  for (let made = 0; made < 1000; made++) world.learn(0.5);
  expect(world.sign()).toBeUndefined();
  expect(world.session_pool_size).toBe(0);
});

test("a call that had to wait says nothing of how long the token takes", () => {
  const world = opened();
  for (let made = 0; made < 31; made++) world.learn(40);
  world.learn(0.05);
  expect(world.sign()).toEqual(signature);
});

test("a message that takes long to hash is left to a worker", () => {
  const world = quick();
  expect(world.sign({ octets: 16 * 1024 })).toEqual(signature);
  expect(world.sign({ octets: 16 * 1024 + 1 })).toBeUndefined();
});

test("a key that has become slow goes back to the workers", () => {
  const world = quick();
  world.signMs = 3;
  const here = Array.from({ length: 200 }, () => world.sign()).filter(Boolean);
  expect(here.length).toBeLessThan(20);
  expect(world.sign()).toBeUndefined();
});

test("what fails here is left to a worker, the token session is left, and every key has to show its pace again", () => {
  const world = quick();
  world.fails = true;
  expect(world.sign()).toBeUndefined();
  expect(world.left).toBe(1);
  world.fails = false;
  expect(world.sign()).toBeUndefined();
  for (let made = 0; made < 32; made++) world.learn(0.05);
  expect(world.sign()).toEqual(signature);
  expect(world.session_pool_size).toBe(2);
});

test("a token session that cannot be opened is left to a worker as well", () => {
  const world = opened();
  for (let made = 0; made < 32; made++) world.learn(0.05);
  world.closed = true;
  expect(world.sign()).toBeUndefined();
  expect(world.left).toBe(0);
});

/** Quick keys on a clock of our own. */
function opened() {
  const world = {
    signMs: 0.05,
    fails: false,
    closed: false,
    session_pool_size: 0,
    left: 0,
    sign: ({ label = "a", algorithm = "ecdsa-sha256", octets = 1 }: Asked = {}) =>
      keys.sign({ id: "00", label }, algorithm, Buffer.alloc(octets)),
    learn: (elapsedMs: number) => keys.learn({ id: "00", label: "a" }, "ecdsa-sha256", elapsedMs),
  };
  let now = 0;
  const tokenSession = {
    sign: () => {
      now += world.signMs;
      if (world.fails) throw new Error("CKR_SESSION_HANDLE_INVALID");
      return signature;
    },
    leave: () => {
      world.left++;
    },
  };
  const open = () => {
    if (world.closed) throw new Error("CKR_SESSION_COUNT");
    world.session_pool_size++;
    return tokenSession;
  };
  const keys = new QuickKeys(open, () => now);
  return world;
}

/** The same, once the key is used here. */
function quick() {
  const world = opened();
  for (let made = 0; made < 32; made++) world.learn(0.05);
  expect(world.sign()).toEqual(signature);
  return world;
}

interface Asked {
  readonly label?: string;
  readonly algorithm?: "ecdsa-sha256" | "ecdsa-sha384";
  readonly octets?: number;
}

const signature = Uint8Array.of(1);
