/**
 * CFG-9: nothing is accepted without effect, so every key is at least read by something behind the
 * configuration.
 */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { configSchema } from "#config/schema.ts";
import { leaves } from "#config/section.ts";

const source = resolve(import.meta.dir, "..", "..", "src");

test("every key is read outside its declaration", () => {
  const readers = [...new Bun.Glob("**/*.ts").scanSync(source)]
    // The logs are completed from their files there, and handed on as they will be used.
    .filter((path) => !path.startsWith("config/") || path === "config/ct-logs.ts")
    .map((path) => readFileSync(join(source, path), "utf8"));
  const unread = leaves(configSchema)
    .map(({ path }) => path)
    .filter((path) => {
      const word = new RegExp(`\\b${path.split(".").at(-1)}\\b`);
      return !readers.some((text) => word.test(text));
    });
  expect(unread).toEqual([]);
});

test("a key that names a place on this machine says whether pkid reads it or writes there", () => {
  const places = leaves(configSchema).filter(({ field }) => field.kind.name === "path");
  expect(places.length).toBeGreaterThan(10);
  const both = places.filter(
    ({ field }) => (field.mustExist === true) === (field.writes !== undefined),
  );
  expect(both.map(({ path }) => path)).toEqual([]);
});

test("every key of a profile reaches the profile it stands for", () => {
  const declared = readFileSync(join(source, "config/sections/issuance.ts"), "utf8");
  const [members = "", reading = ""] =
    declared.split("const profileMembers")[1]?.split("profileOf") ?? [];
  const names = [...members.matchAll(/^ {2,4}([a-z_]+): (?!section)/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(20);
  // `policies` and `lint` are handed over whole.
  const whole = ["oids", "cps", "critical", "public", "overrides"];
  expect(
    names.filter((name) => !whole.includes(name ?? "") && !reading.includes(`.${name}`)),
  ).toEqual([]);
});
