/** The check publish.freshness: what relying parties find is whole, good, and renewed in time. */

import { beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { directoryTarget } from "#adapters/publish/directory.ts";
import { refuse } from "#core/problems.ts";
import { publicationFresh } from "#domain/preflight/publication.ts";
import { Publishing } from "#domain/publishing/publish.ts";
import { type PublishTarget, TargetFault } from "#domain/publishing/target.ts";
import { seededRandom } from "#test/support/ports.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
let path: string;
let target: PublishTarget;
let publishing: Publishing;

beforeEach(async () => {
  small = await smallCa();
  path = mkdtempSync(join(tmpdir(), "pkid-publish-"));
  target = directoryTarget({ path, keep_snapshots: 3 });
  const random = seededRandom();
  const settings = { random, publish: { cas: [], include_ocsp: false }, changedMax: 9 };
  publishing = new Publishing({ ...small, ...settings, target, directory: () => target });
});

const check = (other: PublishTarget | undefined = target) =>
  publicationFresh({
    store: small.store,
    now: small.clock.now(),
    target: other,
    interval_minutes: 60,
  });

test("a fresh snapshot passes; without publishing there is nothing to check", async () => {
  expect(await check()).toMatchObject({ status: "warn" });
  await publishing.run(rootOrigin);
  expect(await check()).toMatchObject({ status: "pass", detail: expect.stringMatching(/^5 /) });
  const off = { store: small.store, now: small.clock.now(), interval_minutes: 60 };
  expect(await publicationFresh({ ...off, target: undefined })).toMatchObject({ status: "skip" });
});

test("one older than two intervals is warned of, one past its end fails", async () => {
  await publishing.run(rootOrigin);
  small.clock.advance(2 * 3600 + 1);
  expect(await check()).toMatchObject({ status: "fail" });
  await publishing.run(rootOrigin);
  expect(await check()).toMatchObject({ status: "pass" });
  const { base } = await small.publisher.newest(small.ca.id, "full");
  small.clock.advance(((base?.nextUpdate ?? 0) - small.clock.now()) / 1000);
  expect(await check()).toMatchObject({
    status: "fail",
    detail: expect.stringContaining("good until"),
  });
});

test("a certificate or an answer that is damaged fails as a list does, though its size is right", async () => {
  small = await smallCa({ presign: { enabled: true } });
  publishing = new Publishing({
    ...small,
    random: seededRandom(),
    publish: { cas: [], include_ocsp: true },
    changedMax: 9,
    target,
    directory: () => target,
  });
  const { serial } = await small.issue();
  await small.presigner.sweep();
  for (const name of ["ca.der", "chain.pem", `ocsp/by-serial/${serial}.der`]) {
    await publishing.run(rootOrigin);
    expect(await check()).toMatchObject({ status: "pass" });
    const file = join(path, "current", small.ca.id, name);
    const octets = readFileSync(file);
    octets[40] = (octets[40] ?? 0) ^ 1;
    writeFileSync(file, octets);
    expect(await check()).toMatchObject({
      status: "fail",
      detail: `${small.ca.id}/${name} is not what the manifest says.`,
    });
    small.clock.advance(1);
  }
  await publishing.run(rootOrigin);
  expect(await check()).toMatchObject({ status: "pass" });
});

test("a list somebody wrote over fails, and so do a manifest that is gone and a target that is away", async () => {
  await publishing.run(rootOrigin);
  writeFileSync(join(path, "current", small.ca.id, "crl.der"), "somebody's");
  expect(await check()).toMatchObject({
    status: "fail",
    detail: `${small.ca.id}/crl.der is not what the manifest says.`,
  });
  rmSync(join(path, "current", "manifest.json"));
  expect(await check()).toMatchObject({ status: "fail" });
  const away = { ...target, previous: () => Promise.reject(new TargetFault("The store is away.")) };
  expect(await check(away)).toMatchObject({ status: "fail", detail: "The store is away." });
});

test("a last run that could not sign every list is warned of", async () => {
  await publishing.run(rootOrigin);
  small.clock.advance(1800);
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  small.clock.advance(3601);
  await expect(publishing.run(rootOrigin)).rejects.toMatchObject({ code: "crl_unavailable" });
  expect((await check()).status).not.toBe("pass");
});
