/** What becomes of an order whose certificate is refused, and of one that nobody works on. */

import { beforeEach, describe, expect, test } from "bun:test";

import { type ProblemCode, refuse } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import type { Directory } from "#domain/acme/directories.ts";
import { Finalization, type FinalizationDeps } from "#domain/acme/finalize.ts";
import type { AccountRecord, OrderRecord } from "#domain/acme/store.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { newCsr } from "#test/support/acme/csr.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

const name = "www.example.com";

let world: SmallCa;
let account: AccountRecord;
let order: OrderRecord;
let csr: Uint8Array;
/** What issuing does. */
let issuing: () => Promise<never>;
/** Result of the checks of newOrder when they are repeated. */
let readmitting: (ca: CaRecord) => Promise<CaRecord>;
/** Directory that the configuration has now. */
let served: Directory | undefined;
/** What stands between the claim and the certificate. */
let between: () => Promise<void>;
let finalization: Finalization;

beforeEach(async () => {
  world = await smallCa();
  csr = (await newCsr({ names: [name] })).der;
  issuing = async () => {
    throw refuse("internal");
  };
  between = async () => {};
  readmitting = async (ca) => ca;
  // The fields that finalization reads.
  served = directory as unknown as Directory;
  finalization = open();
  ({ account, order } = await ordered());
});

async function ordered() {
  const proof = { status: "valid", method: "http-01" } as const;
  const until = { expiresAt: addSeconds(world.clock.now(), 3600) };
  const facts = { status: "ready", ...until } as const;
  return await make.ordered(world.store, [{ ...proof, ...until }], facts);
}

function open(): Finalization {
  const { store, clock, ca } = world;
  return new Finalization({
    store,
    clock,
    orders: {
      order: async (_: AccountRecord, id: string) => await now(id),
      readmit: async () => await readmitting(ca),
    },
    directories: { named: () => served },
    issuance: { issue: () => issuing() },
    plans: {
      paced: async (_: OrderRecord, work: () => Promise<void>) => {
        await between();
        await work();
      },
      alsoReplacedBy: async () => [],
      halt: () => {},
    },
    rate: { made: () => {} },
    hasRoom: () => true,
    patience: { within: async (_: number, work: Promise<OrderRecord>) => await work },
    // What of the others it asks for.
  } as unknown as FinalizationDeps);
}

async function now(id = order.id): Promise<OrderRecord> {
  const found = await world.store.read.acme.order(id);
  if (found === undefined) throw new Error("orders stay");
  return found;
}

const directory = {
  name: "default",
  url: (path: string) => `https://acme.test${path}`,
  profiles: {},
};
const finalize = () => {
  // What of a directory it asks for.
  const asking = { origin: rootOrigin, directory: directory as unknown as Directory, account };
  return finalization.finalize(asking, order.id, csr, async () => {});
};

describe("FIN-4: a refusal of the issuance path", () => {
  const gates = (...names: readonly string[]) => ({
    gates: names.map((one) => ({ name: one, status: "fail" })),
  });
  // biome-ignore format: the table is read by column.
  const ends = [
    ["gate_refused",              gates("names"),                "rejectedIdentifier"],
    ["gate_refused",              gates("name_constraints"),     "rejectedIdentifier"],
    ["gate_refused",              gates("caa", "names"),         "caa"],
    ["gate_refused",              gates("lint"),                 "badCSR"],
    ["gate_refused",              gates("approval"),             "unauthorized"],
    ["profile_requires_approval", {},                            "unauthorized"],
    ["ca_constraint",             { reason: "name_constraints" }, "badCSR"],
    ["validity_exceeds_limit",    { limit_days: 1 },             "badCSR"],
  ] as const;
  test.each(ends)("%s %j ends the order: %3$s", async (code, facts, type) => {
    issuing = async () => {
      throw refuse(code as ProblemCode, facts);
    };
    const told = await finalize().catch((error: unknown) => error);
    const ended = await now();
    expect(ended).toMatchObject({ status: "invalid", error: { type } });
    expect(told).toMatchObject({ message: String(ended.error?.detail) });
  });

  // biome-ignore format: the table is read by column.
  const leaves = [
    ["key_unavailable",     { retry_after: 2 },              "key_unavailable"],
    ["overloaded",          { retry_after: 1 },              "overloaded"],
    ["quota_exceeded",      { quota: "certificates" },       "quota_exceeded"],
    ["rate_limited",        { retry_after: 10 },             "rate_limited"],
    ["ca_not_active",       {},                              "ca_not_active"],
    ["shutting_down",       { retry_after: 5 },              "shutting_down"],
    ["bad_key",             { reason: "weak" },              "acme_bad_csr"],
    ["gate_refused",        gates("keycheck"),               "acme_bad_csr"],
  ] as const;
  test.each(leaves)("%s leaves the order ready", async (code, facts, told) => {
    issuing = async () => {
      throw refuse(code as ProblemCode, facts);
    };
    const expected = told === code ? facts : {};
    await expectRefusal(finalize(), told, expected);
    expect((await now()).status).toBe("ready");
  });

  test("that is a fault of ours leaves it ready too", async () => {
    issuing = async () => {
      throw new Error("a fault");
    };
    await expect(finalize()).rejects.toThrow("a fault");
    expect((await now()).status).toBe("ready");
  });
});

test("FIN-3: an authorization that ends while its order waits to be issued keeps it from it", async () => {
  let issued = false;
  issuing = async () => {
    issued = true;
    throw refuse("internal");
  };
  const [proof = ""] = order.authorizations;
  between = async () => {
    await world.store.atomically((tx) => tx.acme.endAuthorization(proof, "revoked"));
  };
  await expectRefusal(finalize(), "acme_unauthorized", {});
  expect(issued).toBe(false);
  expect(await now()).toMatchObject({ status: "invalid", error: { type: "unauthorized" } });
});

describe("FIN-3: checks of newOrder that fail while an order waits to be issued", () => {
  let issued: boolean;
  beforeEach(() => {
    issued = false;
    issuing = async () => {
      issued = true;
      throw refuse("internal");
    };
  });
  const expectEnd = async (detail: string) => {
    await expectRefusal(finalize(), "acme_unauthorized", {});
    expect(issued).toBe(false);
    const error = { type: "unauthorized", detail };
    expect(await now()).toMatchObject({ status: "invalid", error });
  };

  test("a tenant of the directory that is another one now ends the order", async () => {
    between = async () => {
      readmitting = async () => {
        throw refuse("acme_unauthorized", { reason: "the order is of another tenant" });
      };
    };
    await expectEnd("The order is of another tenant.");
  });

  test("a directory that is no longer served ends the order", async () => {
    between = async () => {
      served = undefined;
    };
    await expectEnd("The directory of the order is not served.");
  });

  test("an account that was deactivated gets no certificate", async () => {
    between = async () => {
      await world.store.atomically((tx) =>
        tx.acme.endAccount(account.id, "deactivated", world.clock.now()),
      );
    };
    await expectEnd("The account of the order is not valid.");
  });

  test("a suspended tenant leaves the order ready", async () => {
    between = async () => {
      readmitting = async () => {
        throw refuse("tenant_suspended");
      };
    };
    await expectRefusal(finalize(), "tenant_suspended", {});
    expect((await now()).status).toBe("ready");
  });

  test("a check that fails before the claim leaves the order ready", async () => {
    readmitting = async () => {
      throw refuse("acme_unauthorized", { reason: "the order is of another tenant" });
    };
    await expectRefusal(finalize(), "acme_unauthorized", {});
    expect((await now()).status).toBe("ready");
  });
});

describe("FIN-5: an order in work", () => {
  test("is let alone for as long as this process works on it", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    between = () => promise;
    const work = finalize().catch(() => undefined);
    while ((await now()).status !== "processing") await Bun.sleep(1);
    world.clock.step(1800);
    await finalization.recover();
    expect((await now()).status).toBe("processing");
    resolve();
    await work;
    expect((await now()).status).toBe("ready");
  });

  test("that nobody works on is ready again at once", async () => {
    await world.store.atomically((tx) => tx.acme.claimOrder(order.id, world.clock.now()));
    await finalization.recover();
    expect((await now()).status).toBe("ready");
  });

  test("that a commit without an answer has left is ready again with the next look", async () => {
    issuing = async () => {
      throw refuse("storage_unavailable", { retry_after: 1 });
    };
    await expectRefusal(finalize(), "storage_unavailable", {});
    expect((await now()).status).toBe("processing");
    await finalization.recover();
    expect((await now()).status).toBe("ready");
  });
});
