/** The bench understands its command line, or says by name what it does not. */

import { expect, test } from "bun:test";

import { helpText, readArguments, scenarioNames } from "#scripts/bench/arguments.ts";
import { advice, missing, needsOf } from "#scripts/bench/needs.ts";

test("a line without words asks for everything, as each scenario takes it", () => {
  expect(readArguments([])).toEqual({
    arguments: {
      seconds: undefined,
      rows: undefined,
      only: undefined,
      attacks: undefined,
      json: false,
      against: undefined,
      turns: 2,
    },
  });
});

test("every argument is read, and scenarios run in their order whatever order they are named in", () => {
  const words = [
    "--only=mixed,software",
    "--seconds=2",
    "--rows=1000",
    "--json",
    "--attacks=orders,keys",
  ];
  expect(readArguments([...words, "--against=/tmp/other", "--turns=3"])).toEqual({
    arguments: {
      seconds: 2,
      rows: 1000,
      only: ["software", "mixed"],
      attacks: ["orders", "keys"],
      json: true,
      against: "/tmp/other",
      turns: 3,
    },
  });
});

test.each([
  ["--speed=3", "There is no argument --speed"],
  ["mixed", '"mixed" is no argument'],
  ["-h", '"-h" is no argument'],
  ["--seconds", "--seconds needs a value"],
  ["--seconds=", "--seconds needs a value"],
  ["--seconds=0", "--seconds must be a whole number of at least 1."],
  ["--seconds=1.5", "--seconds must be a whole number of at least 1."],
  ["--rows=many", "--rows must be a whole number of at least 1."],
  ["--turns=-1", "--turns must be a whole number of at least 1."],
  ["--attacks=keys,none", "--attacks must be some of keys, csr"],
  ["--json=yes", "--json takes no value."],
  ["--toString=1", "There is no argument --toString"],
  ["--only=toString", 'There is no scenario "toString"'],
])("%s is refused by its name", (word, sentence) => {
  const told = readArguments([word]);
  expect("refused" in told && told.refused).toContain(sentence);
});

test("an argument that is given twice is refused", () => {
  expect(readArguments(["--seconds=1", "--seconds=2"])).toEqual({
    refused: "--seconds is given twice.",
  });
});

test("a scenario that does not exist is refused with the names of those that do", () => {
  const told = readArguments(["--only=floors,speed"]);
  const refused = "refused" in told ? told.refused : "";
  expect(refused).toContain('There is no scenario "speed"');
  for (const name of Object.keys(scenarioNames)) expect(refused).toContain(name);
});

test("the help names every argument and every scenario, without colours", async () => {
  const text = await helpText();
  const names = ["seconds", "only", "against", "turns", "rows", "json", "help"];
  for (const name of names) expect(text).toContain(`--${name}`);
  for (const name of Object.keys(scenarioNames)) expect(text).toContain(`  ${name} `);
  expect(text).not.toContain("\u001b");
  expect(readArguments(["--help"])).toEqual({ help: true });
});

test("a run needs what its scenarios need, and no more", () => {
  const commands = (names: Parameters<typeof needsOf>[0]) =>
    needsOf(names).map(({ command }) => command);
  expect(commands(["floors"])).toEqual(["wrk", "openssl"]);
  expect(commands(["softhsm", "postgres"])).toEqual(["wrk", "openssl", "softhsm2-util", "psql"]);
  expect(advice(needsOf(["softhsm"]))).toBe("apt-get install wrk openssl softhsm2");
});

test("a binary that is not there is named before anything starts", () => {
  expect(missing(["floors"], "/nowhere/pkid")).toBe(
    "There is no /nowhere/pkid: build it with scripts/build.",
  );
});
