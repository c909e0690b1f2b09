/** What every key operation passes on its way: the guard, single use, verification, measures. */

import { describe, expect, test } from "bun:test";

import { guarded, Turns } from "#adapters/keys/guard.ts";
import { tellingLeftBehind } from "#adapters/keys/left-behind.ts";
import { measured, publicKeyOf } from "#adapters/keys/measure.ts";
import { routed } from "#adapters/keys/route.ts";
import { verified } from "#adapters/keys/verify.ts";
import { refuse } from "#core/problems.ts";
import type { SignTicket } from "#domain/signing/ticket.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import { type MemoryKeys, openMemoryKeys } from "#test/support/keys/memory-keys.ts";
import { ticketFor } from "#test/support/keys/signing.ts";

const message = Buffer.from("to be signed");
const ca = { provider: "software", label: "ca", keyType: "ecdsa-p256", role: "ca" } as const;

test("a key, a KEK and a half that cannot be destroyed are named in the log, and the caller hears why", async () => {
  const keys = openMemoryKeys();
  const stays = () => Promise.reject(refuse("key_unavailable", { retry_after: 2 }));
  const { ref } = await keys.generate(ca);
  const failing: Keys = {
    ...keys,
    destroy: stays,
    keks: { ...keys.keks, destroy: stays, halves: { ...keys.keks.halves, destroy: stays } },
  };
  const told: unknown[] = [];
  const fault = (sentence: string, { label }: Readonly<Record<string, unknown>>) => {
    told.push([sentence, label]);
  };
  const telling = tellingLeftBehind(failing, { fault });
  for (const destroy of [telling, telling.keks, telling.keks.halves]) {
    await expect(destroy.destroy(ref)).rejects.toMatchObject({ code: "key_unavailable" });
  }
  expect(told).toEqual([
    ["A key could not be destroyed and is still there.", "ca"],
    ["A key-encryption key could not be destroyed and is still there.", "ca"],
    ["A half of a key-encryption key could not be destroyed and is still there.", "ca"],
  ]);
  await tellingLeftBehind(keys, { fault }).destroy(ref);
  expect(told).toHaveLength(3);
});

describe("the guard", () => {
  const slowKeys = async () => {
    const keys = openMemoryKeys();
    const held = await keys.generate(ca);
    const gates: (() => void)[] = [];
    let running = 0;
    let most = 0;
    keys.checkTicket = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((open) => gates.push(open));
      running -= 1;
    };
    return { keys, held, gates, most: () => most };
  };
  const settings = { max_in_flight: 2, max_queue: 1, acquire_timeout_ms: 60_000 };

  test("lets no more through than it may, in order, and sheds what finds no place", async () => {
    const { keys, held, gates, most } = await slowKeys();
    const guard = guarded(keys, () => settings);
    const work = [1, 2, 3].map(() => sign(guard, held));
    await expect(sign(guard, held)).rejects.toMatchObject({ code: "overloaded" });
    for (let opened = 0; opened < 3; ) {
      await Bun.sleep(0);
      if (gates[opened] === undefined) continue;
      gates[opened]?.();
      opened += 1;
    }
    await Promise.all(work);
    expect(most()).toBe(2);
  });

  test("sheds what has waited too long, and the place stays usable", async () => {
    const { keys, held, gates } = await slowKeys();
    const guard = guarded(keys, () => ({ max_in_flight: 1, max_queue: 9, acquire_timeout_ms: 5 }));
    const running = sign(guard, held);
    await expect(sign(guard, held)).rejects.toMatchObject({ code: "overloaded" });
    while (gates.length === 0) await Bun.sleep(1);
    gates[0]?.();
    await running;
    keys.checkTicket = () => {};
    await sign(guard, held);
  });

  test("with a waiting time of 0 it waits as long as it takes", async () => {
    const { keys, held, gates } = await slowKeys();
    const guard = guarded(keys, () => ({ max_in_flight: 1, max_queue: 9, acquire_timeout_ms: 0 }));
    const work = [sign(guard, held), sign(guard, held)];
    await Bun.sleep(20);
    while (gates.length === 0) await Bun.sleep(1);
    gates[0]?.();
    await work[0];
    keys.checkTicket = () => {};
    gates[1]?.();
    await Promise.all(work);
  });

  test("goes by the limits in force, also after they were lowered and raised", async () => {
    const { keys, held, gates } = await slowKeys();
    let max_in_flight = 3;
    const guard = guarded(keys, () => ({ max_in_flight, max_queue: 0, acquire_timeout_ms: 0 }));
    const first = [1, 2, 3].map(() => sign(guard, held));
    max_in_flight = 1;
    await expect(sign(guard, held)).rejects.toMatchObject({ code: "overloaded" });
    max_in_flight = 4;
    const fourth = sign(guard, held);
    await expect(sign(guard, held)).rejects.toMatchObject({ code: "overloaded" });
    while (gates.length < 4) await Bun.sleep(1);
    for (const open of gates) open();
    await Promise.all([...first, fourth]);
  });

  test("what makes a revocation known waits behind nobody", async () => {
    const { keys, held } = await slowKeys();
    const guard = guarded(keys, () => ({ max_in_flight: 0, max_queue: 0, acquire_timeout_ms: 0 }));
    keys.checkTicket = () => {};
    await expect(sign(guard, held)).rejects.toMatchObject({ code: "overloaded", status: 503 });
    for (const purpose of ["crl", "delta_crl", "responder_certificate"] as const) {
      const licence = ticketFor(held, "ecdsa-sha256", message, { purpose });
      expect((await guard.sign(licence, message)).length).toBeGreaterThan(0);
    }
    expect(await guard.find(held.ref)).toEqual(held);
  });

  test("a failed operation gives its place back", async () => {
    const { keys, held } = await slowKeys();
    keys.checkTicket = () => {
      throw new Error("broken");
    };
    const guard = guarded(keys, () => ({ max_in_flight: 1, max_queue: 0, acquire_timeout_ms: 5 }));
    for (let round = 0; round < 3; round += 1) {
      await expect(sign(guard, held)).rejects.toThrow("broken");
    }
  });
});

describe("KEY-4: signatures are verified against the pinned public key", () => {
  const cheating = async () => {
    const keys: MemoryKeys = openMemoryKeys();
    const held = await keys.generate(ca);
    let bad = false;
    const faults: string[] = [];
    const device: Keys = {
      ...keys,
      sign: async (ticket, octets) => {
        const signature = await keys.sign(ticket, octets);
        if (bad) signature.set([signature.at(-1) === 0 ? 1 : 0], signature.length - 1);
        return signature;
      },
    };
    const turnBad = () => {
      bad = true;
    };
    return { device, held, faults, turnBad };
  };
  const hooks = (faults: string[]) => ({ fault: (sentence: string) => void faults.push(sentence) });

  test("a wrong one never leaves, and is reported", async () => {
    const { device, held, faults, turnBad } = await cheating();
    const keys = verified(device, hooks(faults));
    await sign(keys, held);
    turnBad();
    await expect(sign(keys, held)).rejects.toMatchObject({ code: "key_unavailable" });
    expect(faults).toEqual(["A signature does not verify with its pinned public key."]);
  });

  test("OCSP signatures: the first of a key and one in 64 after", async () => {
    const { device, held, faults, turnBad } = await cheating();
    const keys = verified(device, hooks(faults));
    turnBad();
    const refused: number[] = [];
    for (let count = 1; count <= 130; count += 1) {
      await sign(keys, held, { purpose: "ocsp" }).catch(() => refused.push(count));
    }
    expect(refused).toEqual([1, 65, 129]);
  });

  test("a provider that holds another key by this id is refused", async () => {
    const { device, held, faults } = await cheating();
    const other = await openMemoryKeys().generate(ca);
    const swapped: Keys = { ...device, find: async () => ({ ...other, ref: held.ref }) };
    const keys = verified(swapped, hooks(faults));
    await expect(sign(keys, held)).rejects.toMatchObject({ code: "key_unavailable" });
    expect(faults).toEqual(["The provider holds another key by this id."]);
  });
});

describe("measures", () => {
  test("name the operation and how it ended", async () => {
    const heard: string[] = [];
    const memory = openMemoryKeys();
    const keys = measured(memory, {
      measured: (operation, result, seconds) => {
        expect(seconds).toBeGreaterThanOrEqual(0);
        heard.push(`${operation} ${result}`);
      },
    });
    const held = await keys.generate(ca);
    await sign(keys, held);
    memory.checkTicket = () => {
      throw new Error("broken");
    };
    await expect(sign(keys, held)).rejects.toThrow("broken");
    await keys.destroy(held.ref);
    await expect(keys.find(held.ref)).rejects.toMatchObject({ code: "key_unavailable" });
    expect(heard).toEqual([
      "generate ok",
      "sign ok",
      "sign fault",
      "destroy ok",
      "find key_unavailable",
    ]);
  });

  test("tell a key that is looked up from a public key that is read, and a ping that fails from one that does not", async () => {
    const heard: string[] = [];
    const memory = openMemoryKeys();
    const hooked = {
      measured: (operation: string, result: string) => heard.push(`${operation} ${result}`),
    };
    const keys = verified(measured(memory, hooked), hooked, publicKeyOf(memory, hooked));
    const held = await keys.generate(ca);
    await sign(keys, held);
    await sign(keys, held);
    await keys.find(held.ref);
    await keys.facts();
    const [facts] = await memory.facts();
    memory.facts = async () => (facts === undefined ? [] : [{ ...facts, available: false }]);
    await keys.facts();
    expect(heard).toEqual([
      "generate ok",
      "public_key ok",
      "sign ok",
      "sign ok",
      "find ok",
      "ping ok",
      "ping key_unavailable",
    ]);
  });

  test("show what is under way and what waits", async () => {
    const memory = openMemoryKeys();
    const limits = () => ({ max_in_flight: 1, max_queue: 5, acquire_timeout_ms: 0 });
    const turns = new Turns(limits);
    const keys = guarded(memory, limits, turns);
    const gate = Promise.withResolvers<void>();
    const list = memory.list;
    memory.list = async (provider) => {
      await gate.promise;
      return await list(provider);
    };
    const asked = [1, 2, 3].map(() => keys.list("software"));
    expect([turns.inUse, turns.waiting]).toEqual([1, 2]);
    gate.resolve();
    await Promise.all(asked);
    expect([turns.inUse, turns.waiting]).toEqual([0, 0]);
  });
});

describe("the route", () => {
  test("a provider that is not configured is unavailable", async () => {
    const keys = routed({ software: openMemoryKeys() });
    const held = await keys.generate(ca);
    const ref = { ...held.ref, provider: "pkcs11" } as const;
    await expect(keys.find(ref)).rejects.toMatchObject({ code: "key_unavailable" });
    expect(await keys.find(held.ref)).toEqual(held);
  });
});

const sign = (keys: Keys, held: KeyHandle, changes: Partial<SignTicket> = {}) =>
  keys.sign(ticketFor(held, "ecdsa-sha256", message, changes), message);
