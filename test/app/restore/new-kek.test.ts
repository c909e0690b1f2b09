/** What a restore says of a KEK that was made for it, and what it does not go without. */

import { expect, test } from "bun:test";

import { belongsToKek, NewKek, withRemedy } from "#app/restore/new-kek.ts";
import { LaunchFault } from "#adapters/keys/requests.ts";
import { Failure } from "#cli/failure.ts";
import type { DataKeys } from "#core/backup/data-keys.ts";
import { KekUnusable } from "#domain/envelopes/known.ts";
import type { Recovered } from "#domain/envelopes/recovery.ts";
import type { KekVersion } from "#domain/envelopes/store.ts";
import { configOf } from "#test/support/config.ts";

const all: DataKeys = { values: new Map(), privateKeys: new Map() };
const key = { provider: "software", label: "kek-v2", id: "00" } as const;

function reported(came: Partial<Recovered>, allowMissing: boolean, dataKeys = all) {
  const kek = new NewKek();
  const { made, done } = kek.recovery(dataKeys);
  made({ version: 2, family: "kek", key } as KekVersion);
  done({ values: 5, privateKeys: 3, shutValues: [], shutKeys: [], ...came });
  return () => kek.report(configOf(""), dataKeys, allowMissing);
}

test("what came under it is counted", () => {
  const facts = { provider: "software", label: "kek-v2", values: 5, private_keys: 3 };
  expect(reported({}, false)()).toMatchObject({ ...facts, lost_keys: [] });
});

test("private keys that stay shut stop a restore unless that is allowed; values always do", () => {
  const shutKeys = Array.from({ length: 12 }, (_, n) => `ca-${n}`);
  expect(reported({ shutKeys }, false)).toThrow(/ca-9 and 2 more\. --allow-missing-keys/);
  expect(reported({ shutKeys }, true)().lost_keys).toEqual(shutKeys);
  const older = { ...all, privateKeys: undefined };
  expect(reported({ shutKeys }, false, older)).toThrow("is of a release that took along no");
  expect(reported({ shutValues: ["instance/value/x"] }, true)).toThrow("instance/value/x");
});

test("what stopped a restore is told, whether or not a KEK was made for it", async () => {
  const because = new Failure("keys are missing");
  const told = await new NewKek().unmade(configOf(""), because).catch((error: unknown) => error);
  expect(told).toBe(because);
});

test("files of the KEK stay in the archive, and keys sealed under it do not", () => {
  const files = [
    "a.kek",
    "a.mlkem",
    "master.check",
    "master.salt",
    "a.key",
    "store-id",
    "instance",
  ];
  expect(files.filter((file) => !belongsToKek(file))).toEqual(["a.key", "store-id", "instance"]);
});

test("the way out is named for want of a KEK, and for nothing else", () => {
  const master = new LaunchFault("configuration", "The master key is missing.");
  for (const wanting of [new KekUnusable("The KEK does not open."), master]) {
    expect(String(withRemedy(wanting, "It was elsewhere."))).toMatch(
      /\. It was elsewhere\. .*`--new-kek`/,
    );
  }
  const others = [new LaunchFault("device", "The token is away."), new Failure("no")];
  for (const other of others) expect(withRemedy(other, "")).toBe(other);
});
