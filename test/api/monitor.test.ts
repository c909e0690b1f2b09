/** The expiry monitor over the pipeline: what it answers, to whom, and about which certificates. */

import { beforeAll, describe, expect, test } from "bun:test";

import type { Answers } from "#api/answers.ts";
import type { CaId } from "#core/ids.ts";
import { addSeconds } from "#core/time.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import * as make from "#test/support/stores/records.ts";
import {
  admin,
  type GovernedWorld,
  governedWorld,
  refusal,
  somebody,
} from "#test/support/worlds/governed-world.ts";

const day = 86_400;
type Days = Answers["inventory.days"];
let world: GovernedWorld;
let web: CaId;
let lab: CaId;

const issued = async (
  caId: CaId,
  name: string,
  days: number,
  facts: Partial<CertificateRecord> = {},
) => {
  const notAfter = addSeconds(make.noon, days * day);
  const names = { subject: `CN=${name}`, commonName: name };
  const row = make.certificate({ caId, notAfter, profile: "server", ...names, ...facts });
  await make.issue(world.store, row);
  return row;
};
const expiring = (query: Record<string, string> = {}, who = admin) =>
  world.ask("monitor.expiring", who, { query });
const names = (answer: { certificates: { common_name: string }[] }) =>
  answer.certificates.map(({ common_name }) => common_name);

beforeAll(async () => {
  world = await governedWorld();
  web = (await world.ca("web-issuing")).id;
  lab = (await world.ca("lab-issuing")).id;
  await issued(web, "later", 100);
  await issued(web, "soon", 30);
  await issued(web, "urgent", 7);
  await issued(web, "over", -3);
  await issued(web, "renewed", 5);
  await issued(web, "renewed", 50);
  await issued(web, "asleep", 6, { status: "held" });
  await issued(web, "asleep", 3);
  await issued(web, "gone", 4, { status: "revoked" });
  await issued(web, "pkid-canary", 1, { marker: "canary", profile: "canary" });
  await issued(lab, "foreign", 2);
});

describe("what ends when", () => {
  test("is listed most urgent first, without what is revoked, superseded or a canary", async () => {
    const answer = await expiring({ ca: "web-issuing" });
    expect(names(answer)).toEqual([
      "over",
      "asleep",
      "asleep",
      "urgent",
      "soon",
      "renewed",
      "later",
    ]);
    expect(answer).toMatchObject({
      generated_at: "2026-06-01T12:00:00.000000Z",
      min_severity: "warning",
      warning_days: 30,
      critical_days: 7,
      counts: { expired: 1, critical: 3, warning: 1, ok: 2 },
      total: 7,
      truncated: false,
      renewed: [],
    });
  });

  test("a certificate has exactly these members, and a held one says so", async () => {
    const { certificates } = await expiring({ ca: "web-issuing" });
    const [over, , asleep] = certificates;
    expect(over).toEqual({
      ca_id: web,
      ca_label: "web-issuing",
      serial: over.serial,
      common_name: "over",
      subject: "CN=over",
      profile: "server",
      not_after: "2026-05-29T12:00:00.000000Z",
      expires_in_seconds: -3 * day,
      expires_in: "expired",
      severity: "expired",
    });
    expect(asleep).toMatchObject({ expires_in: "6d", severity: "critical", status: "held" });
  });

  test("warnings are the listed ones that need somebody", async () => {
    const { warnings } = await expiring({ ca: "web-issuing", include_superseded: "true" });
    expect(warnings.map((one: { common_name: string }) => one.common_name)).toEqual([
      "over",
      "asleep",
      "asleep",
      "urgent",
      "soon",
    ]);
    expect(warnings[4]).toEqual({
      ca_label: "web-issuing",
      serial: warnings[4].serial,
      common_name: "soon",
      profile: "server",
      severity: "warning",
      expires_in: "30d",
      not_after: "2026-07-01T12:00:00.000000Z",
    });
  });

  // Columns: query, common names.
  // biome-ignore format: the table is read by column.
  test.each([
    [{ severity: "expired" },                        ["over"]],
    [{ severity: "critical" },                       ["over", "asleep", "asleep", "urgent"]],
    [{ severity: "ok", days: "50" },                 ["over", "asleep", "asleep", "urgent", "soon", "renewed"]],
    [{ days: "0" },                                  ["over"]],
    [{ days: "7", severity: "warning" },             ["over", "asleep", "asleep", "urgent"]],
    [{ days: "5", include_superseded: "true" },      ["over", "asleep", "renewed"]],
    [{ limit: "1" },                                 ["over"]],
  ] as const)("%o selects, and counts stay as they are", async (query, selected) => {
    const answer = await expiring({ ca: "web-issuing", ...query });
    expect(names(answer)).toEqual([...selected]);
    expect(answer.counts).toEqual({ expired: 1, critical: 3, warning: 1, ok: 2 });
    expect(answer.truncated).toBe("limit" in query);
    expect(answer.total).toBe("limit" in query ? 7 : selected.length);
    expect(answer.min_severity).toBe("severity" in query ? query.severity : "warning");
  });

  test("one that is superseded says so where it is asked for", async () => {
    const { certificates } = await expiring({ ca: "web-issuing", include_superseded: "true" });
    const marked = certificates.filter((one: { superseded?: true }) => one.superseded);
    expect(names({ certificates: marked })).toEqual(["renewed"]);
  });

  test.each([
    [{ severity: "urgent" }, "severity"],
    [{ days: "-1" }, "days"],
    [{ limit: "0" }, "limit"],
    [{ limit: "10001" }, "limit"],
    [{ include_superseded: "yes" }, "include_superseded"],
    [{ ca: "nobody" }, "ca"],
  ])("%o is refused", async (query, parameter) => {
    const refused = await refusal(expiring(query as Record<string, string>));
    expect(refused).toMatchObject({ code: "bad_query", facts: { parameter } });
  });
});

describe("an auditor of one tenant", () => {
  const auditor = somebody("auditor", { web: ["auditor"] });

  test("sees and counts no row of another", async () => {
    expect(names(await expiring())).toContain("foreign");
    const own = await expiring({}, auditor);
    expect(names(own)).not.toContain("foreign");
    expect(own.counts).toEqual({ expired: 1, critical: 3, warning: 1, ok: 2 });
  });

  test("is told of a foreign CA what it is told of none", async () => {
    const foreign = await refusal(expiring({ ca: "lab-issuing" }, auditor));
    expect(foreign).toEqual(await refusal(expiring({ ca: "nobody" }, auditor)));
  });
});

test("a grant on one CA shows what that CA signed", async () => {
  await world.ask("resource.grant", admin, {
    body: {
      resource: "ca/lab-issuing",
      entity_type: "user",
      entity_id: "grantee",
      role: "ca-auditor",
    },
  });
  expect(names(await expiring({}, somebody("grantee")))).toEqual(["foreign"]);
});

describe("of one tenant", () => {
  test("its own CAs alone are reported and counted", async () => {
    expect(names(await expiring({ tenant: "lab" }))).toEqual(["foreign"]);
    expect(names(await expiring({ tenant: "web" }))).not.toContain("foreign");
    const counted = await world.ask("inventory.certificates", admin, { query: { tenant: "lab" } });
    expect(counted).toMatchObject({ cas: 2, good: 1, held: 0, revoked: 0, expired: 0 });
    const { cas, good, revoked } = await world.ask("inventory.certificates", admin);
    expect({ cas, revoked }).toEqual({ cas: 4, revoked: 1 });
    expect(good).toBeGreaterThan(5);
  });

  test("a tenant one may not read is none", async () => {
    const auditor = somebody("auditor", { web: ["auditor"] });
    const foreign = refusal(expiring({ tenant: "lab" }, auditor));
    const query = { tenant: "lab" };
    const counts = refusal(world.ask("inventory.certificates", auditor, { query }));
    expect(await foreign).toMatchObject({ code: "bad_query", facts: { parameter: "tenant" } });
    expect(await counts).toMatchObject({ code: "bad_query", facts: { parameter: "tenant" } });
    expect(await world.ask("inventory.certificates", auditor)).toMatchObject({ cas: 2 });
  });
});

describe("what was issued and revoked on each day", () => {
  const days = (query: Record<string, string> = {}, who = admin): Promise<Days> =>
    world.ask("inventory.days", who, { query });
  const sums = ({ items }: Days) => ({
    issued: items.reduce((sum, { issued }) => sum + issued, 0),
    revoked: items.reduce((sum, { revoked }) => sum + revoked, 0),
  });
  const auditor = somebody("auditor", { web: ["auditor"] });

  test("is told of every day up to today, also of those on which nothing was", async () => {
    const { items, cas, total } = await days({ days: "3" });
    expect({ cas, total }).toEqual({ cas: 4, total: 3 });
    expect(items.map(({ date }) => date)).toEqual(["2026-06-01", "2026-05-31", "2026-05-30"]);
    expect(items[1]).toEqual({ date: "2026-05-31", issued: 0, revoked: 0 });
    expect((await days()).items).toHaveLength(30);
  });

  test("is summed over what `inventory.certificates` counts for the caller, and no more", async () => {
    expect(sums(await days({ tenant: "lab" }))).toEqual({ issued: 1, revoked: 0 });
    const web = sums(await days({ tenant: "web" }));
    expect(web).toEqual({ issued: 10, revoked: 1 });
    expect(sums(await days())).toEqual({ issued: 11, revoked: 1 });
    expect(sums(await days({}, auditor))).toEqual(web);
    expect(await days({}, auditor)).toMatchObject({ cas: 2 });
    // By a grant on one CA, made above.
    expect(sums(await days({}, somebody("grantee")))).toEqual({ issued: 1, revoked: 0 });
    expect(await days({}, somebody("grantee"))).toMatchObject({ cas: 1 });
    for (const who of [admin, auditor, somebody("grantee")]) {
      const { cas } = await world.ask("inventory.certificates", who);
      expect((await days({}, who)).cas).toBe(cas);
    }
  });

  test("is told nobody of a tenant they may not read, nor of more days than are kept in view", async () => {
    const query = { tenant: "lab" };
    const foreign = await refusal(days(query, auditor));
    expect(foreign).toMatchObject({ code: "bad_query", facts: { parameter: "tenant" } });
    expect(foreign).toEqual(await refusal(days({ tenant: "nobody" }, auditor)));
    expect(await refusal(days({}, somebody("stranger")))).toMatchObject({ code: "forbidden" });
    for (const wrong of ["0", "91", "x"]) {
      expect(await refusal(days({ days: wrong }))).toMatchObject({
        code: "bad_query",
        facts: { parameter: "days" },
      });
    }
  });
});
