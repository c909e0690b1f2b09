/** Reading a secret on this machine: what is accepted, and everything that is refused (SEC-4). */

import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { probeLocal, readLocal } from "#adapters/secrets/local.ts";

const home = mkdtempSync(join(tmpdir(), "pkid-secret-"));

test("a variable gives its text, and must exist and not be empty", () => {
  expect(fromVariable({ SECRET: "geheim" })).toBe("geheim");
  expect(() => fromVariable({})).toThrow("The variable SECRET is empty.");
  expect(() => fromVariable({ SECRET: "" })).toThrow("The variable SECRET is empty.");
});

test("a file gives its text without one final newline", () => {
  expect(fromFile(file("a", "geheim\n"))).toBe("geheim");
  expect(fromFile(file("b", "geheim\n\n"))).toBe("geheim\n");
  expect(fromFile(file("c", " geheim\r\n"))).toBe(" geheim");
});

test("an empty file is refused, and so is one with nothing but a newline", () => {
  expect(() => fromFile(file("d", ""))).toThrow("is empty.");
  expect(() => fromFile(file("e", "\n"))).toThrow("is empty.");
});

test("a file of 64 KiB is read and one octet more is refused", () => {
  expect(fromFile(file("f", "x".repeat(65_536)))).toHaveLength(65_536);
  expect(() => fromFile(file("g", "x".repeat(65_537)))).toThrow("is larger than 64 KiB.");
});

test("a file that group or others can read is refused unless allowed", () => {
  for (const mode of [0o640, 0o604, 0o620]) {
    const path = file("h", "geheim", mode);
    expect(() => fromFile(path)).toThrow("can be read by group or others; set mode 0600.");
    expect(fromFile(path, true)).toBe("geheim");
  }
  expect(fromFile(file("i", "geheim", 0o400))).toBe("geheim");
});

test("a link within the directory is followed, one out of it is refused", () => {
  const inner = join(home, "inner");
  mkdirSync(join(inner, "..version"), { recursive: true });
  file("inner/..version/secret", "geheim");
  symlinkSync("..version/secret", join(inner, "secret"));
  expect(fromFile(join(inner, "secret"))).toBe("geheim");
  symlinkSync(file("outside", "geheim"), join(inner, "stray"));
  expect(() => fromFile(join(inner, "stray"))).toThrow("is a link out of its directory.");
});

test("what is missing or no regular file is refused", () => {
  expect(() => fromFile(join(home, "none"))).toThrow("does not exist.");
  expect(() => fromFile(home)).toThrow("is not a regular file.");
  const pipe = join(home, "pipe");
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  expect(() => fromFile(pipe)).toThrow("is not a regular file.");
});

test("a probe refuses what reading refuses, and gives nothing", () => {
  const source = (path: string, allow_insecure_perms = false) =>
    ({ type: "file", file: { path, allow_insecure_perms } }) as const;
  expect(probeLocal(source(file("k", "geheim")), {})).toBeUndefined();
  const open = file("l", "geheim", 0o644);
  expect(() => probeLocal(source(open), {})).toThrow("can be read by group or others");
  expect(probeLocal(source(open, true), {})).toBeUndefined();
  expect(() => probeLocal(source(file("m", "")), {})).toThrow("is empty.");
  expect(() => probeLocal(source(join(home, "none")), {})).toThrow("does not exist.");
  expect(() => probeLocal({ type: "env", env: { var: "SECRET" } }, {})).toThrow("is empty.");
});

test("no message carries the secret", () => {
  const path = file("j", "geheim", 0o644);
  expect(() => fromFile(path)).not.toThrow("geheim");
});

function fromVariable(env: Record<string, string>): string {
  return readLocal({ type: "env", env: { var: "SECRET" } }, env);
}

function fromFile(path: string, allowed = false): string {
  return readLocal({ type: "file", file: { path, allow_insecure_perms: allowed } }, {});
}

function file(name: string, text: string, mode = 0o600): string {
  const path = join(home, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}
