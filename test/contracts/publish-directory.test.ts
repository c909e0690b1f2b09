/** The directory as a publish target: the guarantees of every target, and its own. */

import { expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { directoryTarget } from "#adapters/publish/directory.ts";
import { manifestOf } from "#core/publishing/manifest.ts";
import { noon } from "#test/support/stores/records.ts";
import { artefact, publishTargetSuite } from "./publish-target.suite.ts";

const fresh = () => mkdtempSync(join(tmpdir(), "pkid-publish-"));

publishTargetSuite("directory", () => {
  const path = join(fresh(), "made", "when-needed");
  return {
    target: directoryTarget({ path, keep_snapshots: 2 }),
    served: async (file) => {
      const at = join(path, "current", file);
      return existsSync(at) ? readFileSync(at) : undefined;
    },
    damage: async (file, octets) => writeFileSync(join(path, "current", file), octets),
  };
});

async function publish(path: string, name: string, text: string, keepSnapshots = 2) {
  const target = directoryTarget({ path, keep_snapshots: keepSnapshots });
  const snapshot = await target.begin(name, await target.previous());
  await snapshot.write(artefact("a/crl.der", text), [Buffer.from(text)]);
  const artefacts = [artefact("a/crl.der", text)];
  await snapshot.publish(manifestOf({ generatedAt: noon, cas: [], artefacts }));
}

test("the newest snapshots stay, and `current` is a link to the newest", async () => {
  const path = fresh();
  for (const name of ["1", "2", "3", "4"]) await publish(path, name, name);
  expect(readdirSync(join(path, "snapshots")).sort()).toEqual(["3", "4"]);
  expect(readlinkSync(join(path, "current"))).toBe(join("snapshots", "4"));
});

test("everybody may read it, and nobody else write it", async () => {
  const path = fresh();
  await publish(path, "1", "one");
  expect(statSync(join(path, "current", "a")).mode & 0o777).toBe(0o755);
  expect(statSync(join(path, "current", "a", "crl.der")).mode & 0o777).toBe(0o644);
});

test("what a crash left half made is swept by the next snapshot and never served", async () => {
  const path = fresh();
  await publish(path, "1", "one");
  mkdirSync(join(path, "snapshots", ".2"));
  writeFileSync(join(path, "snapshots", ".2", "crl.der"), "half");
  await publish(path, "3", "three");
  expect(readdirSync(join(path, "snapshots")).sort()).toEqual(["1", "3"]);
});

test("octets that do not read back as they were written are not published", async () => {
  const path = fresh();
  await publish(path, "1", "one");
  const target = directoryTarget({ path, keep_snapshots: 2 });
  const snapshot = await target.begin("2", undefined);
  await snapshot.write(artefact("a/crl.der", "two"), [Buffer.from("too")]);
  const artefacts = [artefact("a/crl.der", "two")];
  await expect(
    snapshot.publish(manifestOf({ generatedAt: noon, cas: [], artefacts })),
  ).rejects.toThrow("does not read back");
  await snapshot.abandon();
  expect(readFileSync(join(path, "current", "a", "crl.der"), "utf8")).toBe("one");
});

test("a `current` that is no link of pkid's is left alone", async () => {
  const path = fresh();
  mkdirSync(join(path, "current"));
  writeFileSync(join(path, "current", "index.html"), "somebody's");
  await expect(publish(path, "1", "one")).rejects.toThrow("not a link of pkid's");
  expect(readFileSync(join(path, "current", "index.html"), "utf8")).toBe("somebody's");
});

test("a manifest somebody broke is as good as none", async () => {
  const path = fresh();
  await publish(path, "1", "one");
  writeFileSync(join(path, "current", "manifest.json"), "{}");
  const target = directoryTarget({ path, keep_snapshots: 2 });
  expect(await target.previous()).toBeUndefined();
  await publish(path, "2", "two");
  expect((await target.previous())?.artefacts.length).toBe(1);
});

test("a path that is a file is told in a sentence", async () => {
  const path = join(fresh(), "file");
  writeFileSync(path, "");
  chmodSync(path, 0o600);
  await expect(publish(path, "1", "one")).rejects.toThrow("The publish directory");
});
