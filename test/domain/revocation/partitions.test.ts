/**
 * Partitions and deltas against the smallest model, through changes of `crl.shards`, restarts, and
 * clocks that step.
 */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { sha256 } from "#core/crypto.ts";
import { oids } from "#core/asn1/oids.ts";
import { parseSerial, type Serial, serialToBytes } from "#core/ids.ts";
import { extensionOf } from "#core/x509/certificate.ts";
import { type ParsedCrl, parseCrl } from "#core/x509/crl.ts";
import {
  parseDeltaCrlIndicator,
  parseIssuingDistributionPoint,
} from "#core/x509/crl-extensions.ts";
import { openRevocation, type Revocation } from "#domain/revocation/open.ts";
import { fullScope, partitionNumber, rememberShards } from "#domain/revocation/scopes.ts";
import type { CrlKind } from "#domain/revocation/store.ts";
import { Signing } from "#domain/signing/signing.ts";
import { seededRandom } from "#test/support/ports.ts";
import {
  revocationDefaults,
  rootOrigin,
  type SmallCa,
  smallCa,
} from "#test/support/worlds/small-ca.ts";

/** A certificate, or a serial nobody has issued, as the model remembers it. */
interface Known {
  readonly serial: Serial;
  readonly kind: "leaf" | "ca" | "bare";
  readonly namedShard: number | undefined;
}

interface World {
  readonly small: SmallCa;
  readonly known: Known[];
  /** Reasons of what is revoked or held now. */
  readonly listed: Map<Serial, string>;
  readonly used: Set<number>;
  /** Highest number and thisUpdate seen of each scope. */
  readonly last: Map<string, { number: number; thisUpdate: number }>;
  readonly bases: Map<string, Set<number>>;
  shards: number;
  running: Revocation;
}

type Step =
  | { readonly do: "issue"; readonly kind: Known["kind"] }
  | { readonly do: "revoke" | "suspend" | "release"; readonly which: number }
  | { readonly do: "publish"; readonly kind: CrlKind; readonly which: number }
  | { readonly do: "restart"; readonly shards: number }
  | { readonly do: "wait"; readonly seconds: number };

const steps = fc.array(
  fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({ do: fc.constant("issue"), kind: fc.constantFrom("leaf", "leaf", "ca", "bare") }),
    fc.record({ do: fc.constantFrom("revoke", "suspend", "release"), which: fc.nat(9) }),
    fc.record({
      do: fc.constant("publish"),
      which: fc.nat(9),
      kind: fc.constantFrom<CrlKind>("base", "delta", "delta"),
    }),
    fc.record({ do: fc.constant("restart"), shards: fc.constantFrom(0, 2, 3, 5) }),
    fc.record({ do: fc.constant("wait"), seconds: fc.integer({ min: -600, max: 900 }) }),
  ),
  { maxLength: 40 },
);

test("CRL-12: base and delta of every scope are the table restricted to it, after every history", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const world = await opened();
      for (const step of history) await play(world, step);
      for (const scope of await world.running.scopes.all(world.small.ca.id)) {
        await world.running.publisher.publishDelta(world.small.ca, rootOrigin, scope);
        await agree(world, scope);
      }
    }),
    { numRuns: 150, seed: 20_261_120 },
  );
}, 120_000);

async function opened(): Promise<World> {
  const small = await smallCa();
  return {
    small,
    known: [],
    listed: new Map(),
    used: new Set(),
    last: new Map(),
    bases: new Map(),
    shards: 0,
    running: small,
  };
}

async function play(world: World, step: Step): Promise<void> {
  const { small, running } = world;
  switch (step.do) {
    case "issue":
      await issue(world, step.kind);
      return;
    case "restart":
      await restart(world, step.shards);
      return;
    case "wait":
      small.clock.advance(step.seconds);
      return;
    case "publish": {
      const scopes = await running.scopes.all(small.ca.id);
      const scope = scopes[step.which % scopes.length] ?? fullScope;
      if (step.kind === "base") await running.publisher.publish(small.ca, rootOrigin, scope);
      else await running.publisher.publishDelta(small.ca, rootOrigin, scope);
      await agree(world, scope);
      return;
    }
    default:
      await change(world, step.do, world.known[step.which % Math.max(1, world.known.length)]);
  }
}

async function issue(world: World, kind: Known["kind"]): Promise<void> {
  const { small, shards } = world;
  const serial = parseSerial(String(1000 + world.known.length * 7919));
  const namedShard = kind === "leaf" && shards > 0 ? partition(serial, shards) : undefined;
  world.known.push({ serial, kind, namedShard });
  if (kind === "bare") return;
  const row = await small.issue({ serial, kind, facts: { crlPartition: namedShard } });
  if (namedShard === undefined) return;
  const url = `http://crl.example/api/ca/${small.ca.id}/crl/partition/${namedShard}`;
  const { notAfter } = row;
  await small.store.atomically((tx) =>
    tx.revocations.keepShardUrl({ caId: small.ca.id, partition: namedShard, url, notAfter }),
  );
}

async function change(
  { small, running, listed }: World,
  action: "revoke" | "suspend" | "release",
  target: Known | undefined,
): Promise<void> {
  if (target === undefined) return;
  const { serial } = target;
  const request = { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true };
  const run =
    action === "revoke"
      ? running.revoker.revoke(request, "superseded")
      : running.revoker[action](request);
  const status = await run.then(
    (result) => result.status,
    () => "refused",
  );
  if (status === "revoked") listed.set(serial, "superseded");
  if (status === "held") listed.set(serial, "certificateHold");
  if (status === "released") listed.delete(serial);
}

/**
 * A new process over the same database, with another number of partitions, whose first job is to
 * renew.
 */
async function restart(world: World, shards: number): Promise<void> {
  const { store, keys, clock, ca, failures } = world.small;
  world.shards = shards;
  if (shards > 0) world.used.add(shards);
  await rememberShards(store, shards);
  const crl = { ...revocationDefaults.crl, shards, base_url: "http://crl.example" };
  const random = seededRandom();
  world.running = openRevocation(
    { ...revocationDefaults, crl },
    {
      stillMay: async () => {},
      store,
      keys,
      clock,
      random,
      signing: new Signing({ store, keys, clock, random }),
      wake: () => {},
      publicProfile: () => false,
      signCertificate: () => Promise.reject(new Error("no responder here")),
      counts: { add: () => {} },
      clockAhead: () => false,
      clockBelieved: () => true,
      crlFiles: undefined,
      onFailure: (_what, error) => failures.push(error),
    },
  );
  await world.running.refresh.renewals();
  expect(failures).toEqual([]);
  for (const scope of await store.read.revocations.publishedScopes(ca.id)) {
    if ((await world.running.scopes.all(ca.id)).includes(scope)) await agree(world, scope);
  }
}

async function agree(world: World, scope: string): Promise<void> {
  const { small, running, listed, known } = world;
  const { publisher } = running;
  const heads = await publisher.newest(small.ca.id, scope);
  if (heads.base === undefined) return;
  const base = parseCrl(await publisher.der(heads.base));
  checkOrder(world, scope, base, heads.delta && parseCrl(await publisher.der(heads.delta)));
  if (heads.delta === undefined) return;
  const delta = parseCrl(await publisher.der(heads.delta));
  const told = unionOf(base, delta);
  // Later changes are in a later delta; only a delta that saw everything is held against the table
  // of now.
  if (heads.delta.sequence < (await small.store.read.revocations.lastChange(small.ca.id))) return;
  const wanted = known.filter(({ serial }) => listed.has(serial));
  const inScope = wanted.filter((row) => belongs(world, row, scope, heads.base?.modulus ?? 0));
  expect(told).toEqual(new Map(inScope.map(({ serial }) => [serial, listed.get(serial) ?? ""])));
}

function belongs(
  world: World,
  { serial, kind, namedShard }: Known,
  scope: string,
  modulus: number,
) {
  const number = partitionNumber(scope);
  if (number === undefined) return true;
  if (kind === "ca") return false;
  if (kind === "bare") return [...world.used].some((count) => partition(serial, count) === number);
  return namedShard === number || (modulus > 0 && partition(serial, modulus) === number);
}

function checkOrder(world: World, scope: string, base: ParsedCrl, delta: ParsedCrl | undefined) {
  const numbers = world.bases.get(scope) ?? new Set<number>();
  world.bases.set(scope, numbers.add(base.number ?? 0));
  const point = pointOf(base);
  expect(point === undefined).toBe(scope === fullScope || world.used.size === 0);
  if (delta !== undefined) {
    const indicator = extensionOf(delta, oids.deltaCrlIndicator);
    expect(numbers.has(parseDeltaCrlIndicator(indicator?.value ?? new Uint8Array(0)))).toBe(true);
    expect(pointOf(delta)).toEqual(point);
    expect(delta.number).toBeGreaterThan(base.number ?? 0);
    const listed = new Set(base.entries.map(({ serial }) => serial));
    const removed = delta.entries.filter(({ reason }) => reason === "removeFromCRL");
    expect(removed.every(({ serial }) => listed.has(serial))).toBe(true);
    expect(new Set(delta.entries.map(({ serial }) => serial)).size).toBe(delta.entries.length);
  }
  const newest = delta ?? base;
  const last = world.last.get(scope) ?? { number: 0, thisUpdate: 0 };
  const number = newest.number ?? 0;
  expect(number).toBeGreaterThanOrEqual(last.number);
  // CRL-2: a list follows the last one, unless that one begins in a future the clock has come back
  // from.
  if (number > last.number && last.thisUpdate <= world.small.clock.now())
    expect(newest.thisUpdate - last.thisUpdate).toBeGreaterThanOrEqual(1000);
  world.last.set(scope, { number, thisUpdate: newest.thisUpdate });
}

function unionOf(base: ParsedCrl, delta: ParsedCrl): Map<Serial, string> {
  const told = new Map(base.entries.map(({ serial, reason }) => [serial, String(reason)]));
  for (const { serial, reason } of delta.entries) {
    if (reason === "removeFromCRL") told.delete(serial);
    else told.set(serial, reason);
  }
  return told;
}

const pointOf = (crl: ParsedCrl) => {
  const found = extensionOf(crl, oids.issuingDistributionPoint);
  return found && parseIssuingDistributionPoint(found.value);
};

/** CRL-8 once more, in other words than the code under test. */
const partition = (serial: Serial, count: number): number =>
  Number(BigInt(`0x${sha256(serialToBytes(serial)).toHex()}`) % BigInt(count));
