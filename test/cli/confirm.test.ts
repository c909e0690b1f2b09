/** What is lost for good is asked for first: by a person at the terminal, or by `--yes` (OUT-2). */

import { describe, expect, test } from "bun:test";

import { confirmed } from "#cli/confirm.ts";
import { nouns } from "#cli/commands.ts";
import type { Noun } from "#cli/command.ts";
import { shell } from "#test/support/instances/shell.ts";

const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
const destructive = [
  `ca delete ${id}`,
  `ca retire ${id} --force`,
  "hsm factory-reset --confirm 1",
  "passkeys reset alice",
  "tenant delete web",
];

test("no other command destroys, and each that does says what", () => {
  const asking = Object.entries(nouns).flatMap(([name, noun]) => destroyers(name, noun));
  expect(asking.map(([path]) => path).sort()).toEqual([
    "ca delete",
    "ca retire",
    "hsm factory-reset",
    "passkeys reset",
    "tenant delete",
  ]);
  for (const [, sentence] of asking) expect(sentence).toMatch(/ for good.*\.$/);
});

describe.each(destructive)("%s", (line) => {
  const argv = line.split(" ");

  test("where nobody can be asked needs --yes, else it is a usage error and asks the server nothing", async () => {
    const refused = await shell(argv);
    expect(refused).toMatchObject({ code: 2, stdout: "", asked: [] });
    expect(refused.stderr).toMatch(/ for good.* --yes /);
    const json = await shell([...argv, "--json"]);
    expect([json.code, JSON.parse(json.stderr).code]).toEqual([2, "usage"]);
    const meant = await shell([...argv, "--yes"]);
    expect([meant.code, meant.asked.length]).toEqual([0, 1]);
  });

  test("on a terminal is done after yes, and after nothing else", async () => {
    for (const typed of ["", "no", "y", "YES", "yes please"]) {
      const refused = await shell(argv, { typed });
      expect(refused).toMatchObject({ code: 1, stdout: "", asked: [] });
      expect(refused.stderr).toContain("Nothing was done.");
    }
    const done = await shell(argv, { typed: "yes" });
    expect([done.code, done.asked.length]).toEqual([0, 1]);
    const named = line.replace(/ --.*/, "");
    expect(done.stderr).toContain(`pkid ${named}: `);
    expect((await shell([...argv, "--yes"], { typed: "no" })).code).toBe(0);
  });

  test("explains itself without asking", async () => {
    const { code, stdout } = await shell([...argv, "--help"]);
    expect([code, stdout.includes("It asks first; --yes goes on without.")]).toEqual([0, true]);
  });
});

test("a brake asks nothing", async () => {
  const brakes = [
    `revoke cert 12 --ca ${id}`,
    `revoke suspend 12 --ca ${id}`,
    `token revoke ${id}`,
    `sessions end ${id}`,
    "tenant suspend web",
    `keys block add --fingerprint a --reason b`,
  ];
  for (const line of brakes) expect([line, (await shell(line.split(" "))).code]).toEqual([line, 0]);
});

test("what is asked cannot drive the terminal", async () => {
  const asked: string[] = [];
  const ask = async (question: string) => {
    asked.push(question);
    return "yes";
  };
  const line = ["pkid", "tenant", "delete", "a\u001b[2K\u202eb"];
  await confirmed(line, { destroys: "Gone for good." }, false, { ask });
  expect(asked).toEqual([
    "pkid tenant delete a\ufffd[2K\ufffdb: Gone for good. Type yes to go on: ",
  ]);
});

const destroyers = (path: string, noun: Noun): (readonly [string, string])[] => {
  if ("verbs" in noun) {
    return Object.entries(noun.verbs).flatMap(([verb, of]) => destroyers(`${path} ${verb}`, of));
  }
  return noun.destroys === undefined ? [] : [[path, noun.destroys]];
};
