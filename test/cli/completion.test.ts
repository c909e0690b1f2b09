/** Completion scripts know every command and flag, and are accepted by their shells. */

import { describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { nouns } from "#cli/commands.ts";
import { ran } from "#test/support/child.ts";
import { shell } from "#test/support/instances/shell.ts";

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

  test("completes the values of a flag that takes few", async () => {
    expect(await completed("revoke", "cert", "--reason", "key")).toEqual(["keyCompromise"]);
    expect(await completed("init", "--database", "")).toEqual(["sqlite", "postgres"]);
    expect(await completed("ca", "rotate", "issuing", "--key-type", "ecdsa-p2")).toEqual([
      "ecdsa-p256",
    ]);
    expect(await completed("revoke", "cert", "--reason", "x", "--ca")).toEqual(
      expect.arrayContaining(["--ca"]),
    );
  });

  test("offers files where nothing else fits", async () => {
    expect(await completed("cert", "inspect", "/etc/passw")).toContain("/etc/passwd");
  });
});

/** The script in a file of its own. */
async function saved(name: string): Promise<string> {
  const file = join(mkdtempSync(join(tmpdir(), "pkid-completion-")), `pkid.${name}`);
  writeFileSync(file, await script(name));
  return file;
}

describe("zsh", () => {
  /** What becomes of each line when somebody types it at a terminal, presses Tab and then Enter. */
  const entered = async (...lines: string[]) => {
    const folder = mkdtempSync(join(tmpdir(), "pkid-zsh-"));
    const driver = join(folder, "driver.zsh");
    const person = join(folder, "person.zsh");
    writeFileSync(driver, zshDriver);
    writeFileSync(person, zshPerson(await saved("zsh"), join(folder, "dump")));
    const { code, stdout, stderr } = await ran(["zsh", "-f", driver, person].concat(lines));
    expect([code, stderr]).toEqual([0, ""]);
    return [...stdout.matchAll(/<pkid (.*) end>/g)].map(([, words]) => words);
  };

  test("completes nouns, verbs and flags from what stands before", async () => {
    const typed = ["pkid rev", "pkid cert needs", "pkid cert issue --key-o", "pkid keys kek ro"];
    expect(await entered("pkid revoke cert --reason keyC")).toEqual([
      "revoke cert --reason keyCompromise",
    ]);
    expect(await entered(...typed)).toEqual([
      "revoke",
      "cert needs-renewal",
      "cert issue --key-out",
      "keys kek rotate",
    ]);
  });

  test("goes as far as several have in common, and no further", async () => {
    expect(await entered("pkid cert issue --key", "pkid nothing")).toEqual([
      "cert issue --key-",
      "nothing",
    ]);
  });

  test("offers files where nothing else fits", async () => {
    expect(await entered("pkid cert inspect /etc/passw")).toEqual(["cert inspect /etc/passwd"]);
  });
});

describe("fish", () => {
  const completed = async (line: string) => {
    const home = mkdtempSync(join(tmpdir(), "pkid-fish-"));
    const words = ["fish", "-N", "-c", `source ${await saved("fish")}; complete -C '${line}'`];
    const { code, stdout, stderr } = await ran(words, { env: { HOME: home } });
    expect([code, stderr]).toEqual([0, ""]);
    return stdout.trim().split("\n");
  };

  test("completes nouns, verbs and flags from what stands before", async () => {
    expect(await completed("pkid rev")).toEqual(["revoke"]);
    expect(await completed("pkid cert iss")).toEqual(["issue", "issue-bulk"]);
    expect(await completed("pkid cert issue --key")).toEqual(["--key-out", "--key-type"]);
    expect(await completed("pkid cert issue --ca root --da")).toEqual(["--data-dir"]);
    expect(await completed("pkid keys kek ro")).toEqual(["rotate"]);
    expect(await completed("pkid revoke cert --reason keyC")).toEqual(["keyCompromise"]);
    expect(await completed("pkid init --database ")).toEqual(
      expect.arrayContaining(["postgres", "sqlite"]),
    );
    expect(await completed("pkid ")).toEqual(expect.arrayContaining(Object.keys(nouns)));
  });

  test("offers files where nothing else fits", async () => {
    expect(await completed("pkid cert inspect /etc/passw")).toContain("/etc/passwd");
  });
});

test("zsh and fish know every command too", async () => {
  for (const name of ["zsh", "fish"]) {
    const text = await script(name);
    for (const noun of Object.keys(nouns)) expect(text).toContain(noun);
    expect(text).toContain("--key-out");
  }
});

test("another shell is a usage error", async () => {
  expect(await shell(["completion", "tcsh"])).toMatchObject({ code: 2, stdout: "" });
});

/** Of the shell at the terminal: completion, and a pkid that says what it was called with. */
const zshPerson = (completion: string, dump: string): string => `
PS1= RPS1=
unset zle_bracketed_paste
autoload -Uz compinit && compinit -u -d ${dump}
source ${completion}
pkid() { print -r -- "<pkid $* end>" }
`;

/**
 * Types at a shell of its own; the first argument is what that shell reads first, the others are
 * lines.
 */
const zshDriver = String.raw`
zmodload zsh/zpty
zpty at zsh -f -i
zpty -w at "source $1; print READ''Y"
zpty -r at said '*READY*'
shift
for line in "$@"; do
  zpty -w -n at "$line"$'\t'
  sleep 0.3
  zpty -w -n at $'\n'
  zpty -r at said '*<pkid*end>*'
  print -r -- "$said"
done
zpty -d at
exit 0
`;
