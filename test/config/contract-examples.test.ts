/**
 * The examples that operators are given load as printed, but for sections of features this version
 * does not have.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "bun:test";

import { loadText } from "#test/support/config.ts";

/**
 * What is said of each key that belongs to a feature to come; a key that means something leaves the
 * list.
 */
const toCome = ["acme", "audit", "canary", "cmp", "est", "monitor", "scep", "tsa", "webhook"];

test.each([["small"], ["production"]])(
  "the %s example has no other fault than sections of features to come",
  (name) => {
    const text = readFileSync(join(import.meta.dir, "examples", `${name}.yaml`), "utf8");
    const loaded = loadText(text);
    const faults = loaded.ok ? [] : loaded.faults;
    const named = (path: string) =>
      path.split(".").reduce<unknown>((of, key) => Object(of)[key], Bun.YAML.parse(text));
    expect(faults.map(({ path }) => path).sort()).toEqual(
      toCome.filter((path) => named(path) !== undefined),
    );
    for (const { sentence } of faults) expect(sentence).toStartWith("There is no such key.");
  },
);
