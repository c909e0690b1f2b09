/** The check crl.freshness: renewed in time, with their deltas, and never behind what was seen. */

import { expect, test } from "bun:test";

import type { Artefact } from "#core/publishing/manifest.ts";
import { type CrlPremises, crlsFresh } from "#domain/preflight/crls.ts";
import { listPath } from "#domain/publishing/artefacts.ts";
import { TargetFault } from "#domain/publishing/target.ts";
import type { CrlHead } from "#domain/revocation/store.ts";
import { rootOrigin as smallRoot, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

const fresh = (
  { store, clock }: SmallCa,
  shards: number,
  target: CrlPremises["target"] = undefined,
) => crlsFresh({ store, now: clock.now(), shards, target });

test("a base without a delta warns, after the time the job takes, and so does a delta past its interval", async () => {
  const ca = await smallCa();
  await ca.publisher.publishBase(ca.ca, smallRoot);
  ca.clock.advance(180);
  expect((await fresh(ca, 0)).status).toBe("pass");
  ca.clock.advance(1);
  const { base } = await ca.publisher.newest(ca.ca.id, "full");
  expect(await fresh(ca, 0)).toEqual({
    status: "warn",
    detail: `CRL ${base?.number} of ${ca.ca.label} has no delta.`,
  });
  await ca.publisher.publishDelta(ca.ca, smallRoot);
  expect((await fresh(ca, 0)).status).toBe("pass");
  await ca.publisher.publishBase(ca.ca, smallRoot);
  ca.clock.advance(181);
  expect((await fresh(ca, 0)).detail).toContain("has no delta");
  await ca.publisher.publishDelta(ca.ca, smallRoot);
  ca.clock.advance(3600);
  expect((await fresh(ca, 0)).detail).toContain("ended");
});

test("a list with a lower number than the published one fails, and a target that is away is another's matter", async () => {
  const ca = await smallCa();
  const { base, delta } = await ca.publisher.publish(ca.ca, smallRoot);
  const published = (head: CrlHead, crlNumber: number): CrlPremises["target"] => {
    const { nextUpdate: notAfter, sha256, size } = head;
    const list = { sha256, size, contentType: "", notAfter, crlNumber };
    const artefact: Artefact = { ...list, path: listPath(head), kind: "crl" };
    const manifest = { generatedAt: ca.clock.now(), cas: [], artefacts: [artefact] };
    return { previous: async () => ({ ...manifest, earliestExpiry: undefined }) };
  };
  expect((await fresh(ca, 0, published(base, base.number))).status).toBe("pass");
  expect(await fresh(ca, 0, published(base, base.number + 9))).toEqual({
    status: "fail",
    detail: `The newest CRL of ${ca.ca.label} has number ${base.number}, and number ${base.number + 9} is published already.`,
  });
  const behind = await fresh(ca, 0, published(delta, delta.number + 1));
  expect([behind.status, behind.detail]).toEqual(["fail", expect.stringContaining("delta of")]);
  const away = async () => {
    throw new TargetFault("It is away.");
  };
  expect((await fresh(ca, 0, { previous: away })).status).toBe("pass");
});

test("crl.freshness follows the life of a CRL: none yet and past half warn, past nextUpdate fails", async () => {
  const ca = await smallCa();
  const check = async () => (await fresh(ca, 0)).status;
  expect(await check()).toBe("warn");
  await ca.publisher.publish(ca.ca, smallRoot);
  expect(await check()).toBe("pass");
  ca.clock.advance(84 * 3600 + 1);
  expect(await check()).toBe("warn");
  ca.clock.advance(84 * 3600);
  expect(await check()).toBe("fail");
  await ca.store.tamper("update cas set not_after = ? where id = ?", ca.clock.now(), ca.ca.id);
  ca.clock.advance(1);
  expect(await check()).toBe("pass");
});

test("asks nothing of a partition that is served no more", async () => {
  const ca = await smallCa({ crl: { shards: 4, base_url: "http://crl.example" } });
  await ca.publisher.publishAll(ca.ca, smallRoot);
  ca.clock.advance(169 * 3600);
  await ca.reopen({ shards: 2 }).publisher.publishAll(ca.ca, smallRoot);
  const { status } = await fresh(ca, 2);
  expect([status, (await fresh(ca, 4)).status]).toEqual(["pass", "fail"]);
});
