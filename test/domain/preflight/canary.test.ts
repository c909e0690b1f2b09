/** What preflight says of the last probes (`canary.last_probe`). */

import { expect, test } from "bun:test";

import type { CanarySections } from "#domain/canary/canary.ts";
import { probesSucceed } from "#domain/preflight/canary.ts";
import { canaryWorld } from "#test/support/worlds/canary-world.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";

const settings: CanarySections["canary"] = {
  enabled: true,
  interval_minutes: 15,
  cas: ["issuing"],
  profile: "canary",
  timeout_seconds: 60,
};

test("a probe that succeeded passes, one older than three intervals warns, one that failed fails", async () => {
  const { store, clock, canary, keys, issuing, set } = await canaryWorld();
  const said = async (more: Partial<CanarySections["canary"]> = {}) => {
    const { status, detail } = await probesSucceed(store, clock.now(), { ...settings, ...more });
    return `${status}: ${detail.replace(/\d{4}-[0-9T:.-]+Z/, "<time>")}`;
  };
  expect(await said({ enabled: false })).toBe("skip: No CA is probed (`canary`).");
  expect(await said({ cas: [] })).toStartWith("skip: ");
  expect(await said()).toBe("warn: issuing has not been probed yet.");
  await canary.run(rootOrigin);
  clock.step(45 * 60);
  expect(await said()).toBe("pass: The last probe succeeded: issuing at <time>.");
  clock.step(1);
  expect(await said()).toBe("warn: issuing was last probed <time>.");
  set({ cas: ["issuing", "root"] });
  keys.held.delete(issuing.key.id);
  await canary.run(rootOrigin);
  expect(await said({ cas: ["issuing", "root", "later"] })).toBe(
    "fail: The probe of issuing failed <time> at the stage issue: key_unavailable. later has not been probed yet.",
  );
});
