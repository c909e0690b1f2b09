/** Proofs by records against a real name server, and against name servers that disagree or fail. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";

import type { ValidationSettings } from "#adapters/network/acme/validators.ts";
import { dnsDigest, dnsName } from "#core/acme/challenges.ts";
import { persistAccountUris } from "#core/acme/persist.ts";
import type { ValidationTask } from "#domain/acme/validators.ts";
import { body, startHttpResponder, wellKnown } from "#test/support/servers/acme-challenges.ts";
import { cname, type DnsServer, startDnsServer } from "#test/support/servers/dns-server.ts";
import { knotPath, type KnotServer, startKnot } from "#test/support/servers/knot.ts";
import {
  addressRecord,
  at,
  settingsFor,
  taskFor,
  txt,
  validatorsWith,
} from "#test/support/worlds/validation.ts";

const digest = dnsDigest("token.thumbprint");
const name = "_acme-challenge.a.test";

async function outcomeOf(
  server: { readonly address: string; readonly port: number },
  task: Partial<ValidationTask> = {},
  settings: Partial<ValidationSettings> = {},
) {
  const { validators } = validatorsWith(() => settingsFor(server, settings));
  return await validators.attempt(taskFor({ type: "dns-01", ...task }));
}

async function attempt(
  server: { readonly address: string; readonly port: number },
  task: Partial<ValidationTask> = {},
  settings: Partial<ValidationSettings> = {},
) {
  const outcome = await outcomeOf(server, task, settings);
  return outcome.proved
    ? ["proved", ...outcome.addresses]
    : [outcome.problem.type, outcome.problem.detail];
}

describe.skipIf(knotPath === undefined)("a real name server", () => {
  let knot: KnotServer;
  beforeAll(async () => {
    knot = await startKnot({ zones: ["test", "other"] });
  });
  afterAll(() => knot.stop());

  test("RFC 8555 §8.4: proves control by a record among others, until it is removed", async () => {
    expect(await attempt(knot)).toEqual(["unauthorized", `There is no TXT record at ${name}.`]);
    await knot.set(name, "TXT", '"another"', `"${digest}"`);
    expect(await attempt(knot)).toEqual(["proved"]);
    expect(await attempt(knot, { wildcard: true })).toEqual(["proved"]);
    await knot.set(name, "TXT", '"another"');
    expect(await attempt(knot)).toEqual([
      "incorrectResponse",
      expect.stringContaining('"another"'),
    ]);
    await knot.remove(name, "TXT");
    expect((await attempt(knot))[0]).toBe("unauthorized");
  });

  test("gives a record of many strings, which are one text", async () => {
    await knot.set(name, "TXT", `"${digest.slice(0, 20)}" "${digest.slice(20)}"`);
    expect(await attempt(knot)).toEqual(["proved"]);
    await knot.set(name, "TXT", `"${digest.slice(0, 20)}"`, `"${digest.slice(20)}"`);
    expect((await attempt(knot))[0]).toBe("incorrectResponse");
    await knot.remove(name, "TXT");
  });

  test("is followed through aliases to another zone", async () => {
    await knot.set(name, "CNAME", "a.challenges.other.");
    await knot.set("a.challenges.other", "TXT", `"${digest}"`);
    expect(await attempt(knot)).toEqual(["proved"]);
    await knot.set("a.challenges.other", "TXT", '"secret of another zone"');
    expect(await attempt(knot)).toEqual([
      "incorrectResponse",
      expect.not.stringContaining("secret"),
    ]);
    await knot.remove(name, "CNAME");
  });

  test("dns-account-01: is asked at the label of the account", async () => {
    const task = taskFor({ type: "dns-account-01" });
    const label = dnsName("dns-account-01", "a.test", task.accountUrl);
    await knot.set(label, "TXT", `"${digest}"`);
    expect(await attempt(knot, task)).toEqual(["proved"]);
    expect((await attempt(knot, { ...task, accountUrl: "https://ca.test/acme/acct/2" }))[0]).toBe(
      "unauthorized",
    );
  });

  test("dns-persist-01: proves control by a standing record for the account", async () => {
    const persist = {
      accountHashPrefix: "https://ca.test/acme/account-hash/",
      issuerDomainNames: ["ca.test"],
      thumbprints: ["old", "thumbprint"],
    };
    const task = taskFor({ type: "dns-persist-01", token: "", persist });
    const { accountUrl } = task;
    const [, , uri] = [...persistAccountUris({ ...persist, name: "a.test", accountUrl })];
    const standing = "_validation-persist.a.test";
    await knot.set(standing, "TXT", `"ca.test; accounturi=${uri}"`);
    expect(await attempt(knot, task)).toEqual(["proved"]);
    expect((await attempt(knot, { ...task, wildcard: true }))[0]).toBe("incorrectResponse");
    await knot.set(
      standing,
      "TXT",
      `"ca.test; accounturi=${uri}; policy=wildcard; persistUntil=1"`,
    );
    expect((await attempt(knot, task))[0]).toBe("incorrectResponse");
    await knot.set(standing, "TXT", `"ca.test; accounturi=${uri}; persistUntil=4102444800"`);
    expect(await outcomeOf(knot, task)).toMatchObject({ proved: true, until: 4_102_444_800_999 });
    const { persist: _none, ...without } = task;
    expect((await attempt(knot, without))[0]).toBe("unauthorized");
  });

  test("gives addresses to http-01, and CAA records", async () => {
    const web = await startHttpResponder("127.0.0.2");
    web.answers.set(wellKnown("token"), body("token.thumbprint"));
    await knot.set("web.test", "A", "127.0.0.2");
    await knot.set("a.test", "CNAME", "web.test.");
    const outcome = await attempt(knot, { type: "http-01" }, { http01_port: web.port });
    expect(outcome).toEqual(["proved", "127.0.0.2"]);
    await web.stop();
  });
});

describe("name servers that fail or disagree", () => {
  let [first, second]: DnsServer[] = [];
  const servers = () => {
    if (first === undefined || second === undefined) throw new Error("not started");
    return [first, second] as const;
  };
  beforeEach(async () => {
    [first, second] = [await startDnsServer(), await startDnsServer()];
  });
  afterEach(async () => {
    for (const one of servers()) await one.stop();
  });

  // biome-ignore format: the table is read by column.
  test.each([
    ["SERVFAIL",  { kind: "code", code: 2 } as const,  "SERVFAIL"],
    ["REFUSED",   { kind: "code", code: 5 } as const,  "REFUSED"],
    ["silence",   { kind: "silence" } as const,        "no answer in time"],
  ])("CHA-4: %s is error dns", async (_what, trick, words) => {
    const [server] = servers();
    server.zone.set(name, [txt(digest)]);
    server.tricks.set(name, trick);
    const outcome = await attempt(server, {}, { validation_timeout_seconds: 0.4 });
    expect(outcome).toEqual(["dns", `The DNS did not answer for ${name}: ${words}.`]);
  });

  test("aliases are followed eight times, and no further", async () => {
    const [server] = servers();
    const chain = (links: number) => {
      for (let link = 0; link < links; link++)
        server.zone.set(link === 0 ? name : `l${link}.test`, [cname(`l${link + 1}.test`)]);
      server.zone.set(`l${links}.test`, [txt(digest)]);
    };
    chain(8);
    expect(await attempt(server)).toEqual(["proved"]);
    chain(9);
    expect((await attempt(server))[0]).toBe("dns");
  });

  test("dns-01: every name server must list the record", async () => {
    const [one, other] = servers();
    const both = { vantage_resolvers: [at(other)] };
    one.zone.set(name, [txt(digest)]);
    expect((await attempt(one, {}, both))[0]).toBe("unauthorized");
    other.zone.set(name, [txt("another")]);
    expect((await attempt(one, {}, both))[0]).toBe("incorrectResponse");
    other.zone.set(name, [txt("another"), txt(digest)]);
    expect(await attempt(one, {}, both)).toEqual(["proved"]);
    other.tricks.set(name, { kind: "code", code: 2 });
    expect((await attempt(one, {}, both))[0]).toBe("dns");
  });

  test("http-01: an address is used that all list, and none may list a denied one", async () => {
    const [one, other] = servers();
    const web = await startHttpResponder("127.0.0.2");
    web.show("token", "token.thumbprint");
    const settings = {
      vantage_resolvers: [at(other)],
      http01_port: web.port,
      validation_allow_networks: ["127.0.0.2/31"],
    };
    const listing = (...addresses: readonly string[]) => addresses.map(addressRecord);
    const outcome = () => attempt(one, { type: "http-01" }, settings);
    one.zone.set("a.test", listing("127.0.0.3", "127.0.0.2"));
    expect((await outcome())[0]).toBe("dns");
    other.zone.set("a.test", listing("127.0.0.2"));
    expect(await outcome()).toEqual(["proved", "127.0.0.2"]);
    one.zone.set("a.test", listing("127.0.0.3"));
    expect(await outcome()).toEqual([
      "dns",
      "The name servers do not agree on any address of a.test.",
    ]);
    other.zone.set("a.test", listing("127.0.0.3", "127.0.0.1"));
    expect((await outcome())[0]).toBe("rejectedIdentifier");
    await web.stop();
  });

  test("a failure for one family of addresses is none while the other is listed", async () => {
    const [server] = servers();
    server.zone.set("a.test", [addressRecord("127.0.0.2")]);
    const outcome = await attempt(server, { type: "http-01" }, { http01_port: 1 });
    expect(outcome).toEqual(["connection", "No connection to port 1 (IPv4: connection refused)."]);
  });
});

test("a fault of our own is an outcome too, and is told to whoever runs the server", async () => {
  const { validators, logged } = validatorsWith(() => {
    throw new Error("settings are gone");
  });
  expect(await validators.attempt(taskFor())).toMatchObject({ proved: false });
  expect(logged).toEqual(["validation_failed_inside"]);
});
