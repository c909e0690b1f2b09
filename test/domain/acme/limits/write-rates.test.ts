/** Rates of what ACME clients store without a certificate. */

import { beforeEach, expect, test } from "bun:test";

import { type AcmeWriter, WriteRates } from "#domain/acme/limits/write-rates.ts";
import { type TestClock, testClock } from "#test/support/ports.ts";
import { noon } from "#test/support/stores/records.ts";

let clock: TestClock;
let rates: WriteRates;
beforeEach(() => {
  clock = testClock();
  rates = new WriteRates({ clock });
});

const ip = "192.0.2.1";
const createNewcomer = (id: string) => ({ id, idleSince: noon });
const createCustomer = (id: string) => ({ id, idleSince: undefined });

/** Returns how many of `count` writes are admitted; `writer` is called with the number of each. */
function countAdmissions(count: number, writer: (n: number) => Partial<AcmeWriter>): number {
  let sum = 0;
  for (let n = 0; n < count; n++) {
    try {
      rates.admit({ tenant: "web", ip, account: createCustomer("a"), ...writer(n) });
      sum++;
    } catch (error) {
      expect(error).toMatchObject({ code: "rate_limited" });
    }
  }
  return sum;
}

test("an account stores 1,000 records immediately, and one in 10 seconds after that", () => {
  expect(countAdmissions(1001, () => ({}))).toBe(1000);
  expect(() => rates.admit({ tenant: "web", ip, account: createCustomer("a") })).toThrow(
    expect.objectContaining({ facts: { tier: "per_account", retry_after: 10 } }),
  );
  clock.advance(20);
  expect(countAdmissions(5, () => ({}))).toBe(2);
  expect(countAdmissions(1, () => ({ account: createCustomer("b") }))).toBe(1);
});

test("an address stores 5,000 records immediately, for any number of accounts", () => {
  const all = countAdmissions(5100, (n) => ({ account: createCustomer(`a${n}`) }));
  expect(all).toBe(5000);
  expect(countAdmissions(1, () => ({ ip: "192.0.2.2", account: createCustomer("b") }))).toBe(1);
  expect(countAdmissions(1, () => ({ tenant: "lab", account: createCustomer("b") }))).toBe(1);
});

test("all addresses of an IPv6 /64 are one address", () => {
  const formatIp = (n: number) => `2001:db8:0:1::${n.toString(16)}`;
  expect(
    countAdmissions(5100, (n) => ({ ip: formatIp(n), account: createCustomer(`a${n}`) })),
  ).toBe(5000);
  expect(countAdmissions(1, () => ({ ip: "2001:db8:0:2::1", account: createCustomer("b") }))).toBe(
    1,
  );
});

test("a refused write takes no token of the other tiers", () => {
  countAdmissions(1500, () => ({}));
  expect(countAdmissions(4100, (n) => ({ account: createCustomer(`b${n}`) }))).toBe(4000);
});

test("an order that leads to a certificate returns its tokens", () => {
  expect(countAdmissions(1000, () => ({}))).toBe(1000);
  for (let n = 0; n < 3; n++) rates.refund("web", "a", ip);
  expect(countAdmissions(5, () => ({}))).toBe(3);
});

test("clients without a certificate share 50,000 writes, and each address has 10 more", () => {
  const createWriter = (n: number) => ({
    ip: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
    account: createNewcomer(`a${n}`),
  });
  expect(countAdmissions(50_000, createWriter)).toBe(50_000);
  const late = { ip: "198.51.100.1" };
  expect(countAdmissions(20, (n) => ({ ...late, account: createNewcomer(`late${n}`) }))).toBe(10);
  expect(countAdmissions(20, () => ({ ...late, account: undefined }))).toBe(0);
  expect(countAdmissions(20, () => ({ ...late, account: createCustomer("known") }))).toBe(20);
});
