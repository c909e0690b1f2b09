/** What the one way to a certificate says to orders, in the words of ACME (P-2, P-3, FIN-4). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";

import {
  type AcmeClient,
  type Answer,
  type Order,
  type ProblemObject,
  refusalOf,
} from "#test/support/acme/client.ts";
import { newCsr } from "#test/support/acme/csr.ts";
import { newKey } from "#test/support/acme/keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { command } from "#test/support/instances/first-certificate.ts";
import { writeConfig } from "#test/support/instances/instance.ts";
import { createHsmToken, softHsmModule, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

const namesOf = ({ identifiers }: Order) => identifiers.map(({ value }) => value);

async function finalized(client: AcmeClient, order: Order): Promise<Answer> {
  const { der } = await newCsr({ names: namesOf(order) });
  return await client.post(order.finalize, { csr: der.toString("base64url") });
}

async function ready(world: AcmeWorld, client: AcmeClient, more: object = {}): Promise<Order> {
  const order = await client.order([world.name()], more);
  await client.prove(order, "http-01", world.show);
  return order;
}

/** Has the server go on with another configuration, of the same world. */
async function reload({ instance, config }: AcmeWorld, change: object): Promise<void> {
  writeConfig(instance.home, { ...config, ...change });
  const before = instance.logs.length;
  instance.signal("SIGHUP");
  const reloaded = () =>
    instance.logs.slice(before - 1).some((line) => line.includes('"config_reloaded"'));
  while (!reloaded()) await Bun.sleep(10);
}

describe("a gate", () => {
  const web = { name: "web", key_usages: ["digitalSignature"], ext_key_usages: ["serverAuth"] };
  const approved = { ...web, name: "approved", require_approval: true };
  let world: AcmeWorld;
  let client: AcmeClient;
  beforeAll(async () => {
    world = await AcmeWorld.start({
      config: { profiles: [web, approved] },
      acme: {
        profiles: {
          web: { description: "For servers.", profile: "web" },
          approved: { description: "People wait for an approval.", profile: "approved" },
        },
        directories: {
          inside: { path: "/inside", ca_label: "inside" },
          brief: { path: "/brief", ca_label: "brief" },
        },
      },
    });
    for (const [label, ...more] of [
      ["inside", "--permit-dns", "inside.test"],
      ["brief", "--validity-days", "10"],
    ] as const) {
      const place = ["--parent", "root-ecdsa-p256", "--label", label, "--cn", label];
      await command(world.instance, ["ca", "issue-intermediate", ...place, ...more]);
    }
    client = await world.client();
  }, 30_000);
  afterAll(() => world.stop());

  const at = async (directory: string) => {
    const other = await world.stranger(newKey(), `${world.base}/${directory}/directory`);
    await other.register();
    return other;
  };

  test("P-2: has had its say in every certificate, which two events tell of in one unit", async () => {
    const order = await ready(world, client);
    const answer = await finalized(client, order);
    const { certificate = "" } = JSON.parse(answer.text) as Order;
    const { serial } = (await client.download(certificate)).leaf;
    const account = client.kid?.split("/").at(-1) ?? "";
    const about = { serial, ca_id: world.chain.intermediateId, actor: `acme:${account}` };
    const [issue] = await world.events("cert.issue");
    const [finalize] = await world.events("acme.order.finalize");
    expect(issue).toMatchObject({ ...about, result: "success" });
    expect(issue?.detail).toContain("protocol=acme");
    const [name] = namesOf(order);
    expect(finalize).toMatchObject({
      ...about,
      target: order.url.split("/").at(-1),
      target_name: serial,
      detail: `identifiers=dns:${name} profile=server`,
    });
    expect(Math.abs(Number(finalize?.seq) - Number(issue?.seq))).toBe(1);
    const path = `/api/ca/${world.chain.intermediateId}/certificates/${serial}`;
    const shown = await world.instance.admin("GET", path);
    expect(shown).toMatchObject({ requested_by: `acme:${account}`, profile: "server" });
  });

  test("P-3: is content with a validity that is cut to what the CA has left, and says so", async () => {
    const other = await at("brief");
    const order = await ready(world, other);
    const { certificate = "" } = JSON.parse((await finalized(other, order)).text) as Order;
    const { notAfter } = (await other.download(certificate)).leaf;
    const tenDays = Date.now() + 10 * 86_400_000;
    expect(Math.abs(notAfter.getTime() - tenDays)).toBeLessThan(3_600_000);
    expect((await world.events("cert.issue"))[0]?.detail).toContain("validity_clamped=ca");
  });

  test("P-3: of a profile that people wait for an approval of keeps no device waiting", async () => {
    const order = await ready(world, client, { profile: "approved" });
    expect(
      (await client.finalize(order, (await newCsr({ names: namesOf(order) })).der)).status,
    ).toBe("valid");
    const { items } = await world.instance.admin<{ items: unknown[] }>("GET", "/api/approvals");
    expect(items).toEqual([]);
  });

  test("FIN-4: for names that the CA may not certify ends the order: rejectedIdentifier", async () => {
    const other = await at("inside");
    const order = await ready(world, other);
    expect(refusalOf(await finalized(other, order))).toBe("400 rejectedIdentifier");
    await expectEnded(other, order, "rejectedIdentifier");
    const [denied] = await world.events("cert.nameconstraint");
    expect(denied).toMatchObject({ result: "denied" });
    expect(denied?.detail).toContain("name_not_allowed");
  });

  test("FIN-4: for names that the profile permits no more ends the order: rejectedIdentifier", async () => {
    const order = await ready(world, client, { profile: "web" });
    const narrow = { ...web, names: { permitted_dns: ["inside.test"] } };
    await reload(world, { profiles: [narrow, approved] });
    expect(refusalOf(await finalized(client, order))).toBe("400 rejectedIdentifier");
    await expectEnded(client, order, "rejectedIdentifier");
    await reload(world, {});
  });

  async function expectEnded(who: AcmeClient, order: Order, type: string): Promise<void> {
    const ended = await who.refreshed(order);
    expect(ended.status).toBe("invalid");
    expect(ended.error?.type).toBe(`urn:ietf:params:acme:error:${type}`);
    // P-9: what the gate found is for the event.
    expect((ended.error as ProblemObject).detail).toBe("A name is not permitted here.");
    expect(refusalOf(await finalized(who, order))).toBe("403 orderNotReady");
  }

  test("FIN-4: that has no turn for so many leaves their orders ready, and says when", async () => {
    const orders: Order[] = [];
    for (let at = 0; at < 8; at++) orders.push(await ready(world, client));
    await reload(world, {
      rate_limit: { concurrency: { enabled: true, max_in_flight: 1, max_queue: 0 } },
    });
    const siblings = orders.map(() => client.with(client.key));
    for (const one of siblings) one.kid = client.kid;
    const answers = await Promise.all(
      orders.map((order, index) => finalized(siblings[index] ?? client, order)),
    );
    await reload(world, {});
    const shed = orders.filter((_order, index) => answers[index]?.status !== 200);
    expect(shed.length).toBeGreaterThan(0);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(refusalOf(answer)).toBe("503 rateLimited");
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    for (const order of shed) {
      expect((await client.refreshed(order)).status).toBe("ready");
      expect((await finalized(client, order)).status).toBe(200);
    }
  });

  test("RFC 8555 §7.4.1: proves no name before an order where that is off", async () => {
    expect(client.directory).not.toHaveProperty("newAuthz");
    const body = { identifier: { type: "dns", value: world.name() } };
    const answer = await client.post(`${world.base}/acme/new-authz`, body);
    expect(refusalOf(answer)).toBe("403 unauthorized");
  });
});

describe.skipIf(!existsSync(softHsmModule))("a key provider that is away", () => {
  let token: SoftHsmToken;
  let world: AcmeWorld;
  let client: AcmeClient;
  beforeAll(async () => {
    token = await createHsmToken();
    world = await AcmeWorld.start({ config: token.config, env: token.env });
    client = await world.client();
  }, 30_000);
  afterAll(async () => {
    await world.stop();
    token.remove();
  });

  test("P-8, FIN-4: leaves the order ready at once, says when to come, and it gets its certificate", async () => {
    const order = await ready(world, client);
    const tokens = join(token.folder, "tokens");
    renameSync(tokens, `${tokens}.away`);
    for (const pid of world.instance.signers()) process.kill(pid, "SIGKILL");
    const answer = await finalized(client, order);
    expect(refusalOf(answer)).toBe("503 serverInternal");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await client.refreshed(order)).toMatchObject({ status: "ready" });
    renameSync(`${tokens}.away`, tokens);
    for (;;) {
      const again = await finalized(client, order);
      if (again.status === 200) break;
      expect(refusalOf(again)).toBe("503 serverInternal");
      expect((await client.refreshed(order)).status).toBe("ready");
      await Bun.sleep(200);
    }
    expect((await client.refreshed(order)).status).toBe("valid");
    expect(await world.inventory()).toHaveLength(1);
  }, 30_000);
});
