/**
 * The resolver over a real network: what it believes, what it asks again, and what it calls a
 * failure.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { Resolver as SystemResolver } from "node:dns/promises";

import { DnsResolver } from "#adapters/network/dns.ts";
import {
  nameServers,
  parseServer,
  serversAt,
  systemServers,
} from "#adapters/network/resolv-conf.ts";
import { systemRandom } from "#adapters/system.ts";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  caa,
  cname,
  type DnsServer,
  dname,
  startDnsServer,
  type Trick,
} from "#test/support/servers/dns-server.ts";

let server: DnsServer;
let silent: DnsServer;
beforeAll(async () => {
  server = await startDnsServer();
  silent = await startDnsServer();
});
afterAll(async () => {
  await server.stop();
  await silent.stop();
});
beforeEach(() => {
  for (const one of [server, silent]) {
    one.zone.clear();
    one.tricks.clear();
    one.heard.length = 0;
  }
  Object.assign(server, { authenticated: true, soa: { ttl: 900, minimum: 60 } });
});

const resolver = (...servers: { address: string; port: number }[]) =>
  new DnsResolver({
    random: systemRandom,
    servers: () => (servers.length > 0 ? servers : [server]),
  });
const lookup = (name = "a.example", seconds = 2) => resolver().lookup(name, "CAA", seconds);
const ours = [caa("issue", "ca.example.net", 0, 120)];
const content = { type: "CAA", critical: false, tag: "issue", value: "ca.example.net" };
const closed = { address: "127.0.0.1", port: 1 };

describe("an answer", () => {
  test("has its records, the shortest TTL, and the AD bit", async () => {
    server.zone.set("a.example", [...ours, caa("iodef", "mailto:x@a.example", 0, 60)]);
    expect(await lookup("A.Example.")).toMatchObject({
      answered: true,
      aliases: [],
      ttlSeconds: 60,
      authenticated: true,
      records: [content, { tag: "iodef" }],
    });
    server.authenticated = false;
    expect(await lookup()).toMatchObject({ answered: true, authenticated: false });
  });

  test.each([
    ["NODATA", true],
    ["NXDOMAIN", false],
  ])("CAA-5: %s is empty, for as long as the SOA says", async (_what, exists) => {
    if (exists) server.zone.set("a.example", [cname("b.example")].slice(1));
    expect(await lookup()).toMatchObject({ answered: true, records: [], ttlSeconds: 60 });
    server.soa = { ttl: 30, minimum: 3600 };
    expect(await lookup()).toMatchObject({ answered: true, records: [], ttlSeconds: 30 });
    server.tricks.set("a.example", { kind: "no_soa" });
    expect(await lookup()).toMatchObject({ answered: true, records: [], ttlSeconds: 0 });
  });

  test("repeats id, question and letters, and each question has others", async () => {
    server.zone.set("abcdefghijklmnop.example", ours);
    for (let round = 0; round < 4; round++) await lookup("abcdefghijklmnop.example");
    const asked = server.heard.map(({ octets }) => Buffer.from(octets).toString("latin1"));
    expect(new Set(asked.map((octets) => octets.slice(0, 2))).size).toBeGreaterThan(1);
    expect(new Set(asked.map((octets) => octets.slice(12, 30))).size).toBeGreaterThan(1);
    expect(server.heard.every(({ octets }) => ((octets[3] ?? 0) & 0x10) === 0)).toBe(true);
  });
});

describe("aliases", () => {
  test("CAA-1: a CNAME is followed to the target's records", async () => {
    server.zone.set("a.example", [cname("b.example", 10)]);
    server.zone.set("b.example", ours);
    const expected = { answered: true, records: [content], aliases: ["b.example"], ttlSeconds: 10 };
    expect(await lookup()).toMatchObject(expected);
    server.tricks.set("a.example", { kind: "alias_only" });
    expect(await lookup()).toMatchObject(expected);
  });

  test("CAA-1: a DNAME above the name is followed, with the CNAME made of it and without", async () => {
    server.zone.set("old.example", [dname("new.example")]);
    server.zone.set("a.new.example", ours);
    const expected = { answered: true, records: [content], aliases: ["a.new.example"] };
    expect(await lookup("a.old.example")).toMatchObject(expected);
  });

  test("an alias to a name that does not exist is empty", async () => {
    server.zone.set("a.example", [cname("gone.example")]);
    expect(await lookup()).toMatchObject({
      answered: true,
      records: [],
      aliases: ["gone.example"],
    });
    server.tricks.set("a.example", { kind: "alias_only" });
    expect(await lookup()).toMatchObject({
      answered: true,
      records: [],
      aliases: ["gone.example"],
    });
  });

  test.each([
    [8, true],
    [9, false],
  ])("CAA-1: of %i links: followed %p", async (links, followed) => {
    for (let link = 0; link < links; link++)
      server.zone.set(`n${link}.example`, [cname(`n${link + 1}.example`)]);
    server.zone.set(`n${links}.example`, ours);
    const expected = followed
      ? { answered: true, records: [content] }
      : { answered: false, failure: "broken_alias" };
    expect(await lookup("n0.example")).toMatchObject(expected);
    for (let link = 0; link < links; link++)
      server.tricks.set(`n${link}.example`, { kind: "alias_only" });
    expect(await lookup("n0.example")).toMatchObject(expected);
  });

  test("CAA-5: aliases in a circle, and two that disagree, are failures", async () => {
    server.zone.set("a.example", [cname("b.example")]);
    server.zone.set("b.example", [cname("a.example")]);
    expect(await lookup()).toEqual({ answered: false, failure: "broken_alias" });
    const both = [...cnames("c.example"), ...cnames("d.example")];
    server.zone.set("x.example", both);
    server.tricks.set("x.example", { kind: "all" });
    expect(await lookup("x.example")).toEqual({ answered: false, failure: "broken_alias" });
  });
});

const cnames = (target: string) => [cname(target)];

describe("a failure is never an absence", () => {
  const tricks: readonly (readonly [string, Trick, string])[] = [
    ["SERVFAIL", { kind: "code", code: 2 }, "servfail"],
    ["REFUSED", { kind: "code", code: 5 }, "refused"],
    ["NOTIMP", { kind: "code", code: 4 }, "servfail"],
    ["YXDOMAIN", { kind: "code", code: 6 }, "broken_alias"],
    ["silence", { kind: "silence" }, "timeout"],
    ["garbage", { kind: "garbage" }, "malformed"],
    ["another id", { kind: "wrong_id", alone: true }, "malformed"],
    ["another question", { kind: "wrong_name", alone: true }, "malformed"],
    ["truncation over TCP too", { kind: "truncated_everywhere" }, "malformed"],
    ["a referral", { kind: "referral" }, "servfail"],
  ];
  test.each(tricks)("CAA-5: %s", async (_what, trick, failure) => {
    server.zone.set("a.example", ours);
    server.tricks.set("a.example", trick);
    expect(await lookup("a.example", 0.1)).toEqual({ answered: false, failure } as never);
  });

  test("CAA-5: no server that listens", async () => {
    expect(await resolver(closed).lookup("a.example", "CAA", 1)).toEqual({
      answered: false,
      failure: "unreachable",
    });
  });

  test("a name the DNS cannot hold is refused without a question", async () => {
    for (const name of [
      "",
      "a..example",
      `${"a".repeat(64)}.example`,
      "a b.example",
      "ü.example",
    ]) {
      expect(await lookup(name)).toEqual({ answered: false, failure: "malformed" });
    }
    expect(server.heard).toEqual([]);
  });
});

describe("CAA-5: it asks again", () => {
  test("over TCP what was truncated", async () => {
    server.zone.set("a.example", ours);
    server.tricks.set("a.example", { kind: "truncated" });
    expect(await lookup()).toMatchObject({ answered: true, records: [content] });
    expect(server.heard.map(({ over }) => over)).toEqual(["udp", "tcp"]);
  });

  test("over TCP what lost the case of its letters", async () => {
    server.zone.set("abcdefghijklmnopqrstuvwxyzabcdef.example", ours);
    server.tricks.set("abcdefghijklmnopqrstuvwxyzabcdef.example", { kind: "lower_case" });
    expect(await lookup("abcdefghijklmnopqrstuvwxyzabcdef.example")).toMatchObject({
      answered: true,
      records: [content],
    });
    expect(server.heard.map(({ over }) => over)).toEqual(["udp", "tcp"]);
  });

  test("once, when nothing came", async () => {
    server.zone.set("a.example", ours);
    server.tricks.set("a.example", { kind: "silence", times: 1 });
    expect(await lookup("a.example", 0.5)).toMatchObject({ answered: true, records: [content] });
    server.tricks.set("a.example", { kind: "silence", times: 2 });
    server.heard.length = 0;
    expect(await lookup("a.example", 0.1)).toMatchObject({ answered: false, failure: "timeout" });
    expect(server.heard).toHaveLength(2);
  });

  test.each([
    ["SERVFAIL", { kind: "code", code: 2 }],
    ["silence", { kind: "silence" }],
  ] as const)("the next server after %s", async (_what, trick) => {
    silent.tricks.set("a.example", trick);
    server.zone.set("a.example", ours);
    const answer = await resolver(silent, server).lookup("a.example", "CAA", 0.4);
    expect(answer).toMatchObject({ answered: true, records: [content] });
  });

  test.each(["wrong_id", "wrong_name"] as const)(
    "nobody after %s, but waits for the true answer",
    async (kind) => {
      server.zone.set("a.example", ours);
      server.tricks.set("a.example", { kind });
      expect(await lookup()).toMatchObject({ answered: true, records: [content] });
      expect(server.heard).toHaveLength(1);
    },
  );
});

test("an independent resolver reads our test server's records as we do", async () => {
  server.zone.set("a.example", [caa("issue", "ca.example.net"), caa("issuewild", ";", 128)]);
  server.zone.set("b.example", [cname("a.example")]);
  const other = new SystemResolver({ timeout: 2000, tries: 1 });
  other.setServers([`127.0.0.1:${server.port}`]);
  const theirs = await other.resolveCaa("b.example");
  const mine = await lookup("b.example");
  if (!mine.answered) throw new Error(mine.failure);
  const spelled = mine.records.map((record) =>
    record.type === "CAA"
      ? { critical: record.critical ? 128 : 0, [record.tag]: record.value }
      : {},
  );
  expect(theirs.map((record) => ({ ...record }))).toEqual(spelled as never);
});

test("the system's servers are the first three of resolv.conf, else the local host", () => {
  const file = join(mkdtempSync(join(tmpdir(), "pkid-resolv-")), "resolv.conf");
  const lines = [
    "search a",
    "nameserver 192.0.2.1",
    "#nameserver 192.0.2.9",
    "nameserver\t2001:db8::1 ",
    "nameserver name",
    "nameserver 192.0.2.3",
    "nameserver 192.0.2.4",
  ];
  writeFileSync(file, lines.join("\n"));
  const addresses = systemServers(file).map(({ address }) => address);
  expect(addresses).toEqual(["192.0.2.1", "2001:db8::1", "192.0.2.3"]);
  expect(systemServers(`${file}.absent`)).toEqual([{ address: "127.0.0.1", port: 53 }]);
  expect(parseServer("[2001:db8::1]:5353")).toEqual({ address: "2001:db8::1", port: 5353 });
  expect(parseServer("192.0.2.1:53")).toEqual({ address: "192.0.2.1", port: 53 });
});

test("a server by its name is asked at each address that the system knows of it", async () => {
  server.zone.set("a.example", ours);
  const asked = (dns_resolver: string) =>
    new DnsResolver({
      random: systemRandom,
      servers: () => nameServers({ dns_resolver }),
    }).lookup("a.example", "CAA", 2);
  expect(await asked(`localhost:${server.port}`)).toMatchObject({ answered: true });
  expect(await asked(`127.0.0.1:${server.port}`)).toMatchObject({ answered: true });
  const places = await serversAt(`localhost:${server.port}`);
  expect(places).toContainEqual({ address: "127.0.0.1", port: server.port });
});

test("a server whose name the system does not know cannot be reached", async () => {
  const unknown = `nobody.invalid:${server.port}`;
  expect(await serversAt(unknown)).toEqual([{ address: "nobody.invalid", port: server.port }]);
  const servers = () => serversAt(unknown);
  const answer = new DnsResolver({ random: systemRandom, servers }).lookup("a.example", "CAA", 2);
  expect(await answer).toEqual({ answered: false, failure: "unreachable" });
}, 15_000);
