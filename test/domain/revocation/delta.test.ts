/**
 * Deltas and partitions in single steps: what is removed, what is kept, what is renewed first, and
 * what is refused.
 */

import { beforeEach, expect, test } from "bun:test";

import { oids } from "#core/asn1/oids.ts";
import { parseSerial, type Serial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { extensionOf } from "#core/x509/certificate.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { parseDeltaCrlIndicator } from "#core/x509/crl-extensions.ts";
import type { CrlKind } from "#domain/revocation/store.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
beforeEach(async () => {
  small = await smallCa();
});

const asked = (serial: Serial) => ({
  ca: small.ca,
  serial,
  origin: rootOrigin,
  mayManageCa: true,
});
const hold = (serial: Serial) => small.revoker.suspend(asked(serial));
const release = (serial: Serial) => small.revoker.release(asked(serial));
const revoke = (serial: Serial) => small.revoker.revoke(asked(serial), "superseded");

async function publish(kind: CrlKind, scope = "full") {
  const { publisher, ca } = small;
  const crl =
    kind === "base"
      ? await publisher.publishBase(ca, rootOrigin, scope)
      : await publisher.publishDelta(ca, rootOrigin, scope);
  return parseCrl(await publisher.der(crl));
}
const listed = async (kind: CrlKind) =>
  (await publish(kind)).entries.map(({ serial, reason }) => [String(serial), reason]);

test("a delta lists what changed since its base, and a new base starts a new delta", async () => {
  await revoke(parseSerial("1"));
  const base = await publish("base");
  await revoke(parseSerial("2"));
  const delta = await publish("delta");
  expect(delta.entries.map(({ serial }) => String(serial))).toEqual(["2"]);
  const indicator = extensionOf(delta, oids.deltaCrlIndicator);
  expect(indicator?.critical).toBe(true);
  expect(parseDeltaCrlIndicator(indicator?.value ?? new Uint8Array(0))).toBe(base.number ?? 0);
  expect(delta.nextUpdate).toBe(instant(small.clock.at + 3600_000));
  await publish("base");
  expect(await listed("delta")).toEqual([]);
});

test("a released hold is removed by the delta when its base lists it, and not mentioned when not", async () => {
  const [early, late] = [(await small.issue()).serial, (await small.issue()).serial];
  await hold(early);
  await publish("base");
  await hold(late);
  await release(early);
  await release(late);
  expect(await listed("delta")).toEqual([[early, "removeFromCRL"]]);
  await publish("base");
  expect(await listed("delta")).toEqual([]);
});

test("a serial held, released and held again is in the delta once, as what it is", async () => {
  const { serial } = await small.issue();
  await hold(serial);
  await publish("base");
  await release(serial);
  await hold(serial);
  expect(await listed("delta")).toEqual([[serial, "certificateHold"]]);
  await release(serial);
  expect(await listed("delta")).toEqual([[serial, "removeFromCRL"]]);
  await revoke(serial);
  expect(await listed("delta")).toEqual([[serial, "superseded"]]);
});

test("what left a base by age is not removed from it once more", async () => {
  const { serial } = await small.issue({ validitySeconds: 60 });
  await hold(serial);
  small.clock.advance(1000);
  await publish("base");
  await publish("base");
  await release(serial);
  expect(await listed("delta")).toEqual([]);
});

test("CRL-5: asking for a delta whose base is expired renews the base first", async () => {
  const first = await small.publisher.current(small.ca, "full", "delta");
  expect([first.number, first.base]).toEqual([2, 1]);
  small.clock.advance(169 * 3600);
  const later = await small.publisher.current(small.ca, "full", "delta");
  expect([later.number, later.base]).toEqual([4, 3]);
});

test("a delta is never served once another base is published", async () => {
  await small.publisher.current(small.ca, "full", "delta");
  await publish("base");
  const served = await small.publisher.current(small.ca, "full", "delta");
  expect([served.number, served.base]).toEqual([4, 3]);
});

test("with crl.keep_expired nothing leaves, and the list says since when", async () => {
  small = await smallCa({ crl: { keep_expired: true } });
  const { serial } = await small.issue({ validitySeconds: 60 });
  await revoke(serial);
  small.clock.advance(1000);
  for (let times = 0; times < 3; times++) {
    const crl = await publish("base");
    expect(crl.entries).toHaveLength(1);
    const since = extensionOf(crl, oids.expiredCertsOnCrl)?.value.subarray(2);
    expect(Buffer.from(since ?? []).toString()).toBe("20260531120000Z");
  }
});

test("a partition beyond crl.shards that no certificate names is refused", async () => {
  small = await smallCa({ crl: { shards: 3, base_url: "http://crl.example" } });
  const { scopes, ca } = small;
  expect(await scopes.named(ca.id, "2")).toBe("partition-2");
  for (const wrong of ["3", "-1", "01", "x", "1e1", "", "99999"]) {
    const refused = await scopes.named(ca.id, wrong).catch((error) => error);
    expect([refused.code, refused.facts]).toEqual(["bad_partition", { shard_count: 3 }]);
  }
  const notAfter = instant(small.clock.at + 1000);
  const shardUrl = { caId: ca.id, partition: 7, url: "http://old.example/7", notAfter };
  await small.store.atomically((tx) => tx.revocations.keepShardUrl(shardUrl));
  expect(await scopes.named(ca.id, "7")).toBe("partition-7");
  expect(await scopes.all(ca.id)).toHaveLength(5);
  small.clock.advance(2 * 86_400);
  expect(await scopes.all(ca.id)).toHaveLength(4);
});

test("CRL-10: a partition names every URL that is in a valid certificate, and learns new ones at a renewal", async () => {
  small = await smallCa({ crl: { shards: 2, base_url: "http://new.example" } });
  const { ca, store, refresh } = small;
  await publish("base", "partition-1");
  const url = `http://old.example/api/ca/${ca.id}/crl/partition/1`;
  const notAfter = instant(small.clock.at + 1000);
  await store.atomically((tx) =>
    tx.revocations.keepShardUrl({ caId: ca.id, partition: 1, url, notAfter }),
  );
  await refresh.renewals();
  const head = await store.read.revocations.crlHead(ca.id, "partition-1", "base");
  expect(head?.urls).toEqual([`http://new.example/api/ca/${ca.id}/crl/partition/1`, url]);
  const number = head?.number;
  await refresh.renewals();
  const again = await store.read.revocations.crlHead(ca.id, "partition-1", "base");
  expect(again?.number).toBe(number ?? 0);
});

test("lists older than the base before the newest are forgotten", async () => {
  for (let times = 0; times < 4; times++) await small.publisher.publish(small.ca, rootOrigin);
  const numbers = small.store.listRows("crlHeads").map(({ number }) => number);
  expect(numbers.toSorted((a, b) => a - b)).toEqual([5, 6, 7, 8]);
});
