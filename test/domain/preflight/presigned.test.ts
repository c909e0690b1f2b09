/**
 * The check ocsp.presign: sweeps come in time, can sign, and leave nothing behind that has ended.
 */

import { expect, test } from "bun:test";

import { refuse } from "#core/problems.ts";
import { answersAhead } from "#domain/preflight/presigned.ts";
import { systemOrigin } from "#domain/revocation/system-origin.ts";
import { smallCa } from "#test/support/worlds/small-ca.ts";

async function world() {
  const small = await smallCa({ presign: { enabled: true } });
  await small.issue();
  const judged = async (refreshMinutes: number | undefined = 360) =>
    await answersAhead(small.store, small.clock.now(), refreshMinutes);
  return { ...small, judged };
}

test("nothing is looked at where nothing is signed ahead, and before the first sweep it warns", async () => {
  const { store, clock, judged } = await world();
  expect((await answersAhead(store, clock.now(), undefined)).status).toBe("skip");
  expect((await judged()).status).toBe("warn");
});

test("a sweep is good for one and a half refreshes, warns then, and fails after two", async () => {
  const { presigner, clock, judged } = await world();
  await presigner.run(systemOrigin("presign"));
  clock.advance(540 * 60);
  expect((await judged()).status).toBe("pass");
  clock.advance(1);
  expect((await judged()).status).toBe("warn");
  clock.advance(180 * 60);
  expect((await judged()).status).toBe("fail");
});

test("a sweep that could not sign fails", async () => {
  const { presigner, keys, judged } = await world();
  keys.checkTicket = () => {
    throw refuse("key_unavailable");
  };
  await presigner.run(systemOrigin("presign")).catch(() => {});
  expect(await judged()).toMatchObject({
    status: "fail",
    detail: expect.stringContaining("could not sign everything"),
  });
});

test("an answer that ended before the last sweep did should be gone", async () => {
  const { presigner, store, clock, judged } = await world();
  await presigner.run(systemOrigin("presign"));
  const last = JSON.stringify({ at: clock.now() + 8 * 86_400_000, result: "success" });
  await store.atomically((tx) => tx.instance.setValue("presign_sweep", last));
  clock.advance(8 * 86_400);
  expect(await judged()).toMatchObject({
    status: "fail",
    detail: expect.stringContaining("still kept"),
  });
});
