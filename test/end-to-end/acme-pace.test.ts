/**
 * Clients that come at once: however they come, and whatever they say, a plan has no more of them
 * in a second than the server has seen itself do, or than was asked.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { join } from "node:path";

import type { AcmeClient, Downloaded } from "#test/support/acme/client.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { until } from "#test/support/until.ts";

interface Held {
  readonly client: AcmeClient;
  readonly names: readonly string[];
  readonly had: Downloaded;
}

interface Plan {
  readonly id: string;
  readonly status: string;
  readonly per_second: number;
  readonly total: number;
  readonly replaced: number;
  readonly revoked: number;
}

const size = 40;
let world: AcmeWorld;
let holders: readonly Held[];

beforeAll(async () => {
  world = await AcmeWorld.start();
  const clients = await Promise.all(Array.from({ length: size }, () => world.client()));
  holders = await Promise.all(
    clients.map(async (client, at) => {
      const names = [world.name(`host${at}`)];
      return { client, names, had: await client.obtain(names, world.show) };
    }),
  );
}, 60_000);
afterAll(() => world.stop());

const path = () => `/api/ca/${world.chain.intermediateId}/acme-replacements`;
const planned = (body: object) =>
  world.instance.admin<Plan>("POST", path(), { within_seconds: 600, ...body });
const shown = ({ id }: Plan) => world.instance.admin<Plan>("GET", `/api/acme/replacements/${id}`);

/** All of them, at once, every other one without saying what for. */
async function allCome(): Promise<void> {
  holders = await Promise.all(
    holders.map(async ({ client, names, had }, at) => {
      const more = at % 2 === 0 ? { replaces: had.leaf.certId } : {};
      return { client, names, had: await client.obtain(names, world.show, { more }) };
    }),
  );
}

const serials = () => holders.map(({ had }) => had.leaf.serial);

test("by what was measured, where nobody says how many", async () => {
  const plan = await planned({ all: true });
  expect(plan).toMatchObject({ status: "running", total: size });
  expect(plan.per_second).toBeGreaterThan(0);
  await allCome();
  expect(await world.mostInASecond(serials())).toBeLessThanOrEqual(Math.ceil(plan.per_second));
  await until(async () => (await shown(plan)).status === "finished");
  expect(await shown(plan)).toMatchObject({ replaced: size });
}, 60_000);

test("of what was revoked in bulk, whose clients are told to come at once", async () => {
  const file = saved(world.instance.home, "serials", serials().join("\n"));
  const named = ["--ca", "issuing-ecdsa-p256", "--serials-file", file, "--confirm", String(size)];
  const how = ["--reason", "superseded", "--operation-id", "urgent"];
  const done = await world.instance.cli("revoke", "bulk", ...named, ...how);
  expect([done.code, done.stderr]).toEqual([
    0,
    expect.stringContaining("pkid acme replace --ca issuing-ecdsa-p256 --operation-id urgent"),
  ]);
  const [first] = holders;
  const told = first && JSON.parse((await first.client.renewalInfo(first.had.leaf)).text);
  expect(Date.parse(told.suggestedWindow.end)).toBeLessThanOrEqual(Date.now());
  const plan = await planned({ operation_id: "urgent", per_second: 8 });
  expect(plan).toMatchObject({ total: size, replaced: 0, revoked: size });
  await allCome();
  expect(await world.mostInASecond(serials())).toBeLessThanOrEqual(8);
  await until(async () => (await shown(plan)).status === "finished");
  expect(await shown(plan)).toMatchObject({ replaced: size });
}, 60_000);

test("after a restart by what was measured before it", async () => {
  await until(async () => (await kept()) !== undefined);
  await world.instance.stop();
  const known = Number(await kept());
  await world.startAgain();
  const half = known / 2;
  expect(await planned({ dry_run: true })).toMatchObject({
    per_second: half < 1 ? half : Math.floor(half),
  });
}, 60_000);

/** What is kept of the measurement. */
async function kept(): Promise<string | undefined> {
  const database = new Database(join(world.instance.dataDir, "pkid.db"), { readonly: true });
  try {
    const text = "select value from instance where name = 'acme.issuance_rate'";
    return database.query<{ value: string }, []>(text).get()?.value;
  } finally {
    database.close();
  }
}
