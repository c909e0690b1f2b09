/** The frame of the command line: usage, exit codes, outputs, help (OUT-1). */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { nouns } from "#cli/commands.ts";
import { type Args, flagsOf, globalArgs } from "#cli/args.ts";
import type { Noun } from "#cli/command.ts";
import { commandHelp, nounHelp, rootHelp } from "#cli/help.ts";
import { expectGolden } from "#test/support/golden.ts";
import { shell } from "#test/support/instances/shell.ts";

// biome-ignore format: the table is read by column.
const usages = [
  ["an unknown noun",            ["crt"],                                  "error: There is no command crt. Did you mean cert?"],
  ["a word of the language",     ["constructor"],                          "error: There is no command constructor."],
  ["a verb of the language",     ["ca", "__proto__"],                      "error: There is no command ca __proto__."],
  ["an unknown verb",            ["ca", "lst"],                            "error: There is no command ca lst. Did you mean list?"],
  ["an unknown flag",            ["ca", "list", "--statsu", "x"],          "error: There is no flag --statsu. Did you mean --status?"],
  ["the inverse of a switch",    ["ca", "list", "--no-json"],              "error: There is no flag --no-json. Did you mean --json?"],
  ["a switch written upright",   ["quickstart", "--serve"],                "error: There is no flag --serve. Did you mean --no-serve?"],
  ["another spelling",           ["ca", "chain", "a", "--dataDir", "x"],   "error: There is no flag --dataDir. Did you mean --data-dir?"],
  ["an unknown flag alone",      ["--jsno"],                               "error: There is no flag --jsno. Did you mean --json?"],
  ["an unknown short flag",      ["ca", "list", "-x"],                     "error: There is no flag -x."],
  ["a missing word",             ["ca", "show"],                           "error: <ca> is missing: pkid ca show <ca>."],
  ["a word too many",            ["ca", "show", "a", "b"],                 'error: "b" is one argument too many.'],
  ["a missing flag",             ["cert", "issue", "--ca", "a"],           "error: --csr <file> is required."],
  ["a missing value",            ["ca", "list", "--status"],               "error: --status needs a value: --status <status>."],
  ["a flag in place of a value", ["ca", "list", "--status", "--json"],     "--status needs a value"],
  ["a value on a switch",        ["ca", "list", "--all=yes"],              "error: --all takes no value."],
  ["a flag given twice",         ["ca", "list", "--limit", "1", "--limit", "2"], "error: --limit is given twice."],
  ["a value in another's place", ["ca", "--status", "active", "list"],     "error: There is no command ca active."],
  ["an empty required value",    ["cert", "issue", "--ca="],               "error: --ca <ca> is required."],
  ["a number that is none",      ["ca", "list", "--limit", "ten"],         "error: --limit must be a whole number."],
  ["a duration that is none",    ["ca", "list", "--timeout", "soon"],      "error: --timeout: Must be a duration"],
  ["a local command with --url", ["crl", "publish", "--ca", "a", "--url", "https://pki.test"], "error: pkid crl publish runs on this machine only; leave --url out."],
  ["a remote address in clear",  ["ca", "list", "--url", "http://pki.test"], "error: The server's address must be https, or http on this machine."],
  ["no roles for a token",       ["token", "create", "--name", "a"],       "error: --roles <role> is required."],
  ["a serial that is none",      ["ocsp", "check", "--ca", uuid(), "xyz"], "error: xyz is not a certificate serial."],
  ["an unknown database",        ["init", "--database", "oracle"],         "error: --database must be sqlite or postgres."],
] as const;

describe("exit 2, nothing on stdout, nothing asked", () => {
  test.each(usages)("for %s", async (_what, argv, sentence) => {
    const { code, stdout, stderr, asked } = await shell(argv);
    expect(stderr).toContain(sentence);
    expect({ code, stdout, asked }).toEqual({ code: 2, stdout: "", asked: [] });
  });

  test("with --json the usage error is one JSON document on stderr", async () => {
    const { code, stdout, stderr } = await shell(["ca", "lst", "--json"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({ code: "usage" });
  });

  test("a noun without its verb shows the verbs on stderr", async () => {
    const { code, stdout, stderr } = await shell(["ca"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("ca init-root");
  });
});

describe("refusals", () => {
  const refused = () =>
    Response.json(
      {
        error: "The CA is not active.",
        code: "ca_not_active",
        request_id: "r1",
        status: "retired",
      },
      { status: 409 },
    );

  test("the server's sentence, code, request id and facts go to stderr, exit 1", async () => {
    const argv = ["crl", "status", "--ca", uuid()];
    const { code, stdout, stderr } = await shell(argv, { answers: refused });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      "error: The CA is not active. (ca_not_active, request r1)\n  status: retired\n",
    );
  });

  test("with --json the error body goes to stderr unchanged", async () => {
    const argv = ["crl", "status", "--ca", uuid(), "--json"];
    const { code, stdout, stderr } = await shell(argv, { answers: refused });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(JSON.parse(stderr)).toEqual(await refused().json());
  });

  test("a parked operation exits 1 and names the approval", async () => {
    const answers = () => Response.json({ approval_id: "apr_1" }, { status: 202 });
    const { code, stderr } = await shell(["crl", "publish", "--ca", uuid()], { answers });
    expect(code).toBe(1);
    expect(stderr).toContain("waits for approval apr_1");
  });

  test("an answer that is not pkid's is a failure, not a crash", async () => {
    for (const response of ["<html>", "null", "[]"]) {
      const answers = () => new Response(response, { status: 502 });
      const { code, stderr } = await shell(["ca", "list"], { answers });
      expect(code).toBe(1);
      expect(stderr).toStartWith("error: The server answered 502");
    }
  });

  test("every fault of the configuration is told, one line each", async () => {
    const env = { PKID_SERVER_PORT: "x", PKID_LOG_LEVEL: "y" };
    const { code, stdout, stderr } = await shell(["ca", "list"], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      "config: server.port: Must be a whole number.\nconfig: log.level: Must be one of debug, info, warn, error.\n",
    );
  });

  test("text of the server cannot drive the terminal", async () => {
    const items = [{ id: "1", label: "a\u001b[31m\n\u202eb", status: "active" }];
    const { stdout } = await shell(["ca", "list"], { answers: () => ({ items }) });
    for (const character of ["\u001b", "\u202e"]) expect(stdout).not.toContain(character);
    expect(stdout.split("\n")).toHaveLength(3);
  });

  test("nor can what a note or a failure repeats of it", async () => {
    const parked = () => Response.json({ approval_id: "apr_\u001b]0;a\u0007" }, { status: 202 });
    const labels = () => ({ items: [{ id: "1", label: "roo\u001b[2J" }] });
    for (const [answers, ...argv] of [
      [parked, "crl", "publish", "--ca", uuid()],
      [labels, "ca", "show", "roo[2J"],
      [() => ({ serial: "1\u009b2J", certificate: "" }), "cert", "renew", "7", "--ca", uuid()],
    ] as const) {
      const { stderr } = await shell(argv, { answers });
      expect(stderr).toContain("\ufffd");
      expect(stderr.trimEnd()).not.toMatch(/\p{Cc}/u);
    }
  });
});

describe("help", () => {
  test("every page is the one people reviewed", () => {
    const pages = [
      rootHelp(nouns),
      ...Object.entries(nouns).flatMap(([name, noun]) => pagesOf(name, noun)),
    ];
    expectGolden("cli-help.txt", pages.join(`${"-".repeat(80)}\n`));
  });

  test("is the same by flag and by word, on stdout, exit 0", async () => {
    const byFlag = await shell(["cert", "issue", "--help"]);
    const byWord = await shell(["help", "cert", "issue"]);
    expect(byFlag).toEqual(byWord);
    expect(byFlag.code).toBe(0);
    expect(byFlag.stdout).toStartWith("Issue a certificate for a request.");
    expect((await shell(["--help"])).stdout).toBe(rootHelp(nouns));
  });

  test("no page and no table carries colour", async () => {
    expect((await shell(["--help"], { env: { FORCE_COLOR: "1" } })).stdout).not.toContain("\u001b");
  });
});

test("the version is one line, or one document", async () => {
  expect((await shell(["--version"])).stdout).toBe("pkid 1.2.3 (abc, bun 1, schema 7)\n");
  expect(JSON.parse((await shell(["--version", "--json"])).stdout)).toEqual({
    version: "1.2.3",
    commit: "abc",
    runtime: "bun 1",
    schema_version: 7,
  });
});

test("global flags may stand before, between and after the words", async () => {
  for (const argv of [
    ["--json", "ca", "list"],
    ["ca", "--timeout", "5s", "--json", "list"],
    ["ca", "list", "--json"],
  ]) {
    const { code, stdout } = await shell(argv, { answers: () => ({ items: [] }) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"items":[]}\n' });
  }
});

test("any command line ends with 0, 1 or 2, and a wrong one says nothing on stdout", async () => {
  // Commands that write files or start a server are left out.
  const safe = Object.entries(nouns).filter(
    ([name]) => !["init", "quickstart", "serve"].includes(name),
  );
  const known = safe.flatMap(([name, noun]) => wordsAndFlags(name, noun));
  const outputs = new Set(["--out"]);
  const word = fc.oneof(
    fc.constantFrom(...known.filter((one) => !outputs.has(one)), ...dashed(globalArgs), uuid()),
    fc.string({ maxLength: 8 }).filter((text) => !text.startsWith("--out")),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (argv) => {
      const { code, stdout } = await shell(argv, { answers: () => ({ items: [] }) });
      expect([0, 1, 2]).toContain(code);
      if (code === 2) expect(stdout).toBe("");
    }),
    { numRuns: 500 },
  );
});

const pagesOf = (path: string, noun: Noun): string[] =>
  "verbs" in noun
    ? [
        nounHelp(path, noun.summary, noun.verbs),
        ...Object.entries(noun.verbs).flatMap(([verb, of]) => pagesOf(`${path} ${verb}`, of)),
      ]
    : [commandHelp(path, noun)];

const wordsAndFlags = (name: string, noun: Noun): string[] =>
  "verbs" in noun
    ? [name, ...Object.entries(noun.verbs).flatMap(([verb, of]) => wordsAndFlags(verb, of))]
    : [name, ...dashed(noun.args)];

const dashed = (args: Args): string[] => flagsOf(args).map(({ written }) => written);

function uuid(): string {
  return "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
}

test("a refusal whose facts are lists of objects is told in words", async () => {
  const logs = [
    { log: "a", ok: true },
    { log: "b", ok: false, error: "timeout" },
  ];
  const body = { error: "Too few.", code: "ct_policy_unmet", request_id: "r", logs };
  const refused = await shell(["ca", "list"], {
    answers: () => Response.json(body, { status: 400 }),
  });
  expect(refused.stderr).toContain("logs: log=a ok=true,log=b ok=false error=timeout");
});

test("a mistyped version or help is answered with the word that was meant", async () => {
  for (const [typed, meant] of [
    ["versoin", "version"],
    ["hepl", "help"],
  ] as const) {
    const { code, stderr } = await shell([typed]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`Did you mean ${meant}?`)]);
  }
});
