/**
 * What preflight says of keys: present and signing, staying where they are, responders that fit,
 * KEKs that open.
 */

import { describe, expect, test } from "bun:test";

import { sha256Hex } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import { csrSignatureVerified, parseCsr } from "#core/x509/csr.ts";
import { nameText } from "#core/x509/names.ts";
import { secondsPerDay } from "#core/time.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import type { Keys } from "#domain/keys.ts";
import {
  caKeysSign,
  halvesOpen,
  keksOpen,
  keysStay,
  providerAnswers,
  respondersFit,
} from "#domain/preflight/keys.ts";
import { issuerOf } from "#domain/revocation/issuers.ts";
import { caRequest, initRoot, issuanceWorld, rootOrigin } from "#test/support/worlds/issuance.ts";
import { revokingWorld } from "#test/support/worlds/revoking-world.ts";
import { smallCa } from "#test/support/worlds/small-ca.ts";
import { defaultTenant } from "#core/ids.ts";

describe("keys.ca", () => {
  test("has every CA key sign a request that names itself a self-test, in the ledger with its octets", async () => {
    const world = issuanceWorld();
    const root = await initRoot(world);
    const before = world.store.countRows("ledger");
    expect((await caKeysSign(world)).status).toBe("pass");
    const [intent, outcome, ...more] = world.store.listLedger().slice(before);
    expect(more).toEqual([]);
    expect(intent).toMatchObject({ kind: "intent", purpose: "self_test", caId: root.id });
    expect(outcome).toMatchObject({ kind: "outcome", result: "success", opId: intent?.opId });
    const request = parseCsr(Uint8Array.fromBase64(outcome?.artifact ?? ""));
    expect(await csrSignatureVerified(request)).toBe(true);
    expect(sha256Hex(request.tbs)).toBe(outcome?.digest ?? "");
    expect(nameText(request.subject)).toContain("self-test");
    expect(Buffer.from(request.spki).equals(root.spki)).toBe(true);
  });

  test("tests both keys of a hybrid CA, and that of a CA that waits for its certificate", async () => {
    const world = issuanceWorld();
    await initRoot(world, { alternativeKeyType: "ml-dsa-65" });
    const { label, subject, keyType, maxPathLength } = caRequest({ label: "below" });
    const request = { label, subject, keyType, maxPathLength };
    await world.external.request(rootOrigin, defaultTenant, request);
    expect(await caKeysSign(world)).toMatchObject({
      status: "pass",
      detail: expect.stringContaining("3 CA keys"),
    });
  });

  test("fails for a key that is away, one that is another, and a certificate for another; the ledger closes", async () => {
    const world = issuanceWorld();
    const root = await initRoot(world);
    const away: Keys = {
      ...world.keys,
      sign: async () => {
        throw refuse("key_unavailable");
      },
    };
    expect(await caKeysSign({ ...world, keys: away })).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("root: The key store does not answer (key_unavailable)"),
    });
    expect(world.store.listLedger().at(-1)).toMatchObject({
      kind: "outcome",
      result: "error",
      error: "key_unavailable",
      purpose: "self_test",
    });
    const other = await initRoot(world, { label: "other" });
    const swapped: Keys = { ...world.keys, find: () => world.keys.find(other.key) };
    expect((await caKeysSign({ ...world, keys: swapped })).detail).toContain(
      "another key under its name",
    );
    const replace =
      "update cas set certificate = (select certificate from cas where id = ?) where id = ?";
    await world.store.tamper(replace, other.id, root.id);
    expect((await caKeysSign(world)).detail).toContain("its certificate is for another key");
  });
});

describe("keyprovider", () => {
  const answering = (facts: Awaited<ReturnType<Keys["facts"]>>) =>
    providerAnswers({ facts: async () => facts }, "pkcs11");
  const token = { provider: "pkcs11", deviceSerial: "4711", keyTypes: [] } as const;

  test("passes for a token that answers, fails with its sentence for one that does not", async () => {
    expect(await answering([{ ...token, available: true, model: "v2" }])).toMatchObject({
      status: "pass",
      detail: "pkcs11 answers (v2 4711).",
    });
    const error = "Several tokens match.";
    expect(await answering([{ ...token, available: false, error }])).toMatchObject({
      status: "fail",
      detail: "pkcs11: Several tokens match.",
    });
    expect((await answering([])).status).toBe("warn");
  });
});

describe("keys.extractable", () => {
  const listed = (ca: CaRecord, more: object) => ({
    ...ca.key,
    keyType: ca.keyType,
    extractable: false,
    sensitive: true,
    ...more,
  });

  test("warns of a CA key in software, and fails for one that could leave or is shown", async () => {
    const world = await smallCa();
    const judged = async (more: object) => {
      const list = async () => [listed(world.ca, more)];
      return (await keysStay({ ...world, keys: { ...world.keys, list } }, ["software"])).status;
    };
    expect(await judged({})).toBe("warn");
    expect(await judged({ extractable: true })).toBe("fail");
    expect(await judged({ sensitive: false })).toBe("fail");
  });

  test("does not mind the internal serving CA in software, or keys of others beside ours", async () => {
    const world = await smallCa();
    await world.store.tamper("update cas set internal = true where id = ?", world.ca.id);
    const stranger = { provider: "software", id: "1", label: "x", keyType: "aes" } as const;
    const list = async () => [
      listed(world.ca, {}),
      { ...stranger, extractable: true, sensitive: false },
    ];
    const keys = { ...world.keys, list };
    expect((await keysStay({ ...world, keys }, ["software"])).status).toBe("pass");
  });
});

describe("keys.ocsp_delegate", () => {
  test("passes once a CA is active, and fails with the reason when its responder could not be made", async () => {
    const world = revokingWorld({ activating: true });
    await initRoot(world);
    expect((await respondersFit(world, true)).status).toBe("pass");
    world.keys.checkTicket = ({ purpose }) => {
      if (purpose === "responder_certificate") throw refuse("key_unavailable");
    };
    await initRoot(world, { label: "other" });
    expect(await respondersFit(world, true)).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("other could not be made (key_unavailable)"),
    });
  });

  async function world() {
    const opened = await smallCa();
    const random = { bytes: (n: number) => new Uint8Array(n), uuid: () => crypto.randomUUID() };
    const judged = async () => (await respondersFit({ ...opened, random }, true)).status;
    return { ...opened, random, judged };
  }

  test("warns while there is none and past half of its life, fails when it has expired", async () => {
    const opened = await world();
    expect(await opened.judged()).toBe("warn");
    await opened.responders.signer(issuerOf(opened.ca), 0);
    expect(await opened.judged()).toBe("pass");
    opened.clock.advance(90 * 3600);
    expect(await opened.judged()).toBe("warn");
    opened.clock.advance(90 * 3600);
    expect(await opened.judged()).toBe("fail");
  });

  test("fails when its key is away, and is passed over where CAs answer themselves", async () => {
    const opened = await world();
    await opened.responders.signer(issuerOf(opened.ca), 0);
    const find: Keys["find"] = async () => {
      throw refuse("key_unavailable");
    };
    const keys = { ...opened.keys, find };
    expect((await respondersFit({ ...opened, keys }, true)).status).toBe("fail");
    expect((await respondersFit({ ...opened, keys }, false)).status).toBe("skip");
  });
});

describe("keys.kek", () => {
  test("opens every version in use, warns of one that retires too long, fails for one that does not open", async () => {
    const world = issuanceWorld();
    expect((await keksOpen(world)).status).toBe("skip");
    const keks = new Keks({ ...world, provider: "software", family: "kek" });
    const first = await keks.active();
    expect((await keksOpen(world)).status).toBe("pass");
    await keks.next(first);
    world.clock.advance(30 * secondsPerDay);
    expect((await keksOpen(world)).status).toBe("pass");
    world.clock.advance(1);
    expect(await keksOpen(world)).toMatchObject({
      status: "warn",
      detail: expect.stringContaining("Version 1"),
    });
    await world.keys.keks.destroy(first.key);
    expect(await keksOpen(world)).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("Version 1 does not open"),
    });
  });
});

describe("pqc.hybrid", () => {
  test("wants a half of the version that seals when switched on, and one that opens of every version that has one", async () => {
    const world = issuanceWorld();
    expect((await halvesOpen(world, true)).status).toBe("skip");
    const plain = new Keks({ ...world, provider: "software", family: "kek" });
    const first = await plain.active();
    expect((await halvesOpen(world, false)).status).toBe("skip");
    expect(await halvesOpen(world, true)).toEqual({
      status: "fail",
      detail: "Version 1 seals without an ML-KEM half.",
    });
    const hybrid = new Keks({ ...world, provider: "software", family: "kek", hybrid: true });
    const next = await hybrid.next(first);
    expect((await halvesOpen(world, true)).status).toBe("pass");
    expect((await halvesOpen(world, false)).status).toBe("pass");
    if (next === undefined) throw new Error("nobody else rotates");
    await world.keys.keks.halves.destroy(next.key);
    for (const on of [true, false]) {
      expect(await halvesOpen(world, on)).toEqual({
        status: "fail",
        detail: "The ML-KEM half of version 2 is absent or unusable.",
      });
    }
    // Another half than the one it was made with is none.
    await world.keys.keks.halves.generate(next.key);
    expect((await halvesOpen(world, true)).status).toBe("fail");
  });
});
