/** Completion scripts know every command and flag, and are accepted by their shells. */

import { describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { nouns } from "#cli/commands.ts";
import { ran } from "#test/support/child.ts";
import { shell } from "#test/support/shell.ts";

const script = async (name: string) => (await shell(["completion", name])).stdout;

describe("bash", () => {
  const completed = async (...words: string[]) => {
    const file = join(mkdtempSync(join(tmpdir(), "pkid-completion-")), "pkid.bash");
    writeFileSync(file, await script("bash"));
    const quoted = ["pkid", ...words].map((word) => `'${word}'`).join(" ");
    const line = `source ${file}; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _pkid; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { code, stdout, stderr } = await ran(["bash", "-euc", line]);
    expect([code, stderr]).toEqual([0, ""]);
    return stdout.trim().split("\n");
  };

  test("completes nouns, verbs and flags from what stands before", async () => {
    expect((await completed("")).sort()).toEqual(Object.keys(nouns).sort());
    expect(await completed("rev")).toEqual(["revoke"]);
    expect(await completed("cert", "iss")).toEqual(["issue", "issue-bulk"]);
    expect(await completed("cert", "issue", "--key")).toEqual(["--key-out", "--key-type"]);
    expect(await completed("cert", "issue-bulk", "--man")).toEqual(["--manifest"]);
    expect(await completed("cert", "issue", "--ca", "root", "--da")).toEqual(["--data-dir"]);
    expect(await completed("keys", "kek", "ro")).toEqual(["rotate"]);
    expect(await completed("completion", "--js")).toEqual(["--json"]);
  });

  test("offers files where nothing else fits", async () => {
    expect(await completed("cert", "inspect", "/etc/passw")).toContain("/etc/passwd");
  });
});

test("zsh and fish know the same commands", async () => {
  for (const name of ["zsh", "fish"]) {
    const text = await script(name);
    for (const noun of Object.keys(nouns)) expect(text).toContain(noun);
    expect(text).toContain("--key-out");
    if (Bun.which(name) === null) continue;
    expect(await ran([name, "-n", "/dev/stdin"], { stdin: text })).toMatchObject({ code: 0 });
  }
});

test("another shell is a usage error", async () => {
  expect(await shell(["completion", "tcsh"])).toMatchObject({ code: 2, stdout: "" });
});
