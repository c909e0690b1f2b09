/**
 * The CAA gate in front of the key: what domains forbid is never signed, whatever keeps us from
 * asking included.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";

import { DnsResolver } from "#adapters/network/dns.ts";
import { systemRandom } from "#adapters/system.ts";
import type { CaaFacts } from "#core/policy/caa.ts";
import type { GateReport } from "#core/policy/gates.ts";
import type { Profile } from "#core/policy/profile.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { Problem } from "#core/problems.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import {
  caa,
  cname,
  type DnsServer,
  dname,
  startDnsServer,
} from "#test/support/servers/dns-server.ts";
import {
  type CsrOptions,
  csr,
  dnsName,
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
  type World,
} from "#test/support/worlds/issuance.ts";

const us = "ca.example.net";
let server: DnsServer;
let world: World;
let root: CaRecord;
beforeAll(async () => {
  server = await startDnsServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  server.zone.clear();
  server.tricks.clear();
  server.soa = { ttl: 900, minimum: 60 };
  await open({});
});

async function open(settings: Partial<Profile["caa"]>, cacheTtlSeconds = 300): Promise<void> {
  const server_ = new ProfileSet().named("server");
  const caaSettings = { mode: "enforce", identifier: undefined, timeoutSeconds: 1 } as const;
  world = issuanceWorld({
    resolver: new DnsResolver({ random: systemRandom, servers: () => [server] }),
    profiles: [{ ...server_, caa: { ...caaSettings, ...settings } }],
    caaIdentifier: us,
    caaCacheTtlSeconds: cacheTtlSeconds,
  });
  root = await initRoot(world);
  server.heard.length = 0;
}

const events = () => world.store.listEvents();

interface Outcome {
  readonly code: string;
  /** Of the gate, when it refused. */
  readonly reasons: readonly string[];
  /** Private-key operations. */
  readonly signed: number;
  readonly intents: number;
}

async function issue(asked: CsrOptions = {}, facts?: CaaFacts): Promise<Outcome> {
  const before = [world.keys.signed.length, world.store.listSerials().length] as const;
  const previewRequest = leafRequest({ csr: csr(asked), ...(facts && { caaFacts: facts }) });
  const refusal = await world.issuance.issue(rootOrigin, root, previewRequest).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (refusal !== undefined && !(refusal instanceof Problem)) throw refusal;
  // As `gate_refused` has them.
  const gates = (refusal?.facts.gates ?? []) as readonly GateReport[];
  const gate = gates.find(({ name }) => name === "caa");
  return {
    code: refusal?.code ?? "issued",
    reasons: gate?.findings?.map(({ code }) => code) ?? [],
    signed: world.keys.signed.length - before[0],
    intents: world.store.listSerials().length - before[1],
  };
}

const issued = { code: "issued", reasons: [], signed: 1, intents: 1 };
const refused = (...reasons: string[]) => ({
  code: "gate_refused",
  reasons,
  signed: 0,
  intents: 0,
});

describe("issued", () => {
  test("CAA-1: what nobody limits, after a climb to the top-level domain", async () => {
    expect(await issue({ dns: ["a.b.example"], subject: [] })).toEqual(issued);
    expect(server.heard.map(({ name }) => name)).toEqual(["a.b.example", "b.example", "example"]);
  });

  test("CAA-1: a name whose alias leads to a set that names us, though its parent forbids", async () => {
    server.zone.set("a.example", [cname("elsewhere.test")]);
    server.zone.set("elsewhere.test", [caa("issue", us)]);
    server.zone.set("example", [caa("issue", ";")]);
    expect(await issue()).toEqual(issued);
  });

  test("CAA-1: the parents of an alias target are never asked", async () => {
    server.zone.set("a.example", [cname("x.elsewhere.test")]);
    server.zone.set("x.elsewhere.test", []);
    server.zone.set("elsewhere.test", [caa("issue", ";")]);
    expect(await issue()).toEqual(issued);
    expect(server.heard.map(({ name }) => name)).toEqual(["a.example", "example"]);
  });

  test("CAA-2: a wildcard that issuewild allows, a mailbox that issuemail allows", async () => {
    server.zone.set("a.example", [caa("issue", ";"), caa("issuewild", us)]);
    expect(await issue({ dns: ["*.a.example"], subject: [] })).toEqual(issued);
    server.zone.set("m.example", [caa("issue", ";"), caa("issuemail", us)]);
    const mail = { kind: "email", value: "me@m.example" } as const;
    expect(await issue({ sans: [mail], subject: [] })).toEqual(issued);
  });

  test("CAA-3: by the profile's own identifier, and the records want the account and method that asked", async () => {
    await open({ identifier: "other.example.net" });
    const parameters = "accounturi=https://acme.example/1; validationmethods=dns-01";
    server.zone.set("a.example", [caa("issue", `other.example.net; ${parameters}`)]);
    const methods = new Map([["a.example", "dns-01"]]);
    expect(await issue({}, { accountUrl: "https://acme.example/1", methods })).toEqual(issued);
  });

  test("CAA-5: over TCP what UDP truncates, and after one question without answer", async () => {
    server.zone.set("a.example", [caa("issue", us)]);
    server.tricks.set("a.example", { kind: "truncated" });
    expect(await issue()).toEqual(issued);
    await open({ timeoutSeconds: 1 });
    server.tricks.set("a.example", { kind: "silence", times: 1 });
    expect(await issue()).toEqual(issued);
  });
});

describe("refused, before any key is used and any serial taken", () => {
  test.each(["a.example", "example"])("CAA-1: what a set at %s forbids", async (domain) => {
    server.zone.set(domain, [caa("issue", "other.test")]);
    expect(await issue()).toEqual(refused("forbidden"));
  });

  test("CAA-1: what a DNAME leads to forbids", async () => {
    server.zone.set("example", [dname("new.test")]);
    server.zone.set("a.new.test", [caa("issue", ";")]);
    expect(await issue()).toEqual(refused("forbidden"));
  });

  test("CAA-2: one forbidden name among many, a forbidden wildcard, a forbidden mailbox", async () => {
    server.zone.set("b.example", [caa("issue", us), caa("issuewild", ";")]);
    server.zone.set("c.example", [caa("issue", ";")]);
    server.zone.set("m.example", [caa("issuemail", "other.test")]);
    expect(await issue({ dns: ["a.example", "b.example", "c.example"] })).toEqual(
      refused("forbidden"),
    );
    expect(await issue({ dns: ["*.b.example"] })).toEqual(refused("forbidden"));
    const mail = { kind: "email", value: "me@m.example" } as const;
    expect(await issue({ sans: [dnsName("b.example"), mail] })).toEqual(refused("forbidden"));
  });

  test("a common name that is a host name is asked about as well, wherever it stands", async () => {
    const profile = world.profiles().named("server");
    const lint = { ...profile.lint, overrides: { cn_is_name: "warn" } } as const;
    world.setProfiles([{ ...profile, lint }]);
    server.zone.set("cn.example", [caa("issue", ";")]);
    const subject = [{ type: "CN", value: "CN.example." }] as const;
    expect(await issue({ subject, dns: ["a.example"] })).toEqual(refused("forbidden"));
    expect(await issue({ subject, sans: [] })).toEqual(refused("forbidden"));
  });

  test("CAA-3: an account or a method that did not ask", async () => {
    server.zone.set("a.example", [caa("issue", `${us}; accounturi=https://acme.example/1`)]);
    expect(await issue()).toEqual(refused("account_mismatch"));
    const facts = {
      accountUrl: "https://acme.example/2",
      methods: new Map([["b.example", "http-01"]]),
    };
    expect(await issue({}, facts)).toEqual(refused("account_mismatch"));
    server.zone.set("b.example", [caa("issue", `${us}; validationmethods=dns-01`)]);
    expect(await issue({ dns: ["b.example"], subject: [] }, facts)).toEqual(
      refused("validation_method"),
    );
  });

  test("CAA-4: a critical property nobody knows, a value nobody understands", async () => {
    server.zone.set("a.example", [caa("issue", us), caa("future", "x", 128)]);
    expect(await issue()).toEqual(refused("critical_unknown"));
    server.zone.set("b.example", [caa("issue", `${us} junk`)]);
    expect(await issue({ dns: ["b.example"], subject: [] })).toEqual(refused("forbidden"));
  });

  test.each([
    ["SERVFAIL", { kind: "code", code: 2 }],
    ["REFUSED", { kind: "code", code: 5 }],
    ["silence", { kind: "silence" }],
    ["garbage", { kind: "garbage" }],
    ["truncation without end", { kind: "truncated_everywhere" }],
  ] as const)("CAA-5: %s, for the name or a parent", async (_what, trick) => {
    await open({ timeoutSeconds: 0.1 });
    server.tricks.set("example", trick);
    expect(await issue()).toEqual(refused("lookup_error"));
  });

  test("CAA-5: an alias that leads nowhere within eight links", async () => {
    server.zone.set("a.example", [cname("a.example")]);
    expect(await issue()).toEqual(refused("lookup_error"));
  });

  test("CAA-5: after a lookup that failed, no other name is begun", async () => {
    for (let n = 0; n < 40; n++) server.tricks.set(`n${n}.example`, { kind: "code", code: 2 });
    const dns = Array.from({ length: 40 }, (_, n) => `n${n}.example`);
    const outcome = await issue({ dns, subject: [] });
    expect(outcome).toMatchObject({ code: "gate_refused", signed: 0 });
    expect(new Set(server.heard.map(({ name }) => name)).size).toBeLessThanOrEqual(8);
  });

  test("the local gates come first: when one refuses, nobody is asked", async () => {
    const outcome = await issue({ dns: ["-bad-.example"] });
    expect(outcome).toMatchObject({ code: "gate_refused", reasons: [], signed: 0 });
    expect(server.heard).toEqual([]);
  });
});

describe("CAA-7: the modes", () => {
  beforeEach(() => {
    server.zone.set("a.example", [caa("issue", ";"), caa("iodef", "mailto:sec@a.example")]);
  });

  test("enforce: two denied events, of the gate and of the issuance, with whom the domain wants told", async () => {
    expect(await issue()).toEqual(refused("forbidden"));
    expect(events().slice(-2)).toMatchObject([
      {
        action: "cert.caa",
        result: "denied",
        caId: root.id,
        detail: 'names=a.example verdict="forbidden iodef mailto:sec@a.example"',
      },
      {
        action: "cert.issue",
        result: "denied",
        detail: "profile=server requester=root reasons=caa",
      },
    ]);
  });

  test("permissive: issued, with an event of success that says what enforce would have refused", async () => {
    await open({ mode: "permissive" });
    expect(await issue()).toEqual(issued);
    expect(events().slice(-2)).toMatchObject([
      { action: "cert.caa", result: "success" },
      { action: "cert.issue", result: "success" },
    ]);
    expect(events().at(-2)?.detail).toContain('verdict="forbidden iodef');
    server.zone.set("b.example", [caa("issue", us)]);
    const count = events().length;
    expect(await issue({ dns: ["b.example"], subject: [] })).toEqual(issued);
    expect(
      events()
        .slice(count)
        .map(({ action }) => action),
    ).toEqual(["cert.issue"]);
  });

  test("off: issued, and nobody is asked", async () => {
    await open({ mode: "off" });
    expect(await issue()).toEqual(issued);
    expect(server.heard).toEqual([]);
  });

  test("a preview is decided by the same gate, and a renewal goes through it", async () => {
    const count = events().length;
    const asked = { csr: csr() };
    const previewRequest = {
      asked,
      profile: "server",
      validityDays: undefined,
      mustStaple: undefined,
    };
    const { accepted, gates } = await world.issuance.preview(root, previewRequest);
    expect({ accepted, caa: gates.find(({ name }) => name === "caa")?.status }).toEqual({
      accepted: false,
      caa: "fail",
    });
    expect(events()).toHaveLength(count);
    server.zone.set("b.example", [caa("issue", us)]);
    const request = leafRequest({ csr: csr({ dns: ["b.example"], subject: [] }) });
    const { serial } = await world.issuance.issue(rootOrigin, root, request);
    server.zone.set("b.example", [caa("issue", ";")]);
    world.clock.advance(300);
    const signed = world.keys.signed.length;
    const renewal = world.issuance.renew(rootOrigin, root, {
      serial,
      csr: undefined,
      caller: "interactive",
      validityDays: undefined,
    });
    expect(await renewal.catch((error: Problem) => error.code)).toBe("gate_refused" as never);
    expect(world.keys.signed).toHaveLength(signed);
  });

  test("the answer shows name, clause and finding, and nothing of the event", async () => {
    const previewRequest = leafRequest();
    const error = await world.issuance
      .issue(rootOrigin, root, previewRequest)
      .catch((e: Problem) => e);
    if (!(error instanceof Problem)) throw new Error("the gate let it pass");
    const gates = error.facts.gates as readonly GateReport[]; // As `gate_refused` has them.
    expect(gates.find(({ name }) => name === "caa")).toEqual({
      name: "caa",
      status: "fail",
      findings: [
        {
          code: "forbidden",
          mode: "error",
          clause: "RFC 8659 4.2",
          description: "a.example: the domain's CAA records name other issuers (a.example)",
        },
      ],
    });
  });
});

describe("CAA-8: the cache", () => {
  const asked = async (seconds: number) => {
    world.clock.advance(seconds);
    server.heard.length = 0;
    expect(await issue()).toEqual(issued);
    return server.heard.map(({ name }) => name);
  };

  test("keeps an answer for its TTL, not longer", async () => {
    server.zone.set("a.example", [caa("issue", us, 0, 100)]);
    expect(await asked(0)).toEqual(["a.example"]);
    expect(await asked(99)).toEqual([]);
    expect(await asked(1)).toEqual(["a.example"]);
  });

  test("keeps no answer longer than the setting, and an absence as long as the SOA says", async () => {
    server.zone.set("example", [caa("issue", us, 0, 86_400)]);
    expect(await asked(0)).toEqual(["a.example", "example"]);
    expect(await asked(60)).toEqual(["a.example"]);
    expect(await asked(239)).toEqual(["a.example"]);
    expect(await asked(1)).toEqual(["example"]);
  });

  test("keeps nothing longer than eight hours, and nothing at all when told so", async () => {
    const eightHours = 8 * 3600;
    server.zone.set("a.example", [caa("issue", us, 0, 604_800)]);
    await open({}, 604_800);
    expect(await asked(0)).toEqual(["a.example"]);
    expect(await asked(eightHours - 1)).toEqual([]);
    expect(await asked(1)).toEqual(["a.example"]);
    await open({}, 0);
    expect(await asked(0)).toEqual(["a.example"]);
    expect(await asked(0)).toEqual(["a.example"]);
  });

  test("remembers no failure, and no answer past a clock that was set back", async () => {
    server.tricks.set("a.example", { kind: "code", code: 2 });
    expect(await issue()).toEqual(refused("lookup_error"));
    server.tricks.clear();
    server.zone.set("a.example", [caa("issue", us)]);
    expect(await asked(0)).toEqual(["a.example"]);
    expect(await asked(-10)).toEqual(["a.example"]);
  });

  test("asks once for what many want at the same time", async () => {
    const dns = Array.from({ length: 20 }, (_, n) => `n${n}.a.b.example`);
    expect(await issue({ dns, subject: [] })).toEqual(issued);
    const names = server.heard.map(({ name }) => name);
    expect(names.filter((name) => name === "a.b.example")).toHaveLength(1);
    expect(names).toHaveLength(23);
  });
});
