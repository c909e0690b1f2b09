/** The manual is read by chapters, and everything it quotes is there. */

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { manualChapters } from "#app/manual.ts";
import { metricTable } from "#adapters/telemetry/metrics.ts";
import { type Args, flagsOf, globalArgs } from "#cli/args.ts";
import type { Noun } from "#cli/command.ts";
import { nouns } from "#cli/commands.ts";
import { checkComplete, readLine } from "#cli/line.ts";
import { codeColumns } from "#cli/manual-text.ts";
import { controlVariables, variableOf } from "#config/environment.ts";
import { loadConfig } from "#config/load.ts";
import { configSchema } from "#config/schema.ts";
import { leaves } from "#config/section.ts";
import { challengeTypes } from "#core/acme/challenges.ts";
import { grantRoles, roles } from "#core/access/roles.ts";
import { actions } from "#core/audit/actions.ts";
import { type Block, type Chapter, parseMarkdown, spansOf } from "#core/manual/markdown.ts";
import { checkNames } from "#core/preflight/checks.ts";
import { problems } from "#core/problems.ts";
import { revocationReasons } from "#core/x509/reasons.ts";
import { stages } from "#domain/canary/stages.ts";
import { operations } from "#operations";
import { shell } from "#test/support/instances/shell.ts";

const chapters = manualChapters();
const root = resolve(import.meta.dir, "../..");

describe("pkid manual", () => {
  test("tells the chapters, with --list and without a chapter", async () => {
    const listed = await shell(["manual", "--list"]);
    expect(listed.code).toBe(0);
    for (const { name, title } of chapters) {
      expect(listed.stdout).toContain(`  ${name}`);
      expect(listed.stdout).toContain(title);
    }
    expect((await shell(["manual"])).stdout).toBe(listed.stdout);
    const { chapters: rows } = JSON.parse((await shell(["manual", "--json"])).stdout);
    expect(rows).toEqual(chapters.map(({ name, title }) => ({ name, title })));
  });

  test("prints a chapter in lines of at most 80 columns, without control characters", async () => {
    for (const { name } of chapters) {
      const { code, stdout } = await shell(["manual", name]);
      expect(code).toBe(0);
      expect(stdout.split("\n").filter((line) => Bun.stringWidth(line) > 80)).toEqual([]);
      expect(stdout).not.toMatch(/[^\n -\uffff]/);
    }
  });

  test("prints all chapters, and one as a document", async () => {
    const all = await shell(["manual", "--all"]);
    expect(all.stdout).toStartWith((await shell(["manual", "start"])).stdout);
    const one = JSON.parse((await shell(["manual", "hsm", "--json"])).stdout);
    expect(one).toEqual(chapters.find(({ name }) => name === "hsm"));
  });

  test("suggests the nearest chapter for a wrong one, and says where they are listed", async () => {
    const near = await shell(["manual", "incidnet"]);
    expect([near.code, near.stdout]).toEqual([2, ""]);
    expect(near.stderr).toBe("error: There is no chapter incidnet. Did you mean incident?\n");
    const far = await shell(["manual", "zzzzzzzzzz"]);
    expect(far.stderr).toContain("pkid manual --list tells them.");
    expect((await shell(["manual", "hsm", "--all"])).code).toBe(2);
    expect((await shell(["manual", "hsm", "--list"])).code).toBe(2);
    expect((await shell(["manual", "hsm", "disk"])).code).toBe(2);
  });
});

describe("what the manual quotes is there", () => {
  const blocks = chapters.flatMap((chapter) =>
    parseMarkdown(chapter.markdown).map((block) => ({ chapter, block })),
  );

  test("each command, with its words, flags and values", () => {
    const lines = blocks.flatMap(({ block }) => [...shellLines(block), ...quotedCommands(block)]);
    expect(lines.length).toBeGreaterThan(120);
    expect(lines.map(faultOf).filter((fault) => fault !== undefined)).toEqual([]);
    expect(faultOf("pkid cert revoke x")).toContain("cert revoke");
    expect(faultOf("pkid crl get --ca issuing --dleta")).toContain("--dleta");
    expect(faultOf("pkid manual nothing")).toContain("nothing");
    expect(faultOf("pkid preflight --only disk.spcae")).toContain("disk.spcae");
  });

  test("each configuration loads", () => {
    for (const { chapter, block } of blocks) {
      if (block.kind !== "code" || block.language !== "yaml") continue;
      const text = block.lines.join("\n");
      const env = { PKID_SERVER_PUBLIC_URL: "https://pki.example.com" };
      const readFile = () => "";
      const loaded = loadConfig({ file: { name: chapter.name, text }, env, host: "h", readFile });
      const faults = loaded.ok ? [] : loaded.faults;
      expect({ text, faults: faults.filter(({ sentence }) => !/^Needs /.test(sentence)) }).toEqual({
        text,
        faults: [],
      });
    }
  });

  test("each key, variable, endpoint, metric, event, check, code, role and file", () => {
    const unknown = blocks.flatMap(({ chapter, block }) =>
      quoted(block)
        .filter((text) => !text.startsWith("pkid ") && !known.has(text))
        .map((text) => `${chapter.name}: ${text}`),
    );
    expect(unknown).toEqual([]);
    for (const wrong of ["server.public_uri", "pki_nothing_total", "/api/nothing", "cert.eat"]) {
      expect(known.has(wrong)).toBe(false);
    }
  });

  test("blocks of code fit beside their indentation and are of a known language", () => {
    for (const { block } of blocks) {
      if (block.kind !== "code") continue;
      expect(["sh", "yaml", "ini"]).toContain(block.language);
      expect(block.lines.filter((line) => line.length > codeColumns)).toEqual([]);
    }
  });

  test("nothing is written in Markdown that is not rendered", () => {
    const prose = blocks.flatMap(({ block }) => textsOf(block)).flatMap(spansOf);
    const words = prose.filter(({ code }) => !code).map(({ text }) => text);
    expect(words.filter((text) => /[`*|]|\]\(|^#|^>|<[a-z]/.test(text))).toEqual([]);
  });
});

function textsOf(block: Block): readonly string[] {
  if (block.kind === "code") return [];
  return "items" in block ? block.items : [block.text];
}

const quoted = (block: Block): readonly string[] =>
  textsOf(block)
    .flatMap(spansOf)
    .filter(({ code }) => code)
    .map(({ text }) => text);

const quotedCommands = (block: Block) => quoted(block).filter((text) => text.startsWith("pkid "));

function shellLines(block: Block): readonly string[] {
  if (block.kind !== "code" || block.language !== "sh") return [];
  return block.lines
    .join("\n")
    .replace(/\\\n\s*/g, "")
    .split("\n")
    .flatMap((line) => line.split(/ (?:\||&&) /));
}

/** What is wrong with a line of the shell; undefined for one that would be taken. */
function faultOf(line: string): string | undefined {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, inside, bare]) => inside ?? bare ?? "",
  );
  if (words[0] !== "pkid") return programs.has(words[0] ?? "") ? undefined : `no program ${line}`;
  const rest = words.slice(1);
  if (rest[0] === "version") return undefined;
  let found: Noun = { summary: "", verbs: nouns };
  const path: string[] = [];
  while ("verbs" in found) {
    const word = rest.shift() ?? "";
    path.push(word);
    const next: Noun | undefined = Object.hasOwn(found.verbs, word) ? found.verbs[word] : undefined;
    if (next === undefined) return `no command ${path.join(" ")}`;
    found = next;
  }
  try {
    const read = readLine(rest, { ...globalArgs, ...found.args } as Args);
    checkComplete(read, path.join(" "), found.args);
    if (path[0] === "manual")
      mustBeIn(
        chapters.map(({ name }) => name),
        read.words,
      );
    if (path[0] === "preflight")
      mustBeIn(checkNames, (read.given.get("--only")?.[0] ?? "").split(","));
    return undefined;
  } catch (error) {
    return `${line}: ${error instanceof Error ? error.message : error}`;
  }
}

function mustBeIn(names: readonly string[], words: readonly string[]): void {
  const strange = words.find((word) => word !== "" && !names.includes(word));
  if (strange !== undefined) throw new Error(`nobody knows ${strange}`);
}

const source = (folder: string): readonly string[] =>
  [...new Bun.Glob("**/*.ts").scanSync(join(root, folder))].map((path) =>
    readFileSync(join(root, folder, path), "utf8"),
  );

const logEvents = source("src").flatMap((text) =>
  [
    ...text.matchAll(/\.write\(\s*"(?:debug|info|warn|error)",\s*"([a-z_]+)"/g),
    ...text.matchAll(/failures\.(?:fail|recover)\((?:"[a-z_]+", )?"([a-z_]+)"/g),
  ].map(([, name = ""]) => name),
);

const allFlags = (noun: Noun): readonly string[] =>
  "verbs" in noun
    ? Object.values(noun.verbs).flatMap(allFlags)
    : flagsOf(noun.args).map(({ written }) => written);

const keys = leaves(configSchema).flatMap(({ path, field }) =>
  field.source ? [path, `${path}_source`] : [path],
);

/** Programs the lines of the manual use beside pkid. */
const programs = new Set(
  "apt-get softhsm2-util install printf curl df du systemctl mv cp timedatectl".split(" "),
);

/** Files of a data directory, and what else has a name outside the tables. */
const files =
  "root-password pkid.db pkid.db-wal pkid.db-shm pkid.db-reserve pkid.db.before- access-log.db keys private identity master.key";
const others =
  "PKID_CERT_FILE PKID_KEY_FILE BUN_TMPDIR profiles root database hsm postgres://pkid:secret@db.example.com/pkid";

const known: ReadonlySet<string> = new Set([
  ...keys,
  ...keys.map(variableOf),
  ...controlVariables,
  ...Object.values(operations).map(({ route }) => route.split(" ")[1] ?? ""),
  "/console/",
  ...Object.keys(metricTable),
  ...Object.keys(actions),
  ...logEvents,
  ...checkNames,
  ...stages,
  ...Object.keys(challengeTypes),
  ...Object.keys(problems),
  ...roles,
  ...grantRoles,
  ...Object.keys(revocationReasons),
  ...Object.values(nouns).flatMap(allFlags),
  ...flagsOf(globalArgs).map(({ written }) => written),
  ...files.split(" "),
  ...others.split(" "),
]);

test("a file in the folder is a chapter: nothing else is needed to add one", () => {
  const folder = join(root, "src/manual");
  const found = [...new Bun.Glob("*.md").scanSync(folder)].sort();
  const names = found.map((file) => file.replace(/^\d+-(.*)\.md$/, "$1"));
  expect(chapters.map(({ name }: Chapter) => name)).toEqual(names);
});
