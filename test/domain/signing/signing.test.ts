/** The one way to use a CA-class key, over a store in memory and keys of a real signer. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";

import { type Octets, sha256Hex } from "#core/crypto.ts";
import { caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import { signCounted } from "#domain/signing/counted.ts";
import { signDocument } from "#domain/signing/document.ts";
import {
  type Intended,
  type IntentRows,
  Signing,
  type ToBeSigned,
} from "#domain/signing/signing.ts";
import type { SignTicket } from "#domain/signing/ticket.ts";
import { NothingWritten, type Unit } from "#domain/store.ts";
import { newKeyStore, opener } from "#test/support/keys/keystore.ts";
import { verifies } from "#test/support/keys/signing.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { seededRandom, testClock } from "#test/support/ports.ts";

let real: Keys;
let key: KeyHandle;
let second: KeyHandle;
beforeAll(async () => {
  real = await opener(newKeyStore())();
  const make = (label: string) =>
    real.generate({ provider: "software", label, keyType: "ecdsa-p256", role: "ca" });
  key = await make("ca");
  second = await make("ca-alt");
}, 60_000);
afterAll(() => real.close());

/** One for all tests: the keys remember which operations they have signed. */
const random = seededRandom();
let store: MemoryStore;
let signing: Signing;
/** What the key was asked for. */
let asked: SignTicket[];
let beforeSign: () => void;
let units: number;
beforeEach(() => {
  store = createMemoryStore();
  asked = [];
  beforeSign = () => {};
  units = 0;
  const keys: Pick<Keys, "sign"> = {
    sign: async (ticket, message) => {
      asked.push(ticket);
      beforeSign();
      return await real.sign(ticket, message);
    },
  };
  const counted: Pick<MemoryStore, "atomically" | "onRollbackEnd"> = {
    onRollbackEnd: (listener) => store.onRollbackEnd(listener),
    atomically: (unit) => {
      units += 1;
      return store.atomically(unit);
    },
  };
  signing = new Signing({ store: counted, keys, clock: testClock(), random });
});

const message = Buffer.from("these octets and no others");
const what = (changes: Partial<ToBeSigned> = {}): ToBeSigned => ({
  key,
  role: "ca",
  algorithm: "ecdsa-sha256",
  message,
  purpose: "certificate",
  caId: caId("ca-1"),
  artifact: "77",
  ...changes,
});
const ledger = () => store.listLedger();
const said = () =>
  ledger().map(({ kind, result, error }) => [kind, result, error].join(" ").trim());
const note = (name: string) => (tx: Unit) => tx.instance.setValue(name, "written");
const noted = (name: string) => store.read.instance.value(name);
/** Rows of a caller, each of which leaves a note. */
const rows = (more: IntentRows = {}): IntentRows => ({
  intended: note("intended"),
  abandoned: (tx, { error }) => tx.instance.setValue("abandoned", error),
  ...more,
});
const lost = () => {
  const refusal = refuse("storage_unavailable", { retry_after: 2 });
  refusal.cause = new NothingWritten("the connection was lost before the commit");
  return refusal;
};

test("the intent and the caller's rows are one unit before the key is used, outcome and rows one after", async () => {
  const intended = await signing.intend(what(), rows());
  expect(said()).toEqual(["intent"]);
  expect([await noted("intended"), asked.length, units]).toEqual(["written", 0, 1]);
  const { signature } = await intended.sign();
  expect(verifies(key, "ecdsa-sha256", message, signature)).toBe(true);
  expect(said()).toEqual(["intent"]);
});

test("an operation is two entries over the digest of its octets, and costs two units", async () => {
  const intended = await signing.intend(what(), rows());
  const signed = await intended.sign();
  const given = await signed.close(async (tx) => {
    await note("closed")(tx);
    return "what the caller made";
  });
  expect(given).toBe("what the caller made");
  const facts = { opId: intended.opId, digest: sha256Hex(message), artifact: "77" };
  expect(ledger()).toMatchObject([
    { ...facts, kind: "intent" },
    { ...facts, kind: "outcome", result: "success", signatureSha256: sha256Hex(signed.signature) },
  ]);
  expect([await noted("closed"), await noted("abandoned"), units]).toEqual([
    "written",
    undefined,
    2,
  ]);
});

test("what the rows refuse at the intent leaves no entry, and no ticket is ever used", async () => {
  const refusing = signing.intend(what(), {
    intended: async (tx) => {
      await note("intended")(tx);
      throw refuse("ca_not_active", { status: "retired" });
    },
    abandoned: note("abandoned"),
  });
  await expect(refusing).rejects.toMatchObject({ code: "ca_not_active" });
  expect([ledger().length, asked.length]).toEqual([0, 0]);
  expect([await noted("intended"), await noted("abandoned")]).toEqual([undefined, undefined]);
});

test("a key that fails closes the intent with the word of its refusal and the caller's rows, and tells", async () => {
  const intended = await signing.intend(
    what(),
    rows({ afterAbandoned: () => store.atomically(note("told")) }),
  );
  beforeSign = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  await expect(intended.sign()).rejects.toMatchObject({ code: "key_unavailable" });
  expect(said()).toEqual(["intent", "outcome error key_unavailable"]);
  expect([await noted("abandoned"), await noted("told")]).toEqual(["key_unavailable", "written"]);
});

test("a fault that is no refusal is closed as internal", async () => {
  const intended = await signing.intend(what(), rows());
  beforeSign = () => {
    throw new Error("a path or a label");
  };
  await expect(intended.sign()).rejects.toThrow("a path or a label");
  expect(said()).toEqual(["intent", "outcome error internal"]);
});

describe("a signature that is not committed", () => {
  test("is closed as failed when the unit refuses, and nothing of the unit stays", async () => {
    const signed = await (await signing.intend(what(), rows())).sign();
    const refused = signed.close(async (tx) => {
      await note("closed")(tx);
      throw refuse("already_exists", { field: "label" });
    });
    await expect(refused).rejects.toMatchObject({ code: "already_exists" });
    expect(said()).toEqual(["intent", "outcome error already_exists"]);
    expect([await noted("closed"), await noted("abandoned")]).toEqual([
      undefined,
      "already_exists",
    ]);
  });

  test("is left open when the unit may have been committed: only the next start can tell", async () => {
    const signed = await (await signing.intend(what(), rows())).sign();
    const unsure = signed.close(async () => {
      throw refuse("storage_unavailable", { retry_after: 2 });
    });
    await expect(unsure).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(said()).toEqual(["intent"]);
    expect(await noted("abandoned")).toBeUndefined();
  });

  test("is closed as failed when what comes before the close fails", async () => {
    const signed = await (await signing.intend(what(), rows())).sign();
    const made = signed.prepare(async () => {
      throw new Error("no room for pieces");
    });
    await expect(made).rejects.toThrow("no room for pieces");
    expect(said()).toEqual(["intent", "outcome error internal"]);
    await expect(signed.close(async () => {})).rejects.toThrow("an intent is closed once");
  });
});

test("while the database is away the abandonment is owed, and written before the next intent", async () => {
  const intended = await signing.intend(what(), rows());
  beforeSign = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  store.checkWrite = () => {
    throw lost();
  };
  // The caller learns what it failed with first.
  await expect(intended.sign()).rejects.toMatchObject({ code: "key_unavailable" });
  expect(said()).toEqual(["intent"]);
  await expect(signing.intend(what())).rejects.toMatchObject({ code: "storage_unavailable" });
  store.checkWrite = () => {};
  await signing.intend(what({ artifact: "78" }));
  expect(said()).toEqual(["intent", "outcome error key_unavailable", "intent"]);
  expect(await noted("abandoned")).toBe("key_unavailable");
});

test("everything an outage left owed is written, and what still cannot be stays owed", async () => {
  const beforeOutage: Intended[] = [];
  for (let one = 0; one < 120; one++) {
    beforeOutage.push(await signing.intend(what({ artifact: String(one) })));
  }
  store.checkWrite = () => {
    throw lost();
  };
  beforeSign = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  for (const intended of beforeOutage) await intended.sign().catch(() => {});
  let writes = 0;
  store.checkWrite = () => {
    if (++writes > 70) throw lost();
  };
  await signing.intend(what()).catch(() => {});
  const outcomes = () => ledger().filter(({ kind }) => kind === "outcome");
  expect(outcomes()).toHaveLength(70);
  store.checkWrite = () => {};
  await signing.intend(what());
  expect(new Set(outcomes().map(({ artifact }) => artifact)).size).toBe(120);
  expect(outcomes()).toHaveLength(120);
});

test("a unit that is owed is not tried again when it may have been committed", async () => {
  let tried = 0;
  await signing.writeOrOwe(async () => {
    tried += 1;
    throw refuse("storage_unavailable", { retry_after: 2 });
  });
  await signing.intend(what());
  expect(tried).toBe(1);
});

test("an intent is signed once, and closed once", async () => {
  const intended = await signing.intend(what());
  const signed = await intended.sign();
  await expect(intended.sign()).rejects.toThrow("an intent is signed once");
  await signed.close(async () => {});
  await expect(signed.close(async () => {})).rejects.toThrow("an intent is closed once");
  await expect(signed.closeAndIntend(what())).rejects.toThrow("an intent is closed once");
  expect([asked.length, ledger().length]).toEqual([1, 2]);
});

describe("a ticket", () => {
  const spent = async (): Promise<SignTicket> => {
    await (await signing.intend(what())).sign();
    const [ticket] = asked;
    if (ticket === undefined) throw new Error("the key was asked");
    return ticket;
  };

  test("is used once", async () => {
    await expect(real.sign(await spent(), message)).rejects.toThrow("a ticket is used once");
  });

  test("is for its octets and no others", async () => {
    const others = Buffer.from("others");
    await expect(real.sign(await spent(), others)).rejects.toThrow(
      "a ticket signs exactly the octets it was made for",
    );
  });

  test("that was copied and changed is none", async () => {
    // Only a cast lets it compile; the rules of style refuse one in the product.
    const forged = { ...(await spent()), opId: "another" } as unknown as SignTicket;
    await expect(real.sign(forged, message)).rejects.toThrow("a ticket is made by domain/signing");
  });
});

test("octets that change between intent and signature are not signed", async () => {
  const mine = Buffer.from(message);
  const intended = await signing.intend(what({ message: mine }), rows());
  mine[0] = 0;
  await expect(intended.sign()).rejects.toThrow("exactly the octets it was made for");
  expect(said()).toEqual(["intent", "outcome error internal"]);
});

test("octets that change while they are signed are not given out", async () => {
  const mine = Buffer.from(message);
  const keys: Pick<Keys, "sign"> = {
    sign: async (ticket, octets) => {
      const signature = await real.sign(ticket, octets);
      mine[0] = 0;
      return signature;
    },
  };
  signing = new Signing({ store, keys, clock: testClock(), random });
  const intended = await signing.intend(what({ message: mine }), rows());
  await expect(intended.sign()).rejects.toThrow("the signed octets are the intended ones");
  expect(said()).toEqual(["intent", "outcome error internal"]);
});

test("a key is intended for by its own public key only", async () => {
  const mixed = { ...key, spki: second.spki };
  await expect(signing.intend(what({ key: mixed }))).rejects.toThrow("named by the digest");
  expect(ledger()).toEqual([]);
});

describe("several sets of octets", () => {
  const alternative = () => what({ key: second, message: Buffer.from("without the value") });

  test("are operations of their own: one unit closes the first and intends the second", async () => {
    const first = await signing.intend(alternative(), rows());
    const signed = await first.sign();
    const next = await signed.closeAndIntend(what(), rows());
    expect([said(), units]).toEqual([["intent", "outcome success", "intent"], 2]);
    await (await next.sign()).close(async () => {});
    expect(said()).toEqual(["intent", "outcome success", "intent", "outcome success"]);
    expect(ledger().map(({ keyLabel }) => keyLabel)).toEqual(["ca-alt", "ca-alt", "ca", "ca"]);
    expect(new Set(ledger().map(({ opId }) => opId)).size).toBe(2);
    expect(units).toBe(3);
  });

  test("end with the first when the second may not be intended", async () => {
    const signed = await (await signing.intend(alternative(), rows())).sign();
    const refused = signed.closeAndIntend(what(), {
      intended: async () => {
        throw refuse("ca_not_active", { status: "superseded" });
      },
    });
    await expect(refused).rejects.toMatchObject({ code: "ca_not_active" });
    expect(said()).toEqual(["intent", "outcome error ca_not_active"]);
    expect(await noted("abandoned")).toBe("ca_not_active");
  });

  test("leave the first closed well when the second key fails", async () => {
    const signed = await (await signing.intend(alternative())).sign();
    const next = await signed.closeAndIntend(what(), rows());
    beforeSign = () => {
      throw refuse("overloaded", { retry_after: 2 });
    };
    await expect(next.sign()).rejects.toMatchObject({ code: "overloaded" });
    expect(said()).toEqual(["intent", "outcome success", "intent", "outcome error overloaded"]);
    expect(await noted("abandoned")).toBe("overloaded");
  });
});

test("long octets are signed in the pieces they come in", async () => {
  const pieces: Octets = [Buffer.alloc(700_000, 1), Buffer.alloc(700_000, 2), Buffer.alloc(9, 3)];
  const signed = await (await signing.intend(what({ message: pieces, purpose: "crl" }))).sign();
  await signed.close(async () => {});
  const whole = Buffer.concat(pieces);
  expect(verifies(key, "ecdsa-sha256", whole, signed.signature)).toBe(true);
  expect(ledger().map(({ digest }) => digest)).toEqual([sha256Hex(whole), sha256Hex(whole)]);
});

test("a counted key is asked with a ticket of its role, counted when it has signed, and never listed", async () => {
  const counted: string[] = [];
  const counts = { add: (_handle: KeyHandle, role: string) => counted.push(role) };
  const answer = { handle: key, role: "responder", algorithm: "ecdsa-sha256", message } as const;
  const wanted = { ...answer, purpose: "ocsp", caId: undefined } as const;
  const signature = await signCounted({ keys: real, random, counts }, wanted);
  expect(verifies(key, "ecdsa-sha256", message, signature)).toBe(true);
  const away = { sign: () => Promise.reject(refuse("key_unavailable", { retry_after: 2 })) };
  const failing = signCounted({ keys: away, random, counts }, wanted);
  await expect(failing).rejects.toMatchObject({ code: "key_unavailable" });
  expect([counted, ledger().length]).toEqual([["responder"], 0]);
});

test("a document is signed by the key the ledger began with, and by no other", async () => {
  const document = Buffer.from("what pkid hands out");
  await expect(signDocument({ store, keys: real, random }, document)).rejects.toThrow("has begun");
  const label = "ledger-l-1";
  const own = await real.generate({
    provider: "software",
    label,
    keyType: "ed25519",
    role: "ledger",
  });
  await store.atomically(async (tx) => {
    await tx.instance.setValue("ledger_id", "l-1");
    await tx.instance.setValue("ledger_key_id", own.ref.id);
  });
  const signature = await signDocument({ store, keys: real, random }, document);
  expect(verifies(own, "ed25519", document, signature)).toBe(true);
});
