/**
 * A mass replacement with 200 ACME clients that renew in 45 seconds, in the long run 1,000 clients
 * in 120 seconds. It mostly waits, so this file starts first and other tests run concurrently.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { AcmeClient, Downloaded } from "#test/support/acme/client.ts";
import { renewed } from "#test/support/acme/renewing.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";
import { selectByRun } from "#test/support/run-length.ts";
import { until } from "#test/support/until.ts";

/** Length of the plan. */
const seconds = selectByRun(45, 120);
const size = selectByRun(200, 1000);
/** As many as the time needs: three quarters of it have windows that begin. */
const perSecond = Math.ceil(size / Math.ceil(seconds * 0.75));

interface Plan {
  readonly id: string;
  readonly status: string;
  readonly total: number;
  readonly replaced: number;
  readonly outstanding: number;
  readonly revoked: number;
}

/** One certificate with whoever keeps it. */
interface Held {
  readonly client: AcmeClient;
  readonly names: readonly string[];
  readonly had: Downloaded;
}

describe("a mass replacement", () => {
  let world: AcmeWorld;
  let holders: readonly Held[];
  let replacements: readonly Downloaded[];
  let plan: Plan;

  beforeAll(async () => {
    world = await AcmeWorld.start();
    const clients = await Promise.all(Array.from({ length: 8 }, () => world.client()));
    holders = await atATime(16, size, async (at) => {
      const client = clients[at % clients.length];
      if (client === undefined) throw new Error("there are clients");
      const names = [world.name(`host${at}`)];
      return { client, names, had: await client.obtain(names, world.show) };
    });
  }, 300_000);
  afterAll(() => world.stop());

  const path = () => `/api/ca/${world.chain.intermediateId}/acme-replacements`;
  const asked = { all: true, revoke: "superseded", per_second: perSecond };
  const progress = () => world.instance.admin<Plan>("GET", `/api/acme/replacements/${plan.id}`);

  test("a time that is too short is refused with the least that would do", async () => {
    const body = { ...asked, per_second: 1, within_seconds: seconds };
    const refused = await world.instance.admin("POST", path(), body).catch(String);
    expect(refused).toContain("409");
    expect(refused).toContain('"code":"replacement_too_fast"');
    const [, least] = /"least_seconds":(\d+)/.exec(String(refused)) ?? [];
    expect(Number(least)).toBeGreaterThan(size);
  });

  test("every client comes by itself, as it is told", async () => {
    plan = await world.instance.admin("POST", path(), { ...asked, within_seconds: seconds });
    expect(plan).toMatchObject({ status: "running", total: size, replaced: 0 });
    const stop = AbortSignal.timeout(260_000);
    const came = await Promise.all(
      holders.map(({ client, names, had }) =>
        renewed(had, { client, names, show: world.show, chance: Math.random, signal: stop }),
      ),
    );
    replacements = came.filter((one) => one !== undefined);
    expect(replacements).toHaveLength(size);
    expect(await progress()).toMatchObject({ replaced: size, outstanding: 0 });
    const shown = await world.instance.cli("acme", "replacement", "show", plan.id);
    expect(shown.stdout).toMatch(new RegExp(`replaced: +${size}\n`));
  }, 300_000);

  test("no second, wherever it begins, has more certificates in it than was said", async () => {
    const most = await world.mostInASecond(replacements.map(({ leaf }) => leaf.serial));
    expect(most).toBeLessThanOrEqual(perSecond);
  });

  test("what was replaced is revoked, and nothing else is: lists and OCSP say so", async () => {
    await until(async () => (await progress()).status === "finished");
    expect(await progress()).toMatchObject({ total: size, replaced: size, revoked: size });
    const id = world.chain.intermediateId;
    await world.instance.admin("POST", `/api/ca/${id}/crl:publish`);
    const listed = await revokedSerials(id);
    const [old, fresh] = [holders.map(({ had }) => had), replacements];
    expect(old.filter(({ leaf }) => !listed.has(leaf.serial))).toEqual([]);
    expect(fresh.filter(({ leaf }) => listed.has(leaf.serial))).toEqual([]);
    for (const [some, status] of [
      [old, "revoked"],
      [fresh, "good"],
    ] as const) {
      for (const one of [some[0], some[size >> 1], some.at(-1)]) {
        const serial = one?.leaf.serial ?? "";
        const label = "issuing-ecdsa-p256";
        const said = await world.instance.cli("ocsp", "check", "--ca", label, serial);
        expect(said.stdout).toContain(status);
      }
    }
  }, 120_000);

  test("nothing was revoked before what replaces it was there", async () => {
    const finalized = await eventsOf("acme.order.finalize");
    const revoked = await eventsOf("cert.revoke");
    const placeOf = new Map(finalized.map(({ serial, seq }) => [serial, seq]));
    const revokedAt = new Map(revoked.map(({ serial, seq }) => [serial, seq]));
    const early = holders.filter(({ had, names }) => {
      const next = replacements.find(({ leaf }) => leaf.names[0] === names[0]);
      const [came, went] = [placeOf.get(next?.leaf.serial ?? ""), revokedAt.get(had.leaf.serial)];
      return came === undefined || went === undefined || went < came;
    });
    expect(early).toEqual([]);
    expect(revoked.every(({ detail }) => detail.includes(`bulk_op=${plan.id}`))).toBe(true);
    const [finish] = await eventsOf("acme.replace.finish");
    expect(finish?.detail).toContain(`planned=${size} replaced=${size} revoked=${size}`);
  }, 60_000);

  test("from the shell a plan is looked at, made, listed and called off", async () => {
    const { instance } = world;
    const words = ["acme", "replace", "--ca", "issuing-ecdsa-p256", "--pattern", "host1*"];
    const found = await instance.cli(...words, "--within", "1h", "--dry-run", "--json");
    expect(JSON.parse(found.stdout)).toMatchObject({ total: 111, not_by_acme: 0 });
    expect(found.stderr).toBe("");
    const unsaid = await instance.cli(...words, "--within", "1h", "--revoke", "superseded");
    expect([unsaid.code, unsaid.stderr.includes("--yes says that it is meant")]).toEqual([2, true]);
    const made = await instance.cli(...words, "--within", "1h");
    expect(made.stderr).toContain("Clients ask every 6 h at least");
    const [, id = ""] = /^id: +(\S+)$/m.exec(made.stdout) ?? [];
    const listed = await instance.cli("acme", "replacements", "--json");
    expect(JSON.parse(listed.stdout).items.map((one: Plan) => [one.id, one.status])).toEqual([
      [id, "running"],
      [plan.id, "finished"],
    ]);
    const cancel = async () => (await instance.cli("acme", "replacement", "cancel", id)).stdout;
    expect([await cancel(), await cancel()]).toEqual(["canceled\n", "already_over\n"]);
    const nowhere = await instance.cli("acme", "replacement", "show", crypto.randomUUID());
    expect(nowhere.code).not.toBe(0);
  }, 60_000);

  const eventsOf = (action: string) =>
    world.all<{ seq: number; serial: string; detail: string }>(`/api/events?action=${action}`);

  /** The serials on the newest list, as another program reads it. */
  async function revokedSerials(id: string): Promise<ReadonlySet<string>> {
    const { home } = world.instance;
    const list = await world.instance.fetch(`/api/ca/${id}/crl`);
    const file = saved(home, "issuing.crl", new Uint8Array(await list.arrayBuffer()));
    const { text } = await openssl(["crl", "-inform", "DER", "-in", file, "-noout", "-text"]);
    const found = [...text.matchAll(/Serial Number: ([0-9A-F]+)/g)];
    return new Set(found.map(([, hex]) => BigInt(`0x${hex}`).toString()));
  }
});

/** The results of so much work, some of it at a time, in their order. */
async function atATime<T>(
  most: number,
  count: number,
  work: (at: number) => Promise<T>,
): Promise<readonly T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < count; at = next++) results[at] = await work(at);
  };
  await Promise.all(Array.from({ length: most }, worker));
  return results;
}
