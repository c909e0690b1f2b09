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
const toCome = ["audit", "cmp", "est", "monitor.enabled", "scep", "tsa", "webhook"];

/** What stands where the operator's own value goes: nobody could open what was encrypted to it. */
const placeholder = "backup.recipients[0]";

test.each([["small"], ["production"]])(
  "the %s example has no other fault than sections of features to come",
  (name) => {
    const text = readFileSync(join(import.meta.dir, "examples", `${name}.yaml`), "utf8");
    const loaded = loadText(text);
    const faults = loaded.ok ? [] : loaded.faults;
    const named = (path: string) =>
      path.split(".").reduce<unknown>((of, key) => Object(of)[key], Bun.YAML.parse(text));
    const features = faults.filter(({ path }) => path !== placeholder);
    expect(features.map(({ path }) => path).sort()).toEqual(
      toCome.filter((path) => named(path) !== undefined),
    );
    for (const { sentence } of features) expect(sentence).toStartWith("There is no such key.");
  },
);

test("the recipient of the production example is refused until it is somebody's", () => {
  const text = readFileSync(join(import.meta.dir, "examples", "production.yaml"), "utf8");
  const faultsOf = (yaml: string) => {
    const loaded = loadText(yaml);
    return loaded.ok ? [] : loaded.faults.filter(({ path }) => path.startsWith("backup"));
  };
  expect(faultsOf(text).map(({ path }) => path)).toEqual([placeholder]);
  const somebody = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
  expect(faultsOf(text.replace(/age1example[a-z]+/, somebody))).toEqual([]);
});
