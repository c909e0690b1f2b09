/** What every store guarantees about passkeys. */

import { expect, test } from "bun:test";

import { instant } from "#core/time.ts";
import type { PasskeyRecord } from "#domain/access/store.ts";
import type { Store } from "#domain/store.ts";
import { noon } from "#test/support/stores/records.ts";
import type { Account } from "#core/access/person.ts";

/** Registers the suite; `home` is a fresh text per test, so that stores may be shared. */
export function passkeyContract(given: () => { store: Store; home: string }): void {
  test("a passkey is known once among all people, listed to its owner, and removed by no other", async () => {
    const { store, home } = given();
    const first = passkey(`${home}-1`, home);
    const second = passkey(`${home}-2`, home, { createdAt: instant(noon + 1) });
    const insert = (one: PasskeyRecord) => store.atomically((tx) => tx.access.insertPasskey(one));
    expect(await insert(second)).toBe(true);
    expect(await insert(first)).toBe(true);
    expect(await insert({ ...first, owner: account("another"), name: "stolen" })).toBe(false);
    const { passkeysOf } = store.read.access;
    expect(await passkeysOf(account(home))).toEqual([first, second]);
    expect(await passkeysOf(account("another"))).toEqual([]);
    expect(await passkeysOf({ ...account(home), voucher: "ldap", issuer: "" })).toEqual([]);
    expect(await passkeysOf({ ...account(home), issuer: "https://other.x.test" })).toEqual([]);
    await store.atomically(async (tx) => {
      expect(await tx.access.passkeysOf(account(home))).toEqual([first, second]);
    });
    const remove = (subject: string) =>
      store.atomically((tx) => tx.access.removePasskey(first.id, account(subject)));
    expect(await remove("another")).toBeUndefined();
    expect(await remove(home)).toEqual(first);
    expect(await remove(home)).toBeUndefined();
    expect(await passkeysOf(account(home))).toEqual([second]);
  });

  test("all passkeys of a subject are removed at once, whoever vouches for it, and nobody else's", async () => {
    const { store, home } = given();
    const first = passkey(`${home}-1`, home);
    const owner: Account = { subject: home, voucher: "ldap", issuer: "" };
    const second = passkey(`${home}-2`, home, { owner, createdAt: instant(noon + 1) });
    const another = passkey(`${home}-3`, `${home}-x`);
    for (const one of [second, first, another]) {
      await store.atomically((tx) => tx.access.insertPasskey(one));
    }
    const reset = () => store.atomically((tx) => tx.access.removePasskeysOf(home));
    expect(await reset()).toEqual([first, second]);
    expect(await reset()).toEqual([]);
    expect(await store.read.access.passkeysOf(account(`${home}-x`))).toEqual([another]);
  });

  test("a counter grows with every use, unless it never counts", async () => {
    const { store, home } = given();
    const counting = passkey(`${home}-1`, home, { signCount: 4 });
    const silent = passkey(`${home}-2`, home);
    for (const one of [counting, silent]) {
      await store.atomically((tx) => tx.access.insertPasskey(one));
    }
    const at = instant(noon + 5);
    const use = (id: string, signCount: number, subject = home) =>
      store.atomically((tx) =>
        tx.access.usePasskey({ id, owner: account(subject), signCount, at }),
      );
    for (const low of [0, 3, 4]) expect(await use(counting.id, low)).toBe("counter");
    expect(await store.read.access.passkeysOf(account(home))).toEqual([counting, silent]);
    expect(await use(counting.id, 5)).toBe("used");
    expect(await use(counting.id, 5)).toBe("counter");
    expect(await use(silent.id, 0)).toBe("used");
    expect(await use(silent.id, 0)).toBe("used");
    expect(await use(silent.id, 1)).toBe("used");
    expect(await use(silent.id, 0)).toBe("counter");
    expect(await use(counting.id, 9, "another")).toBe("gone");
    expect(await use("none", 9)).toBe("gone");
    expect(await store.read.access.passkeysOf(account(home))).toEqual([
      { ...counting, signCount: 5, lastUsedAt: at },
      { ...silent, signCount: 1, lastUsedAt: at },
    ]);
  });
}

const passkey = (
  id: string,
  subject: string,
  facts: Partial<PasskeyRecord> = {},
): PasskeyRecord => ({
  id,
  owner: account(subject),
  name: "a key",
  publicKey: new Uint8Array([1, 2, 255]),
  signCount: 0,
  createdAt: noon,
  lastUsedAt: undefined,
  ...facts,
});

const account = (subject: string): Account => ({
  subject,
  voucher: "oidc",
  issuer: "https://id.x.test",
});
