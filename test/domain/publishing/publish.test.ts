/**
 * Static publishing: what is in a snapshot, what follows a revocation, and what is never put back.
 */

import { beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { directoryTarget } from "#adapters/publish/directory.ts";
import { encodeManifest, type Manifest, parseManifest } from "#core/publishing/manifest.ts";
import { refuse } from "#core/problems.ts";
import type { Serial } from "#core/ids.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { judgeAnswer } from "#core/x509/ocsp-verdict.ts";
import { answerPaths } from "#domain/publishing/artefacts.ts";
import { Publishing } from "#domain/publishing/publish.ts";
import { seededRandom } from "#test/support/ports.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
let path: string;
let publishing: Publishing;
const random = seededRandom();

beforeEach(async () => {
  const crl = { shards: 2, urlBase: "http://pki.example.test" };
  small = await smallCa({ crl, presign: { enabled: true } });
  path = mkdtempSync(join(tmpdir(), "pkid-publish-"));
  publishing = opened();
});

const opened = ({
  changedMax = 1000,
  ...wanted
}: {
  include_ocsp?: boolean;
  cas?: readonly string[];
  changedMax?: number;
} = {}) =>
  new Publishing({
    ...small,
    random,
    publish: { cas: [], include_ocsp: true, ...wanted },
    changedMax,
    target: directoryTarget({ path, keep_snapshots: 3 }),
    directory: (other) => directoryTarget({ path: other, keep_snapshots: 3 }),
  });

const manifest = (at = path): Manifest =>
  parseManifest(readFileSync(join(at, "current", "manifest.json"), "utf8"));
const file = (name: string) => readFileSync(join(path, "current", small.ca.id, name));
const names = () => manifest().artefacts.map((one) => one.path.slice(small.ca.id.length + 1));
const snapshots = () => readdirSync(join(path, "snapshots")).length;
const revoke = (serial: Serial) =>
  small.revoker.revoke(
    { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true },
    "superseded",
  );
const statusOf = (name: string, serial: Serial) => {
  const issuer = parseCertificate(small.ca.certificate ?? Uint8Array.of());
  const now = small.clock.now();
  return judgeAnswer(file(name), { issuer, serial, nonce: undefined, now });
};

test("a snapshot has certificate, chain, every list and every answer, as they are served", async () => {
  const { serial } = await small.issue();
  await small.presigner.sweep();
  const report = await publishing.run(rootOrigin);
  const paths = answerPaths(small.ca)(serial);
  const lists = ["crl", "crl-partition-0", "crl-partition-1"].flatMap((name) => [
    `${name}.der`,
    `${name}-delta.der`,
  ]);
  expect(names()).toEqual(expect.arrayContaining(["ca.der", "ca.pem", "chain.pem", ...lists]));
  for (const name of Object.values(paths)) {
    expect(statusOf(name.slice(small.ca.id.length + 1), serial)).toMatchObject({
      trusted: true,
      status: "good",
    });
  }
  const served = await small.publisher.current(small.ca);
  expect(file("crl.der")).toEqual(Buffer.from(await small.publisher.der(served)));
  const found = manifest().artefacts.find(({ path }) => path.endsWith("/crl.der"));
  expect(found).toMatchObject({ sha256: served.sha256, notAfter: served.nextUpdate });
  expect(report.artefacts).toBe(manifest().artefacts.length);
  expect(report.earliestExpiry).toBe(manifest().earliestExpiry);
  expect(manifest().cas).toEqual([
    {
      id: small.ca.id,
      label: small.ca.label,
      crlShards: 2,
      ocspResponses: manifest().artefacts.filter(({ kind }) => kind === "ocsp").length,
    },
  ]);
  const { items } = await small.store.read.audit.events(
    { reach: "platform", action: "publish.run" },
    9,
  );
  expect(items[0]?.detail).toStartWith(`target=dir artifacts=${report.artefacts} earliest_expiry=`);
});

test("after a revocation the touched lists and answers follow, the rest is kept", async () => {
  const [one, other] = [await small.issue(), await small.issue()];
  await small.presigner.sweep();
  await publishing.run(rootOrigin);
  const before = new Map(manifest().artefacts.map((entry) => [entry.path, entry.sha256]));
  await publishing.changed();
  expect(snapshots()).toBe(1);
  await revoke(one.serial);
  await small.publisher.publishStale(small.ca, rootOrigin);
  await small.presigner.refreshChanged();
  small.clock.advance(1);
  await publishing.changed();
  expect(snapshots()).toBe(2);
  const bySerial = (serial: Serial) => `ocsp/by-serial/${serial}.der`;
  expect(statusOf(bySerial(one.serial), one.serial)).toMatchObject({ status: "revoked" });
  expect(statusOf(bySerial(other.serial), other.serial)).toMatchObject({ status: "good" });
  expect(parseCrl(file("crl.der")).entries.map(({ serial }) => serial)).toEqual([one.serial]);
  const kept = manifest().artefacts.filter(({ path, sha256 }) => before.get(path) === sha256);
  expect(kept.some(({ path }) => path.includes(other.serial))).toBe(true);
  await publishing.changed();
  expect(snapshots()).toBe(2);
});

test("an answer that no longer holds is gone before its successor can be signed", async () => {
  const { serial } = await small.issue();
  await small.presigner.sweep();
  await publishing.run(rootOrigin);
  await revoke(serial);
  await small.publisher.publishStale(small.ca, rootOrigin);
  await publishing.changed();
  expect(names()).not.toContain(`ocsp/by-serial/${serial}.der`);
  await small.presigner.refreshChanged();
  await publishing.changed();
  expect(statusOf(`ocsp/by-serial/${serial}.der`, serial)).toMatchObject({ status: "revoked" });
});

test("an answer that no longer holds goes also while nothing at all can be signed", async () => {
  const { serial } = await small.issue();
  await small.presigner.sweep();
  await publishing.run(rootOrigin);
  await revoke(serial);
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable");
  };
  small.clock.advance(1);
  await publishing.changed();
  expect(names()).not.toContain(`ocsp/by-serial/${serial}.der`);
  const gone = snapshots();
  small.clock.advance(1);
  await publishing.changed();
  expect(snapshots()).toBe(gone);
});

test("more changes than are remembered leave no answer that no longer holds, and all new ones come", async () => {
  publishing = opened({ changedMax: 20 });
  const rows: Awaited<ReturnType<typeof small.issue>>[] = [];
  for (let at = 0; at < 50; at++) rows.push(await small.issue());
  await small.presigner.sweep();
  await publishing.run(rootOrigin);
  for (const { serial } of rows) await revoke(serial);
  small.clock.advance(1);
  await publishing.changed();
  for (const { serial } of rows) expect(names()).not.toContain(`ocsp/by-serial/${serial}.der`);
  await small.presigner.refreshChanged();
  for (let look = 0; look < 3; look++) {
    small.clock.advance(10);
    await publishing.changed();
  }
  for (const { serial } of rows) {
    expect(statusOf(`ocsp/by-serial/${serial}.der`, serial)).toMatchObject({ status: "revoked" });
  }
  const done = manifest().generatedAt;
  small.clock.advance(10);
  await publishing.changed();
  expect(manifest().generatedAt).toBe(done);
});

test("an answer signed after a run over everything is published without waiting for the next", async () => {
  const { serial } = await small.issue();
  await small.presigner.sweep();
  await publishing.run(rootOrigin);
  await revoke(serial);
  small.clock.advance(1);
  await publishing.changed();
  small.clock.advance(1);
  await publishing.run(rootOrigin);
  await small.presigner.refreshChanged();
  small.clock.advance(1);
  await publishing.changed();
  expect(statusOf(`ocsp/by-serial/${serial}.der`, serial)).toMatchObject({ status: "revoked" });
});

test("what was damaged without changing its size is made again by the next run", async () => {
  const { serial } = await small.issue();
  await small.presigner.sweep();
  await publishing.run(rootOrigin);
  const damaged = ["crl.der", "ca.der", "chain.pem", `ocsp/by-serial/${serial}.der`];
  const whole = damaged.map(file);
  for (const [at, name] of damaged.entries()) {
    const octets = Buffer.from(whole[at] ?? "");
    octets[9] = (octets[9] ?? 0) ^ 0xff;
    writeFileSync(join(path, "current", small.ca.id, name), octets);
  }
  small.clock.advance(1);
  await publishing.run(rootOrigin);
  expect(damaged.map(file)).toEqual(whole);
});

test("a CA whose key is away keeps what is published of it, and the run says so", async () => {
  await publishing.run(rootOrigin);
  const number = parseCrl(file("crl.der")).number;
  small.clock.advance(8 * 86_400);
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  await expect(publishing.run(rootOrigin)).rejects.toMatchObject({ code: "crl_unavailable" });
  expect(parseCrl(file("crl.der")).number).toBe(number);
  expect(names()).toContain("ca.der");
});

test("a CA whose key is away costs one snapshot when another has something new, and not one at every look", async () => {
  const other = await small.addCa();
  await publishing.run(rootOrigin);
  small.clock.advance(8 * 86_400);
  small.keys.checkTicket = ({ caId }) => {
    if (caId === small.ca.id) throw refuse("key_unavailable", { retry_after: 2 });
  };
  await small.publisher.publishAll(other, rootOrigin);
  await expect(publishing.changed()).rejects.toMatchObject({ code: "crl_unavailable" });
  const lists = await small.publisher.published(other.id, "full", "base");
  const named = () =>
    manifest().artefacts.find(({ path }) => path === `${other.id}/crl.der`)?.sha256;
  expect(named()).toBe(lists?.sha256 ?? "");
  const [told, made] = [small.store.countRows("events"), manifest().generatedAt];
  for (let look = 0; look < 3; look++) {
    small.clock.advance(10);
    await publishing.changed();
  }
  expect([small.store.countRows("events"), manifest().generatedAt]).toEqual([told, made]);
  small.keys.checkTicket = () => {};
  await small.publisher.publishAll(small.ca, rootOrigin);
  await publishing.changed();
  expect(parseCrl(file("crl.der")).nextUpdate).toBeGreaterThan(small.clock.now());
});

test("a chain that cannot be read now stays published, and the run says so", async () => {
  await publishing.run(rootOrigin);
  const { cas } = small.store.read;
  const { lineage } = cas;
  Object.assign(cas, { lineage: () => Promise.reject(refuse("storage_unavailable")) });
  const failed = publishing.run(rootOrigin);
  await expect(failed).rejects.toMatchObject({ code: "storage_unavailable" });
  Object.assign(cas, { lineage });
  expect(names()).toContain("chain.pem");
});

test("no list goes back to an older number than is published", async () => {
  await publishing.run(rootOrigin);
  const newer = manifest().artefacts.map((one) =>
    one.kind === "crl" ? { ...one, crlNumber: 1000 } : one,
  );
  const text = encodeManifest({ ...manifest(), artefacts: newer });
  writeFileSync(join(path, "current", "manifest.json"), text);
  const before = file("crl.der");
  await publishing.run(rootOrigin);
  expect(file("crl.der")).toEqual(before);
  expect(manifest().artefacts.find(({ path }) => path.endsWith("/crl.der"))?.crlNumber).toBe(1000);
});

test("one CA alone leaves what is published of the others", async () => {
  const second = await small.addCa();
  await publishing.run(rootOrigin);
  const all = manifest().artefacts.length;
  const report = await publishing.run(rootOrigin, { ca: second.id, skipOcsp: true });
  expect(report.artefacts).toBe(all);
  expect(
    manifest()
      .cas.map(({ id }) => id)
      .sort(),
  ).toEqual([small.ca.id, second.id].sort());
});

test("`publish.cas` names a lineage, and answers may be left out", async () => {
  await small.issue();
  await small.addCa();
  const successor = await small.addCa({ lineage: small.ca });
  await small.presigner.sweep();
  await opened({ cas: [small.ca.label], include_ocsp: false }).run(rootOrigin);
  expect(new Set(manifest().cas.map(({ id }) => id))).toEqual(new Set([small.ca.id, successor.id]));
  expect(manifest().artefacts.some(({ kind }) => kind === "ocsp")).toBe(false);
});

test("another directory asked for by path gets a snapshot of its own", async () => {
  const out = mkdtempSync(join(tmpdir(), "pkid-publish-"));
  await publishing.run(rootOrigin, { out });
  expect(manifest(out).artefacts.length).toBeGreaterThan(3);
  expect(readdirSync(path)).toEqual([]);
});

test("without a target there is nothing to run, and a target that fails is told", async () => {
  const none = new Publishing({
    ...small,
    random,
    publish: { cas: [], include_ocsp: true },
    changedMax: 1000,
    target: undefined,
    directory: () => directoryTarget({ path, keep_snapshots: 1 }),
  });
  await expect(none.run(rootOrigin)).rejects.toMatchObject({ code: "feature_disabled" });
  await none.changed();
  const taken = join(path, "file");
  writeFileSync(taken, "");
  await expect(publishing.run(rootOrigin, { out: taken })).rejects.toMatchObject({
    code: "unprocessable",
    facts: { reason: expect.stringContaining("publish directory") },
  });
});
