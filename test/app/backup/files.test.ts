/** An archive has its name only when it is whole. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  closeSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

import { createLockedFile } from "#adapters/data-directory.ts";
import { archivePlace, digestOf, writeArchive, writeSidecar } from "#app/backup/files.ts";
import { Failure } from "#cli/failure.ts";
import { sha256Hex } from "#core/crypto.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pkid-archive-file-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

const believed = async () => {};

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof Failure ? error.message : `thrown: ${String(error)}`),
  );

test("what came is in the file, for its owner only, with its digest", async () => {
  const file = join(folder, "a.age");
  const written = await writeArchive(file, pieces("one", "two"), believed);
  expect(written).toEqual({ file, size: 6, sha256: sha256Hex(Buffer.from("onetwo")) });
  expect(await digestOf(file)).toBe(written.sha256);
  expect([statSync(file).mode & 0o777, readdirSync(folder)]).toEqual([0o600, ["a.age"]]);
  writeSidecar(file, { seq: 1 });
  expect(JSON.parse(readFileSync(`${file}.manifest.json`, "utf8"))).toEqual({ seq: 1 });
});

test("BAK-2: what breaks off, or does not read back, leaves nothing under any name", async () => {
  const broken = async function* () {
    yield Buffer.from("half");
    throw new Failure("The server is gone.");
  };
  expect(await refusal(writeArchive(join(folder, "a.age"), broken(), believed))).toBe(
    "The server is gone.",
  );
  expect(readdirSync(folder)).toEqual([]);
  const meddling = async function* () {
    yield Buffer.from("whole");
    // Somebody else writes into the file that is not there yet under its name.
    const [fresh = ""] = readdirSync(folder);
    writeFileSync(join(folder, fresh), "other", { flag: "a" });
  };
  expect(await refusal(writeArchive(join(folder, "a.age"), meddling(), believed))).toContain(
    "does not read back as it was written",
  );
  expect(readdirSync(folder)).toEqual([]);
});

test("the unfinished file of a killed process is removed, and one that is being written stays", async () => {
  const createPath = (name: string) => join(folder, `.${name}.${crypto.randomUUID()}`);
  const archive = "pkid-instance-20260101T000000Z.tar.age";
  const abandoned = [createPath("a.age"), createPath(archive)];
  for (const file of abandoned) writeFileSync(file, "half");
  const [used, other] = [createPath(archive), createPath("notes.txt")];
  const descriptor = createLockedFile(used);
  writeFileSync(used, "half");
  writeFileSync(other, "half");
  await writeArchive(join(folder, "a.age"), pieces("one"), believed);
  const left = ["a.age", basename(used), basename(other)];
  expect(readdirSync(folder).sort()).toEqual(left.sort());
  closeSync(descriptor);
});

test("what is not what was sent is not kept", async () => {
  const other = async (sha256: string) => {
    expect(sha256).toBe(sha256Hex(Buffer.from("one")));
    throw new Failure("It broke off.");
  };
  expect(await refusal(writeArchive(join(folder, "a.age"), pieces("one"), other))).toBe(
    "It broke off.",
  );
  expect(readdirSync(folder)).toEqual([]);
});

test("a file that is there is never written over, whenever it came to be there", async () => {
  const file = join(folder, "a.age");
  const late = async function* () {
    yield Buffer.from("archive");
    writeFileSync(file, "somebody's");
  };
  expect(await refusal(writeArchive(file, late(), believed))).toContain(
    "cannot be written: EEXIST",
  );
  expect(readFileSync(file, "utf8")).toBe("somebody's");
  expect(() => archivePlace(file, "x.age")).toThrow("an archive is never written over");
  expect(archivePlace(folder, "x.age")).toBe(join(folder, "x.age"));
  expect(() => archivePlace(join(folder, "none", "x"), "x")).toThrow("there is no directory");
});
