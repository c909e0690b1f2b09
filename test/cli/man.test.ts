/** The manual page has every command and flag, and groff takes it without a warning. */

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { flagsOf } from "#cli/args.ts";
import type { Command, Noun } from "#cli/command.ts";
import { nouns } from "#cli/commands.ts";
import { ran } from "#test/support/child.ts";
import { shell } from "#test/support/instances/shell.ts";

const groff = Bun.which("groff");

const commandsOf = (path: string, noun: Noun): readonly (readonly [string, Command])[] =>
  "verbs" in noun
    ? Object.entries(noun.verbs).flatMap(([verb, one]) => commandsOf(`${path} ${verb}`, one))
    : [[path, noun]];

test.skipIf(groff === null)(
  "groff renders it without a warning, with every command and flag",
  async () => {
    const { code, stdout, stderr } = await shell(["man"]);
    expect([code, stderr]).toEqual([0, ""]);
    const folder = mkdtempSync(join(tmpdir(), "pkid-man-"));
    try {
      const file = join(folder, "pkid.1");
      writeFileSync(file, stdout);
      // Wide lines, so that no name is broken; no colours, so that names are plain.
      const rendered = await ran([
        "groff",
        "-man",
        "-Tutf8",
        "-ww",
        "-rLL=400n",
        "-P-c",
        "-P-bou",
        file,
      ]);
      expect([rendered.code, rendered.stderr]).toEqual([0, ""]);
      const headings = rendered.stdout.match(/^[A-Z][A-Z ]+$/gm) ?? [];
      for (const title of [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "COMMANDS",
        "EXIT STATUS",
        "FILES",
        "ENVIRONMENT",
      ]) {
        expect(headings).toContain(title);
      }
      for (const [path, command] of Object.entries(nouns).flatMap(([name, noun]) =>
        commandsOf(name, noun),
      )) {
        const section = rendered.stdout.split(
          new RegExp(`^ +pkid ${path}(?: [<[][a-z]+[>\\]])?$`, "m"),
        )[1];
        expect([path, section === undefined]).toEqual([path, false]);
        for (const { written } of flagsOf(command.args)) {
          expect([path, section?.includes(` ${written}`)]).toEqual([path, true]);
        }
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test("what roff would take for a request or an escape is shown as it is", async () => {
  const { stdout } = await shell(["man"]);
  const lines = stdout.split("\n").filter((line) => line !== "");
  const requests = lines
    .filter((line) => /^[.']/.test(line))
    .map((line) => line.split(" ")[0] ?? "");
  expect([...new Set(requests)].sort()).toEqual([".B", ".I", ".PP", ".SH", ".SS", ".TH", ".TP"]);
  expect(stdout).not.toMatch(/[^\n -~]/);
});

test("with --json it is one document", async () => {
  const { stdout } = await shell(["man", "--json"]);
  expect(JSON.parse(stdout).man).toStartWith(".TH PKID 1");
});
