/**
 * `cert export` and `cert needs-renewal`: what is done with certificate files on this machine
 * alone.
 */

import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

import { instant } from "#core/time.ts";
import { renewalDue } from "#cli/renewal.ts";
import { ran } from "#test/support/child.ts";
import { shell } from "#test/support/instances/shell.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-files-"));
const at = (name: string) => join(folder, name);

beforeAll(async () => {
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  await run(`openssl req -x509 ${key} -subj /CN=CA -keyout ca.key -out ca.pem -days 90`);
  await run(`openssl req -new ${key} -subj /CN=leaf -keyout leaf.key -out leaf.csr`);
  const signing = "-CA ca.pem -CAkey ca.key -set_serial 7 -days 90";
  await run(`openssl x509 -req -in leaf.csr ${signing} -out leaf.pem`);
  await run(`openssl x509 -req -in leaf.csr ${signing} -days 0 -out over.pem`);
  writeFileSync(
    at("chain.pem"),
    readFileSync(at("leaf.pem"), "utf8") + readFileSync(at("ca.pem"), "utf8"),
  );
  writeFileSync(at("pass"), "correct horse\n");
});

describe("cert export", () => {
  const argv = (...flags: string[]) => [
    "cert",
    "export",
    at("chain.pem"),
    "--key",
    at("leaf.key"),
    "--passphrase-file",
    at("pass"),
    ...flags,
  ];

  test("writes a store for its owner only, which openssl reads", async () => {
    for (const [flag, legacy] of [
      ["--pkcs12", ""],
      ["--jks-compatible", "-legacy"],
    ] as const) {
      const out = at(`${flag}.p12`);
      expect(await shell([...argv(flag, "--out", out)])).toMatchObject({ code: 0, stdout: "" });
      expect(statSync(out).mode & 0o777).toBe(0o600);
      const line = `openssl pkcs12 -in ${out} -passin file:pass -nodes ${legacy}`.trim();
      const { stdout } = await run(line);
      expect(stdout.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
      expect(stdout).toContain("friendlyName: leaf");
      expect(stdout).toContain("BEGIN PRIVATE KEY");
      expect((await shell(argv(flag, "--out", out))).code).toBe(0);
    }
    const described = await ran([
      "openssl",
      "pkcs12",
      "-in",
      at("--pkcs12.p12"),
      "-passin",
      `file:${at("pass")}`,
      "-info",
      "-noout",
    ]);
    expect(described.stderr).toContain("AES-256-CBC");
  });

  test("refuses another's key, a short passphrase, and a file that is no store", async () => {
    const out = at("x.p12");
    writeFileSync(at("short"), "x");
    for (const [line, sentence] of [
      [
        [...argv("--out", out), "--key", at("ca.key")].filter((_, n) => n !== 3 && n !== 4),
        "does not belong",
      ],
      [
        [...argv("--out", out), "--passphrase-file", at("short")].filter(
          (_, n) => n !== 5 && n !== 6,
        ),
        "at least 6",
      ],
      [argv("--out", at("leaf.key")), "holds a private key"],
    ] as const) {
      const { code, stderr } = await shell(line);
      expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
    }
    expect(existsSync(out)).toBe(false);
    expect((await shell(argv("--out", out, "--pkcs12", "--jks-compatible"))).code).toBe(2);
  });
});

describe("cert needs-renewal", () => {
  test("is exit 0 when due, 1 when not, 2 when nobody can tell", async () => {
    const due = async (...flags: string[]) =>
      (await shell(["cert", "needs-renewal", ...flags])).code;
    expect(await due(at("leaf.pem"))).toBe(1);
    expect(await due(at("leaf.pem"), "--within", "10d")).toBe(1);
    expect(await due(at("over.pem"))).toBe(0);
    expect(await due(at("leaf.key"))).toBe(2);
    expect(await due(at("none.pem"))).toBe(2);
    expect(await due(at("leaf.pem"), "--within", "soon")).toBe(2);
    const { stdout } = await shell(["cert", "needs-renewal", at("leaf.pem"), "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ due: false });
  });

  test("a span longer than its life has it due when a third of it is over, not at once", async () => {
    const { code } = await shell(["cert", "needs-renewal", at("leaf.pem"), "--within", "3650d"]);
    expect(code).toBe(1);
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 1e9 }), fc.nat(1e10), (lifeSeconds, within) => {
        const life = lifeSeconds * 1000;
        const one = { notBefore: instant(0), notAfter: instant(life) };
        expect(renewalDue(one, within, instant(Math.floor(life / 3) - 1)).due).toBe(false);
      }),
    );
  });

  test("a third of its life is left when it becomes due, and it stays due", () => {
    const day = 86_400_000;
    const certificate = { notBefore: instant(0), notAfter: instant(90 * day) };
    expect(renewalDue(certificate, undefined, instant(60 * day - 1)).due).toBe(false);
    expect(renewalDue(certificate, undefined, instant(60 * day)).due).toBe(true);
    expect(renewalDue(certificate, 10 * 86_400, instant(79 * day)).due).toBe(false);
    expect(renewalDue(certificate, undefined, instant(91 * day))).toMatchObject({
      due: true,
      remainingSeconds: 0,
    });
    fc.assert(
      fc.property(
        fc.nat(1e9),
        fc.nat(1e9),
        fc.option(fc.nat(1e7), { nil: undefined }),
        (life, now, within) => {
          const one = { notBefore: instant(0), notAfter: instant(life) };
          const early = renewalDue(one, within, instant(now));
          if (early.due) expect(renewalDue(one, within, instant(now + 1)).due).toBe(true);
          if (now >= life) expect(early.due).toBe(true);
        },
      ),
    );
  });
});

test("flags of the daemon are refused without it, and the other way round", async () => {
  const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
  const renew = ["cert", "renew", at("leaf.pem"), "--ca", id];
  for (const flags of [
    ["--within", "1d"],
    ["--exec", "x"],
    ["--every", "1m"],
    ["--key", "x"],
    ["--once"],
    ["--daemon", "--out", "x"],
    ["--daemon", "--every", "0s"],
  ]) {
    expect([flags, (await shell([...renew, ...flags])).code]).toEqual([flags, 2]);
  }
});

test("a daemon says what failed, also when it is told to be quiet or to speak JSON", async () => {
  const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
  const renew = ["cert", "renew", at("over.pem"), "--ca", id, "--daemon", "--every", "1s"];
  for (const flag of ["--quiet", "--json"]) {
    let looks = 0;
    const answers = () => {
      // What is no answer of a server is a bug, and the only way to end a daemon from inside.
      if (++looks > 1) throw new Error("over");
      return Response.json({ error: "Not now.", code: "ca_not_active" }, { status: 409 });
    };
    const { stdout, stderr } = await shell([...renew, flag], { answers });
    const [said = "", ...more] = stderr.trim().split("\n");
    expect([stdout, more]).toEqual(["", [expect.stringContaining("over")]]);
    expect(said).toContain("over.pem was not renewed: Not now.");
    if (flag === "--json") expect(JSON.parse(said)).toMatchObject({ code: "ca_not_active" });
  }
});

test("a daemon does not begin with a file it could not replace", async () => {
  const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
  const both = readFileSync(at("leaf.key"), "utf8") + readFileSync(at("leaf.pem"), "utf8");
  writeFileSync(at("both.pem"), both);
  const renew = (file: string) =>
    shell(["cert", "renew", file, "--ca", id, "--daemon"], { stdin: both });
  const { code, stderr } = await renew(at("both.pem"));
  expect([code, stderr]).toEqual([1, expect.stringContaining("holds a key and its certificate")]);
  expect((await renew("-")).code).toBe(2);
});

async function run(line: string) {
  const done = await ran(line.split(" "), { cwd: folder });
  if (done.code !== 0) throw new Error(`${line}: ${done.stdout}${done.stderr}`);
  return done;
}
