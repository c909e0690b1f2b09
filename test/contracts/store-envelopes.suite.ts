/** What every store must do about KEK versions and sealed values. */

import { describe, expect, test } from "bun:test";

import { type Place, placeOf } from "#domain/envelopes/places.ts";
import type { KekVersion, SealedValue } from "#domain/envelopes/store.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/records.ts";

/**
 * Declares the tests on the store that `given` gives when they run; they build on each other's
 * versions.
 */
export function envelopeContract(given: () => { readonly store: Store }): void {
  describe("KEK versions and sealed values", () => {
    const begin = (next: KekVersion, replaced: number | undefined) =>
      given().store.atomically((tx) => tx.envelopes.begin(next, replaced));
    const put = (value: SealedValue) => given().store.atomically((tx) => tx.envelopes.put(value));
    const retire = (number: number) =>
      given().store.atomically((tx) => tx.envelopes.retire(number));
    const statuses = async () =>
      (await given().store.read.envelopes.versions()).map(({ version, status }) => [
        version,
        status,
      ]);

    test("the first version begins when there is none, and is found as it was stored", async () => {
      expect(await begin(version(1), 7)).toBe(false);
      expect(await begin(version(1), undefined)).toBe(true);
      expect(await begin(version(2), undefined)).toBe(false);
      expect(await given().store.read.envelopes.versions()).toEqual([version(1)]);
    });

    test("a value is stored, replaced, found at its place, and removed", async () => {
      const { store } = given();
      const value = sealed("one", 1);
      expect(await put(value)).toBe(true);
      expect(await store.read.envelopes.at(value.place)).toEqual(value);
      const newer = { ...value, envelope: "newer" };
      expect(await put(newer)).toBe(true);
      expect(await store.read.envelopes.at(value.place)).toEqual(newer);
      expect(await store.read.envelopes.count()).toBe(1);
      await store.atomically((tx) => tx.envelopes.remove(value.place));
      expect(await store.read.envelopes.at(value.place)).toBeUndefined();
      expect(await store.read.envelopes.count()).toBe(0);
    });

    test("a value under a version that does not exist is not stored", async () => {
      expect(await put(sealed("none", 9))).toBe(false);
    });

    test("values of a version are paged by place, and re-wrapped unless they changed", async () => {
      const { store } = given();
      const values = ["a", "b", "c"].map((id) => sealed(id, 1));
      for (const value of values) await put(value);
      const under = (limit: number, after?: Place) => store.read.envelopes.under(1, limit, after);
      expect(await under(2)).toEqual(values.slice(0, 2));
      expect(await under(2, values[1]?.place)).toEqual(values.slice(2));
      expect(await begin(version(2), 1)).toBe(true);
      expect(await statuses()).toEqual([
        [2, "active"],
        [1, "retiring"],
      ]);
      const [a] = values;
      if (a === undefined) throw new Error("made above");
      const turned = { ...a, kekVersion: 2, envelope: "turned" };
      const rewrap = (from: SealedValue) =>
        store.atomically((tx) => tx.envelopes.rewrap(from, turned));
      expect(await rewrap({ ...a, envelope: "seen before a change" })).toBe(false);
      expect(await rewrap(a)).toBe(true);
      expect(await rewrap(a)).toBe(false);
      expect(await under(5)).toEqual(values.slice(1));
    });

    test("a version is not retired while a value is sealed under it, and takes none afterwards", async () => {
      const { store } = given();
      expect(await put(sealed("late", 1))).toBe(true);
      expect(await retire(1)).toBe(false);
      for (const { place } of await store.read.envelopes.under(1, 10)) {
        await store.atomically((tx) => tx.envelopes.remove(place));
      }
      expect(await retire(1)).toBe(true);
      expect(await put(sealed("later", 1))).toBe(false);
      expect(await retire(2)).toBe(false);
      expect(await statuses()).toEqual([
        [2, "active"],
        [1, "retired"],
      ]);
    });
  });
}

const version = (number: number): KekVersion => ({
  version: number,
  status: "active",
  family: "kek",
  createdAt: make.noon,
  deviceSerial: "1234",
  spkiSha256: number === 1 ? undefined : "cd".repeat(32),
  key: { provider: "software", label: `kek-v${number}`, id: "ab".repeat(20) },
});

const sealed = (id: string, kekVersion: number): SealedValue => ({
  place: placeOf("instance", `test ${id}`),
  kekVersion,
  envelope: `envelope of ${id}`,
});
