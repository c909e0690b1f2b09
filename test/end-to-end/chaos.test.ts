/** Crash test, short mode; `bun run chaos` is the long one. */

import { expect, test } from "bun:test";

import { chaos } from "#test/support/chaos/chaos.ts";
import { createHsmToken } from "#test/support/keys/soft-token.ts";

test("SIGKILL under 32 clients and across a rollover loses no certificate, no revocation and no link of the chain", async () => {
  const report = await chaos({ kills: 4, clients: 32, loadMsMax: 600, rotateAt: 2 });
  expect(report.broken).toEqual([]);
  expect(report.issued).toBeGreaterThan(0);
  expect(report.revoked).toBeGreaterThan(0);
}, 180_000);

test("SIGKILL under bulk issue and transparency, across a rollover: nothing is lost, unaccounted for or issued twice", async () => {
  const plan = { kills: 3, clients: 8, loadMsMax: 500, rotateAt: 2, bulkItems: 30 };
  const report = await chaos(plan);
  expect(report.broken).toEqual([]);
  expect(report.bulks).toBeGreaterThan(0);
  expect(report.resumed).toBeGreaterThan(0);
  expect(report.logged).toBeGreaterThanOrEqual(report.issued);
}, 180_000);

test("SIGKILL loses nothing either when the keys are in a token", async () => {
  const { config, env, remove } = await createHsmToken();
  try {
    const report = await chaos({ kills: 2, clients: 8, loadMsMax: 300, options: { config, env } });
    expect(report.broken).toEqual([]);
    expect(report.issued).toBeGreaterThan(0);
  } finally {
    remove();
  }
}, 180_000);
