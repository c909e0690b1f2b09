/**
 * What has been folded is found by indexes, what has not by its numbers, and no table is walked.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";

import { connectionOverSqlite } from "#adapters/db/engine/sqlite-connection.ts";
import { slicedInventory } from "#adapters/db/inventory/sliced-inventory.ts";
import { auditReads } from "#adapters/db/stores/audit.ts";
import { bulkRevocationReads } from "#adapters/db/stores/bulk-revocations.ts";
import { certificateReads } from "#adapters/db/stores/certificates.ts";
import { expiryReads } from "#adapters/db/stores/expiry.ts";
import { tenantReads } from "#adapters/db/stores/tenants.ts";
import { sha256Hex } from "#core/crypto.ts";
import { caId, type Serial, tenantId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { TurnShare } from "#core/turns.ts";
import type { EventFilter } from "#domain/audit/store.ts";
import type { Store } from "#domain/store.ts";
import { unfoldedStore } from "#test/support/stores/folded.ts";
import { fillInventory, home, inventoryRows } from "#test/support/stores/inventory-model.ts";
import * as make from "#test/support/stores/records.ts";

const { noon } = make;
const asked: string[] = [];
let store: Store;
let database: Database;
let reads: ReturnType<typeof readsOver>;

beforeAll(async () => {
  const unfolded = await unfoldedStore();
  store = unfolded.store;
  await fillInventory(store);
  await unfolded.fold(45);
  database = new Database(unfolded.database.target);
  reads = readsOver(database);
});
afterAll(async () => {
  database.close();
  await store.close();
});

function readsOver(open: Database) {
  const compiled = (text: string) => {
    asked.push(text);
    return open.query(text);
  };
  const connection = connectionOverSqlite(() => ({ compiled }), new TurnShare(() => 0));
  const limits = { few: 0, indexed: 50, scanned: 50, counted: 3 };
  return {
    walk: slicedInventory(connection, limits),
    certificates: certificateReads(connection),
    expiry: expiryReads(connection),
    audit: auditReads(connection, 1, 10),
    bulk: bulkRevocationReads(connection, 1),
    tenants: tenantReads(connection),
  };
}

const newest = (table: string) => `SEARCH ${table} USING INTEGER PRIMARY KEY (rowid>?`;
const byNumber = "SEARCH certificates USING INTEGER PRIMARY KEY (rowid=?)";
const by = (table: string, index: string) =>
  new RegExp(`^SEARCH ${table} (?:EXISTS )?USING .*INDEX ${index} `);
const filter = { caId: home, now: noon };
const serials = inventoryRows.slice(0, 3).map(({ serial }) => serial);
const all = { caId: home, profile: undefined, spkiSha256: undefined, after: 0, upTo: 1000 };
const above = { ...all, after: 50 };
const events = { reach: "platform" } as const;

test.each<[string, () => Promise<unknown>, (string | RegExp)[]]>([
  [
    "the list",
    () => reads.walk(filter, 90, undefined),
    [by("certificates", "certificates_paging"), newest("certificates")],
  ],
  [
    "what was done on each day",
    () => reads.certificates.days([home, caId("other")], 20_000),
    ["SEARCH day_counts USING PRIMARY KEY (ca_id=? AND day>?)", newest("certificates")],
  ],
  [
    "how many there are by status",
    () => reads.certificates.statusCounts([home, caId("other")], noon),
    [
      "SEARCH certificate_counts USING PRIMARY KEY (ca_id=?)",
      "SEARCH certificate_counts USING PRIMARY KEY (ca_id=? AND status=? AND day=?)",
      newest("certificates"),
    ],
  ],
  [
    "a profile",
    () => reads.walk({ ...filter, profile: "rare" }, 90, undefined),
    [by("certificates", "certificates_profile"), newest("certificates")],
  ],
  [
    "a key",
    () => reads.walk({ ...filter, spkiSha256: "3".repeat(64) }, 90, undefined),
    [by("certificates", "certificates_key"), newest("certificates")],
  ],
  [
    "a requester",
    () => reads.walk({ ...filter, requestedBy: "token:often" }, 90, undefined),
    [by("certificates", "certificates_requester"), newest("certificates")],
  ],
  [
    "a digest",
    () =>
      reads.certificates.page({ ...filter, sha256: sha256Hex(make.certificate().certificate) }, 90),
    [by("certificates", "certificates_digest"), newest("certificates"), byNumber],
  ],
  [
    "the expired",
    () => reads.walk({ ...filter, status: "expired" }, 90, undefined),
    [by("certificates", "certificates_expiry"), newest("certificates")],
  ],
  [
    "few expired",
    () => reads.certificates.page({ ...filter, status: "expired" }, 90),
    [by("certificates", "certificates_expiry"), newest("certificates")],
  ],
  [
    "a text",
    () => reads.walk({ ...filter, text: "host-1" }, 90, undefined),
    [newest("certificates"), /^SCAN certificate_search VIRTUAL TABLE/],
  ],
  [
    "few that expire",
    () => reads.certificates.page({ ...filter, expiresBefore: instant(noon + 1) }, 9),
    [by("certificates", "certificates_expiry"), newest("certificates")],
  ],
  [
    "a serial's beginning",
    () => reads.certificates.page({ ...filter, serialPrefix: "12" }, 9),
    [by("certificates", "certificates_serial")],
  ],
  [
    "what ends",
    () => reads.expiry.endCounts(home, [noon, instant(noon + 1)]),
    [
      by("certificates", "certificates_expiry"),
      newest("certificates"),
      by("n", "certificates_identity"),
      newest("m"),
    ],
  ],
  [
    "what is superseded",
    () => reads.certificates.superseded(home, serials),
    [by("n", "certificates_identity"), newest("m")],
  ],
  [
    "what is outstanding",
    () => reads.certificates.outstanding(home, noon),
    [by("certificates", "certificates_expiry"), newest("certificates"), "SCAN open_intents"],
  ],
  [
    "a profile's name",
    () => reads.certificates.profileSeen("none so far", "platform"),
    [by("certificates", "certificates_profile"), newest("certificates")],
  ],
  [
    "a profile's name within reach",
    () => reads.certificates.profileSeen("none so far", { tenants: [tenantId("t")], cas: [home] }),
    [by("certificates", "certificates_profile"), newest("certificates")],
  ],
  ["candidates", () => reads.bulk.candidates(all, 9), [by("certificates", "certificates_paging")]],
  ["the newest candidates", () => reads.bulk.candidates(above, 9), [newest("certificates")]],
  [
    "candidates of a profile",
    () => reads.bulk.candidates({ ...all, profile: "rare" }, 9),
    [by("certificates", "certificates_profile")],
  ],
  [
    "candidates of a key",
    () => reads.bulk.candidates({ ...all, spkiSha256: "3".repeat(64) }, 9),
    [by("certificates", "certificates_key")],
  ],
  [
    "a tenant's usage",
    () => reads.tenants.usage(tenantId("t"), 0, noon),
    [
      by("certificates", "certificates_expiry"),
      newest("c"),
      by("tenant_counts", "sqlite_autoindex_tenant_counts_1"),
    ],
  ],
  [
    "events of an action",
    () => reads.audit.events({ ...events, action: "cert.issue" }, 9),
    [by("events", "events_action"), newest("events")],
  ],
  [
    "events of an actor",
    () => reads.audit.events({ ...events, actor: "a" }, 9),
    [by("events", "events_actor"), newest("events")],
  ],
  [
    "events of a certificate",
    () => reads.audit.events({ ...events, caId: caId("c"), serial: "1" as Serial }, 9),
    [
      by("events", "events_numbered"),
      by("events", "events_certificate"),
      by("certificates", "certificates_serial"),
      newest("events"),
    ],
  ],
  [
    "events of a CA",
    () => reads.audit.events({ ...events, caId: caId("c") }, 9),
    [by("events", "events_ca"), newest("events")],
  ],
  [
    "events of an action at a CA",
    () => reads.audit.events({ ...events, caId: caId("c"), action: "ca.init_root" }, 9),
    [by("events", "events_action"), newest("events")],
  ],
  [
    "events of a time",
    () => reads.audit.events({ ...events, from: instant(0), to: noon }, 9),
    [newest("events")],
  ],
])("%s", async (_, ask, expected) => {
  asked.length = 0;
  await ask();
  const plans = asked.flatMap((text) => plan(text));
  for (const one of expected) {
    const found = plans.some((step) =>
      typeof one === "string" ? step.startsWith(one) : one.test(step),
    );
    expect([String(one), found, found ? [] : plans]).toEqual([String(one), true, []]);
  }
  // All of a CA is as long a walk.
  expect(plans.filter((step) => /INDEX certificates_serial \(ca_id=\?\)/.test(step))).toEqual([]);
  expect(plans.filter((step) => /^SCAN (certificates|events|cas|n|m|c)\b/.test(step))).toEqual([]);
});

test("a key is looked for by the index of keys alone", async () => {
  asked.length = 0;
  const spkiSha256 = "3".repeat(64);
  await reads.walk({ ...filter, spkiSha256 }, 90, undefined);
  await reads.bulk.candidates({ ...all, spkiSha256 }, 9);
  const steps = asked.filter((text) => text.includes("spki_sha256")).flatMap((text) => plan(text));
  expect(
    steps.filter((step) => /^SEARCH certificates USING (COVERING )?INDEX/.test(step)),
  ).not.toEqual([]);
  expect(steps.filter((step) => /certificates_(paging|profile|expiry|serial)/.test(step))).toEqual(
    [],
  );
});

test.each<[string, Partial<EventFilter>]>([
  ["alone", {}],
  ["of an action", { action: "cert.issue", result: "success" }],
  ["of actions", { action: "cert.*" }],
  ["of an actor", { actor: "a" }],
  ["of a time", { from: instant(0), to: noon }],
  ["of a tenant", { tenant: tenantId("t") }],
  ["within reach", { reach: { tenants: [tenantId("t")], cas: [home] } }],
])("a certificate's events %s are found by the certificate, slice by slice", async (_, given) => {
  asked.length = 0;
  const page = reads.audit.events({ ...events, caId: home, serial: "1" as Serial, ...given }, 9);
  expect((await page).items).toEqual([]);
  const indexed = asked.filter((text) => text.includes("indexed by"));
  // Rows and number of each slice.
  expect(indexed.length).toBeGreaterThan(4);
  for (const text of indexed) {
    expect(plan(text).filter((step) => /^(SEARCH|SCAN|USE) /.test(step))).toEqual([
      "SEARCH events USING INDEX events_numbered (certificate_ordinal=? AND rowid>? AND rowid<?)",
      "SEARCH certificates USING COVERING INDEX certificates_serial (ca_id=? AND serial=?)",
      "SEARCH events USING INDEX events_certificate (ca_id=? AND serial=? AND rowid>? AND rowid<?)",
    ]);
  }
});

function plan(text: string): string[] {
  const marks = text.replaceAll(/\?(\d+)?/g, "null");
  const rows = database.query(`explain query plan ${marks}`).all() as { detail: string }[];
  const steps = rows.map(({ detail }) => detail);
  // What a subquery of that name has found is all looked at; it is no table.
  const found = steps.includes("CO-ROUTINE events") ? steps.indexOf("SCAN events") : -1;
  return steps.filter((_, at) => at !== found);
}
