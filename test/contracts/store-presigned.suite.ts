/** What every store must do about OCSP answers signed ahead. */

import { describe, expect, test } from "bun:test";

import { caId, type CaId, type Serial } from "#core/ids.ts";
import { addSeconds, instant } from "#core/time.ts";
import type { PresignedRecord } from "#domain/revocation/presign-store.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/records.ts";

const { noon } = make;

/** Declares the tests on the store that `given` gives when they run. */
export function presignedContract(
  given: () => { readonly store: Store; readonly home: CaId },
): void {
  describe("OCSP answers signed ahead", () => {
    const keep = (answers: readonly PresignedRecord[], sequence: number) =>
      given().store.atomically((tx) => tx.presigned.keep(given().home, sequence, answers));
    const find = (serial: Serial, hash: "sha1" | "sha256" = "sha1") =>
      given().store.read.presigned.find(given().home, serial, hash);
    const sequence = async () => await given().store.read.revocations.sequence();
    const revoke = (serial: Serial, facts = {}) => {
      const entry = make.revocation({ caId: given().home, serial, ...facts });
      return given().store.atomically((tx) => tx.revocations.put(entry));
    };
    const issue = async (facts: Partial<ReturnType<typeof make.certificate>> = {}) => {
      const row = make.certificate({ caId: given().home, ...facts });
      await make.issue(given().store, row);
      return row;
    };

    test("an answer is found with the status of its serial, byte for byte, per hash", async () => {
      const { serial } = await issue();
      const answer = presigned(given().home, serial);
      expect(await keep([answer], await sequence())).toBe(1);
      expect(await find(serial)).toEqual({
        certStatus: { status: "good", profile: "tls-server" },
        presigned: answer,
      });
      expect((await find(serial, "sha256")).presigned).toBeUndefined();
      const stranger = make.newSerial();
      expect(await find(stranger)).toEqual({
        certStatus: { status: "unknown" },
        presigned: undefined,
      });
    });

    test("a revocation and a release delete the answers of their serial and no other", async () => {
      const [one, other, third] = [await issue(), await issue(), await issue()];
      const rows = [one, other].map(({ serial }) => presigned(given().home, serial));
      await keep(rows, await sequence());
      await revoke(one.serial);
      expect((await find(one.serial)).presigned).toBeUndefined();
      await keep([presigned(given().home, third.serial)], await sequence());
      const entry = make.revocation({ caId: given().home, serial: third.serial });
      await given().store.atomically((tx) => tx.revocations.putMany(given().home, [entry]));
      expect((await find(third.serial)).presigned).toBeUndefined();
      expect((await find(other.serial)).presigned).toBeDefined();
      const held = presigned(given().home, one.serial, {
        revoked: { at: noon, reason: "keyCompromise" },
      });
      expect(await keep([held], await sequence())).toBe(1);
      expect((await find(one.serial)).presigned).toEqual(held);
      await given().store.atomically((tx) => tx.revocations.remove(given().home, one.serial));
      expect((await find(one.serial)).presigned).toBeUndefined();
    });

    test("an answer about a serial that changed while it was being signed is not kept", async () => {
      const [good, revoked, still] = [await issue(), await issue(), await issue()];
      await revoke(still.serial);
      const before = await sequence();
      await revoke(revoked.serial);
      const asItIs = { revoked: { at: noon, reason: "keyCompromise" } } as const;
      const rows = [
        presigned(given().home, good.serial),
        presigned(given().home, revoked.serial),
        presigned(given().home, still.serial, asItIs),
      ];
      expect(await keep(rows, before)).toBe(2);
      expect((await find(revoked.serial)).presigned).toBeUndefined();
      expect((await find(still.serial)).presigned).toBeDefined();
    });

    test("the newer of two answers stays", async () => {
      const { serial } = await issue();
      const older = presigned(given().home, serial);
      const newer = { ...older, producedAt: addSeconds(noon, 1), response: Uint8Array.of(2) };
      await keep([newer], await sequence());
      await keep([older], await sequence());
      expect((await find(serial)).presigned).toEqual(newer);
    });

    test("one that is more than five minutes newer was signed by a wrong clock and goes", async () => {
      const { serial } = await issue();
      const right = presigned(given().home, serial, { response: Uint8Array.of(2) });
      const ahead = (seconds: number) => ({ ...right, producedAt: addSeconds(noon, seconds) });
      await keep([ahead(300)], await sequence());
      await keep([right], await sequence());
      expect((await find(serial)).presigned).toEqual(ahead(300));
      await keep([ahead(301)], await sequence());
      await keep([right], await sequence());
      expect((await find(serial)).presigned).toEqual(right);
    });

    test("a walk meets every certificate and every bare entry once, with what was signed for it", async () => {
      const { store, home } = given();
      const rows = [await issue(), await issue({ kind: "ca" }), await issue()];
      const [bare, foreign] = [make.newSerial(), make.newSerial()];
      await revoke(bare, { known: false, expiresAt: undefined });
      await store.atomically((tx) =>
        tx.revocations.put(make.revocation({ caId: caId("elsewhere"), serial: foreign })),
      );
      const signedRow = rows[0]?.serial ?? bare;
      await keep([presigned(home, signedRow)], await sequence());
      const seen: Serial[] = [];
      for (let after: Serial | undefined; ; ) {
        const page = await store.read.presigned.issued(home, 2, after);
        seen.push(...page.map(({ serial }) => serial));
        after = page.at(-1)?.serial;
        if (after === undefined) break;
      }
      expect(seen.length).toBe(new Set(seen).size);
      expect(new Set(seen)).toEqual(new Set(rows.map(({ serial }) => serial)));
      await revoke(rows[2]?.serial ?? bare);
      const entries = await store.read.presigned.revoked(home, 10);
      expect(new Map(entries.map((one) => [one.serial, one.inventoried]))).toEqual(
        new Map([
          [bare, false],
          [rows[2]?.serial ?? bare, true],
        ]),
      );
      for (const { certStatus } of entries) expect(certStatus.status).toBe("revoked");
      const [least] = entries;
      expect(await store.read.presigned.revoked(home, 1)).toEqual(
        least === undefined ? [] : [least],
      );
      expect(await store.read.presigned.revoked(home, 10, least?.serial)).toEqual(entries.slice(1));
      const among = await store.read.presigned.among(home, [signedRow, bare, foreign]);
      expect(new Set(among.map(({ serial }) => serial))).toEqual(new Set([signedRow, bare]));
      expect(among.find(({ serial }) => serial === signedRow)?.signed).toEqual({
        sha1: { at: noon, responder: "77" as Serial },
      });
    });

    test("what nobody may be given any more is deleted, and the rest counted", async () => {
      const { store, home } = given();
      await store.atomically((tx) => tx.presigned.prune(addSeconds(noon, 1e9), 1000));
      const [old, fresh] = [await issue(), await issue()];
      const expired = { nextUpdate: noon, producedAt: instant(noon - 1) };
      const rows = [presigned(home, old.serial, expired), presigned(home, fresh.serial)];
      await keep(rows, await sequence());
      expect(await store.read.presigned.summary()).toEqual({
        count: 2,
        earliestNextUpdate: noon,
      });
      const gone = await store.atomically((tx) => tx.presigned.prune(addSeconds(noon, 1), 10));
      expect(gone).toBe(1);
      expect((await find(old.serial)).presigned).toBeUndefined();
      expect((await find(fresh.serial)).presigned).toBeDefined();
    });
  });
}

function presigned(
  ca: CaId,
  serial: Serial,
  facts: Partial<PresignedRecord> = {},
): PresignedRecord {
  return {
    caId: ca,
    serial,
    hash: "sha1",
    response: Uint8Array.of(48, 3, 0, 255),
    // A serial in canonical form.
    responder: "77" as Serial,
    producedAt: noon,
    thisUpdate: instant(noon - 300_000),
    nextUpdate: addSeconds(noon, 86_400),
    revoked: undefined,
    ...facts,
  };
}
