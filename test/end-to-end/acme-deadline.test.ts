/**
 * Revocation when replaced, and at the latest at a moment: through the binary, whose clock the test
 * sets.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { AcmeClient, Downloaded } from "#test/support/acme/client.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { canFakeTime, type FalseTime, falseTime } from "#test/support/instances/false-time.ts";
import { until } from "#test/support/until.ts";

interface Shown {
  readonly status: string;
  readonly reason?: string;
}

interface Plan {
  readonly id: string;
  readonly status: string;
  readonly total: number;
  readonly replaced: number;
  readonly revoked: number;
}

describe.skipIf(!canFakeTime)("a plan that revokes", () => {
  let time: FalseTime;
  let world: AcmeWorld;
  let client: AcmeClient;
  let [prompt, late, never]: Downloaded[] = [];
  let plan: Plan;
  beforeAll(async () => {
    time = falseTime();
    world = await AcmeWorld.start({ env: time.env });
    client = await world.client();
    [prompt, late, never] = [await obtain(), await obtain(), await obtain()];
    plan = await world.instance.admin<Plan>(
      "POST",
      `/api/ca/${world.chain.intermediateId}/acme-replacements`,
      { all: true, revoke: "superseded", within_seconds: 3600 },
    );
  }, 60_000);
  afterAll(async () => {
    await world.stop();
    time.remove();
  });

  const obtain = (names = [world.name()], more: object = {}) =>
    client.obtain(names, world.show, { more });
  const shown = (one: Downloaded | undefined) =>
    world.instance.admin<Shown>(
      "GET",
      `/api/ca/${world.chain.intermediateId}/certificates/${one?.leaf.serial}`,
    );
  const progress = () => world.instance.admin<Plan>("GET", `/api/acme/replacements/${plan.id}`);
  const replaced = (one: Downloaded | undefined) =>
    obtain([...(one?.leaf.names ?? [])], { replaces: one?.leaf.certId });
  const revoked = (one: Downloaded | undefined) =>
    until(async () => (await shown(one)).status === "revoked");

  test("revokes what its client has replaced, and nothing else before the time is over", async () => {
    expect(plan).toMatchObject({ status: "running", total: 3, replaced: 0, revoked: 0 });
    await replaced(prompt);
    await revoked(prompt);
    for (const other of [late, never]) expect((await shown(other)).status).toBe("good");
    // Two minutes before the end the schedule has looked again when the next one is revoked.
    time.set(3480);
    expect((await shown(never)).status).toBe("good");
    await replaced(late);
    await revoked(late);
    expect((await shown(never)).status).toBe("good");
    expect(await progress()).toMatchObject({ status: "running", replaced: 2, revoked: 2 });
  }, 60_000);

  test("revokes whoever has not come when it is over, says so, and is finished", async () => {
    time.set(3605);
    await revoked(never);
    expect((await shown(never)).reason).toBe("superseded");
    await until(async () => (await progress()).status === "finished");
    expect(await progress()).toMatchObject({ total: 3, replaced: 2, revoked: 3 });
    const [finish, ...more] = await world.events("acme.replace.finish");
    expect(more).toEqual([]);
    expect(finish?.detail).toContain("planned=3 replaced=2 revoked=3");
    const serial = never?.leaf.serial ?? "";
    const said = await world.instance.cli("ocsp", "check", "--ca", "issuing-ecdsa-p256", serial);
    expect(said.stdout).toContain("revoked");
  }, 60_000);

  test("leaves what has replaced them alone", async () => {
    const list = await world.inventory();
    const statuses = list.map(({ status }) => status).sort();
    expect(statuses).toEqual(["good", "good", "revoked", "revoked", "revoked"]);
  });
});
