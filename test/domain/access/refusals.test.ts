/**
 * What is refused leaves a trace of bounded length, and who asks again and again leaves one a
 * minute.
 */

import { askJson, openPipeline, stubOf } from "#test/support/worlds/asking.ts";
import { beforeEach, expect, test } from "bun:test";

import type { Principal } from "#core/access/principal.ts";
import { formatDetailList } from "#core/audit/actions.ts";
import { tenantId } from "#core/ids.ts";
import type { Perform } from "#domain/access/perform.ts";
import { FailedLogins } from "#domain/access/failed-logins.ts";
import { Refusals } from "#domain/access/refusals.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { personNamed } from "#test/support/worlds/people.ts";
import { testClock } from "#test/support/ports.ts";

let store: MemoryStore;
let perform: Perform;
let refusals: Refusals;
const clock = testClock();
beforeEach(() => {
  store = createMemoryStore();
  refusals = new Refusals({ store, clock });
  perform = openPipeline({ store, clock, refusals });
});

const nobody = (subject: string): Principal => ({
  subject,
  person: personNamed(subject),
  isRoot: false,
  roles: [],
  groups: [],
  mechanism: "token",
  tenantRoles: { [tenantId("own")]: ["auditor"] },
});

/** A revocation on the CA of this id, refused. */
async function refused(id: string, subject = "eve", ip = "192.0.2.1", serial = "1"): Promise<void> {
  const path = { id, serial };
  const origin = { principal: nobody(subject), ip, requestId: "r" };
  const call = { operation: "cert.suspend" as const, origin, path, query: new URLSearchParams() };
  const never = stubOf("cert.suspend");
  const code = await askJson(perform, { ...call, body: async () => ({}) }, never).then(
    () => "done",
    (error) => error.code,
  );
  expect(code).toBe("forbidden");
}

const told = () =>
  store.listEvents().map(({ actor, ip, target, detail }) => [actor, ip, target, detail]);

test("a thousand attempts in a minute are two events, whatever id each of them names", async () => {
  for (let at = 0; at < 1000; at++) await refused(`id-${at}`);
  expect(told()).toEqual([["eve", "192.0.2.1", "id-0", "reason=forbidden"]]);
  await refusals.fold();
  expect(told()).toHaveLength(1);
  clock.advance(61);
  await refusals.fold();
  expect(told().at(-1)).toEqual(["eve", "192.0.2.1", "id-999", "reason=forbidden count=999"]);
  await refused("later");
  await refusals.fold(true);
  expect(told().at(-1)).toEqual(["eve", "192.0.2.1", "later", "reason=forbidden"]);
});

test("attempts of others, and from elsewhere, are events of their own", async () => {
  await refused("a", "eve");
  await refused("a", "mallory");
  await refused("a", "eve", "192.0.2.2");
  expect(told().map(([actor, ip]) => [actor, ip])).toEqual([
    ["eve", "192.0.2.1"],
    ["mallory", "192.0.2.1"],
    ["eve", "192.0.2.2"],
  ]);
});

test("a network of IPv6, all of whose addresses whoever has one of them has, is one place", async () => {
  for (let at = 0; at < 50; at++) await refused("a", "eve", `2001:db8:0:7::${at.toString(16)}`);
  await refused("a", "eve", "2001:db8:0:8::1");
  expect(told().map(([, ip]) => ip)).toEqual(["2001:db8:0:7::0", "2001:db8:0:8::1"]);
  const failures = new FailedLogins({ store, clock, windowsMax: 100 });
  const failure = { method: "password", reason: "invalid_credentials", requestId: "r" } as const;
  for (let at = 0; at < 50; at++) {
    await failures.record({ ...failure, loginName: "root", ip: `2001:db8:0:9:${at}::1` });
  }
  expect(
    told()
      .slice(2)
      .map(([, ip]) => ip),
  ).toEqual(["2001:db8:0:9:0::1"]);
});

test("when the server stops, what was counted is told", async () => {
  await refused("a");
  await refused("b");
  await refusals.fold(true);
  expect(told().map(([, , , detail]) => detail)).toEqual(["reason=forbidden", "reason=forbidden"]);
});

test("an id and a serial of any length and any characters leave short texts that a database can hold", async () => {
  await refused(`${"x".repeat(7000)}\ud800\0`, "eve", "192.0.2.1", `${"9".repeat(7000)}\udfff`);
  const [event] = store.listEvents();
  expect(event?.target).toBe("x".repeat(128));
  expect(event?.targetName).toBe("9".repeat(128));
  await refused("a\0\ud800", "mallory");
  expect(store.listEvents().at(-1)?.target).toBe("a\ufffd\ufffd");
});

test("no event of whatever kind keeps a long text, but for who acted", async () => {
  const long = "ü".repeat(9000);
  const at = clock.now();
  const draft = { action: "cert.caa", result: "denied", actor: "a".repeat(300) } as const;
  await store.atomically((tx) =>
    tx.audit.appendEvent(
      { ...draft, actorName: long, target: long, targetName: long, detail: { names: long } },
      at,
    ),
  );
  const [event] = store.listEvents();
  expect(event?.actor).toBe(draft.actor);
  expect([event?.actorName, event?.target, event?.targetName].map((t) => t?.length)).toEqual([
    256, 256, 256,
  ]);
  expect(event?.detail).toBe(`names="${"ü".repeat(4095)}…"`);
});

test("refusals of ACME accounts at one address are two events a minute, with however many accounts", async () => {
  for (let at = 0; at < 200; at++) await recordAccount(`acme:${at}`, "192.0.2.1");
  expect(store.listEvents()).toHaveLength(1);
  await refusals.fold(true);
  expect(store.listEvents().at(-1)?.detail).toBe("profile=server reasons=caa count=199");
});

test("refusals of ACME accounts at thousands of addresses are a bounded number of events", async () => {
  for (let at = 0; at < 3000; at++) {
    await recordAccount(`acme:${at}`, `10.0.${at >> 8}.${at & 255}`);
  }
  await refusals.fold(true);
  expect(store.listEvents()).toHaveLength(102);
  expect(store.listEvents().at(-1)?.detail).toEndWith("count=2899");
});

/** Records that a gate has refused a certificate of an ACME account. */
const recordAccount = (actor: string, ip: string) =>
  refusals.record({
    action: "cert.issue",
    result: "denied",
    actor,
    ip,
    detail: { profile: "server", reasons: "caa" },
  });

test("names in an event are cut to 512 characters and the number of the others", () => {
  const names = Array.from({ length: 100 }, (_, at) => `dns:host-${at}.example.com`);
  const text = formatDetailList(names);
  expect(text).toStartWith("dns:host-0.example.com,dns:host-1.example.com,");
  expect(text).toEndWith(",+79");
  expect(text.length).toBeLessThan(520);
  expect(formatDetailList(names.slice(0, 2))).toBe(names.slice(0, 2).join(","));
  expect(formatDetailList(["x".repeat(600)])).toBe(`${"x".repeat(511)}…`);
  expect(formatDetailList([])).toBe("");
});

test("strings from an identity provider are cut in the event of a failed login", async () => {
  const failures = new FailedLogins({ store, clock, windowsMax: 100 });
  const long = "d".repeat(5000);
  await failures.record({
    method: "oidc",
    reason: "idp_error",
    error: long,
    description: long,
    loginName: "",
    ip: "192.0.2.1",
    requestId: "r",
  });
  expect(store.listEvents().at(-1)?.detail.length).toBeLessThan(330);
});
