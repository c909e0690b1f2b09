/** What a server measures of ACME, as it is scraped. */

import { afterAll, beforeAll, expect, test } from "bun:test";

import type { AcmeClient } from "#test/support/acme/client.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { until } from "#test/support/until.ts";

let world: AcmeWorld;
let client: AcmeClient;
beforeAll(async () => {
  world = await AcmeWorld.start({ acme: { validation_attempts: 1 } });
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

/** The series of ACME that are not 0. */
async function measured(): Promise<Readonly<Record<string, number>>> {
  const text = await world.instance.metrics();
  const series = text.matchAll(/^(pki_acme_\S+) (\S+)$/gm);
  return Object.fromEntries(
    [...series].map(([, name = "", value]) => [name, Number(value)]).filter(([, n]) => n !== 0),
  );
}

test("nothing is counted before anything is asked", async () => {
  expect(await measured()).toEqual({});
});

test("orders count when they are made and when they have a certificate, proofs by what became of them", async () => {
  await client.obtain([world.name(), world.name()], world.show);
  await client.obtain([world.name()], world.show, { type: "dns-01" });
  const denied = await client.tried(world.name(), "http-01", world.deceive);
  const unknown = await client.tried("nobody.example.test", "http-01", () => {});
  expect([denied.result, unknown.result]).toEqual(["incorrectResponse", "dns"]);
  const expected = {
    'pki_acme_orders_total{step="new"}': 4,
    'pki_acme_orders_total{step="valid"}': 2,
    'pki_acme_validations_total{type="http-01",result="success"}': 2,
    'pki_acme_validations_total{type="dns-01",result="success"}': 1,
    'pki_acme_validations_total{type="http-01",result="denied"}': 1,
    'pki_acme_validations_total{type="http-01",result="error"}': 1,
  };
  // Events are told of behind their commit.
  await until(async () => Object.keys(await measured()).length >= Object.keys(expected).length);
  expect(await measured()).toEqual(expected);
});

test("certificates of a running plan count until their clients have come", async () => {
  const outstanding = async () => (await measured()).pki_acme_replacements_outstanding ?? 0;
  const { id } = await world.instance.admin<{ id: string }>(
    "POST",
    `/api/ca/${world.chain.intermediateId}/acme-replacements`,
    { all: true, within_seconds: 3600 },
  );
  expect(await outstanding()).toBe(2);
  await world.instance.admin("POST", `/api/acme/replacements/${id}:cancel`, {});
  expect(await outstanding()).toBe(0);
});
