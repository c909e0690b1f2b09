/** `cert renew --daemon`: when it looks, what it replaces, and what ends it. */

import { describe, expect, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";

import { encodePem } from "#core/asn1/pem.ts";
import { serialFromBytes } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { csrSignatureValid, parseCsr } from "#core/x509/csr.ts";
import { subjectAltName } from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";
import { newKey } from "#cli/new-request.ts";
import { keptLooking } from "#cli/renewal-daemon.ts";
import { pauseMs } from "#cli/renewal.ts";
import { firstIn, openPair, settlePair, spkiOf } from "#cli/renewed-files.ts";
import { rowOf } from "#cli/rows.ts";
import { staying } from "#cli/staying.ts";
import { certify } from "#test/support/encodings/x509.ts";
import { type Answers, shell } from "#test/support/instances/shell.ts";
import { OutsideCa, savedClient } from "#test/support/tls/client-certificates.ts";

const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
const ca = OutsideCa.root("Renewing");
const day = 86_400_000;
const sans = [{ kind: "dns", value: "d.example.test" }] as const;

/** Files of a certificate that has one of its ten days left, in a folder of their own. */
function duePair() {
  const folder = mkdtempSync(join(tmpdir(), "pkid-daemon-"));
  const [notBefore, notAfter] = [-9, 1].map((days) => instant(Date.now() + days * day));
  const life = { notBefore: notBefore ?? instant(0), notAfter: notAfter ?? instant(0) };
  const { cert, key } = savedClient(folder, "d", ca.client({ sans, ...life }));
  return { folder, cert, key, files: { certificate: cert, key } };
}

/** A certificate of the CA for this key, for so many days from now on. */
function certified(spki: Uint8Array, days = 90): string {
  const der = certify(ca.key, {
    signature: "ecdsa-sha256",
    spki,
    extensions: [subjectAltName(sans, false)],
    issuer: encodeName(ca.name).der,
    subject: encodeName([{ type: "CN", value: "robot" }]).der,
    serial: serialFromBytes(crypto.getRandomValues(new Uint8Array(15))),
    notBefore: instant(Date.now()),
    notAfter: instant(Date.now() + days * day),
  });
  return encodePem("CERTIFICATE", der);
}

const keyOf = (file: string): Uint8Array => spkiOf(createPrivateKey(readFileSync(file, "utf8")));
const certificateOf = (file: string) =>
  parseCertificate(Buffer.from(readFileSync(file, "utf8").split("-----")[2] ?? "", "base64"));

/** An instance that renews for the key of the request, or for another. */
const renewing =
  (answer: (csr: string | undefined) => unknown): Answers =>
  ({ path, body }) => {
    if (path.endsWith("/certificate")) return new Response(new Uint8Array(ca.der));
    const { csr } = rowOf<{ csr: string }>(body);
    return answer(csr === undefined ? undefined : String(csr));
  };
const issued = (spki: Uint8Array, days?: number) => ({
  certificate: certified(spki, days),
  chain: certified(spki, days),
});
const refused = (status: string): Answers =>
  renewing(() => Response.json({ error: "No.", code: "not_renewable", status }, { status: 409 }));

const daemon = (cert: string, ...flags: string[]) =>
  ["cert", "renew", cert, "--ca", id, "--daemon"].concat(flags);

/** Ends every pause of a daemon, as SIGHUP does, until what is waited for is so. */
async function hastily(done: () => boolean): Promise<void> {
  while (!done()) {
    // Before it listens a signal ends it as every command.
    await Bun.sleep(10);
    process.emit("SIGHUP");
  }
}

describe("the pause between looks", () => {
  const pause = (failures: number, everySeconds = 43_200, chance = 0) =>
    pauseMs({ everySeconds, failures, chance }) / 1000;

  test("doubles from a minute with each failure, up to that between looks", () => {
    const paused = [0, 1, 2, 3, 9, 10, 11, 999].map((failures) => pause(failures));
    expect(paused).toEqual([43_200, 60, 120, 240, 15_360, 30_720, 43_200, 43_200]);
    expect([1, 2, 3].map((failures) => pause(failures, 100))).toEqual([60, 100, 100]);
  });

  test("is by chance up to a tenth longer, and never so long that a timer ends at once", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e10 }),
        fc.nat(2000),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (everySeconds, failures, chance) => {
          const least = pauseMs({ everySeconds, failures, chance: 0 });
          const drawn = pauseMs({ everySeconds, failures, chance });
          expect(drawn).toBeGreaterThanOrEqual(least);
          expect(drawn).toBeLessThanOrEqual(Math.ceil(least * 1.1));
          expect(drawn).toBeLessThan(2 ** 31);
          expect(least).toBeGreaterThan(0);
        },
      ),
    );
    expect(pause(0, 100, 0.5)).toBe(105);
  });
});

describe("looking", () => {
  /** The exit code, and the pauses in seconds, of looks that end like this. */
  const looked = async (outcomes: string, once = false) => {
    const pauses: number[] = [];
    const words = { s: "succeeded", f: "failed", h: "hopeless" } as const;
    const left = [...outcomes] as (keyof typeof words)[]; // The caller writes these letters.
    const code = await keptLooking(async () => words[left.shift() ?? "h"], {
      everySeconds: 3600,
      once,
      pause: async (milliseconds) => void pauses.push(milliseconds / 1000),
      chance: () => 0,
    });
    return { code, pauses };
  };

  test("begins anew with a minute after a look that succeeded, and ends where none will", async () => {
    expect(await looked("sffsfh")).toEqual({ code: 1, pauses: [3600, 60, 120, 3600, 60] });
  });

  test("is done with one look where one was asked for", async () => {
    expect(await looked("s", true)).toEqual({ code: 0, pauses: [] });
    expect(await looked("f", true)).toEqual({ code: 1, pauses: [] });
    expect(await looked("h", true)).toEqual({ code: 1, pauses: [] });
  });
});

test("SIGHUP ends a pause, also one that begins after it, and the others end the command", async () => {
  for (const [signal, code] of [
    ["SIGTERM", 0],
    ["SIGINT", 130],
  ] as const) {
    using stay = staying();
    const paused = stay.pause(3_600_000);
    process.emit("SIGHUP");
    await paused;
    process.emit("SIGHUP");
    await stay.pause(3_600_000);
    process.emit(signal);
    expect(await stay.ended).toBe(code);
  }
  expect(process.listenerCount("SIGHUP")).toBe(0);
});

describe("a renewal", () => {
  test("replaces certificate and key, with the modes they had, and runs the hook", async () => {
    const { folder, cert, key } = duePair();
    chmodSync(key, 0o640);
    const before = { key: keyOf(key), serial: certificateOf(cert).serial };
    let request = "";
    const answers = renewing((csr = "") => {
      request = csr;
      return issued(parseCsr(csr).spki);
    });
    const hook = `cp "$PKID_KEY_FILE" ${join(folder, "seen")}`;
    const flags = ["--key", key, "--exec", hook, "--once"];
    const { code, stdout, stderr } = await shell(daemon(cert, ...flags), { answers });
    expect([code, stderr, stdout]).toEqual([0, "", expect.stringContaining("was renewed until")]);
    const asked = parseCsr(request);
    expect(csrSignatureValid(asked)).toBe(true);
    expect(asked.sans).toEqual(sans);
    expect(keyOf(key)).not.toEqual(before.key);
    expect(certificateOf(cert).spki).toEqual(keyOf(key));
    expect(certificateOf(cert).serial).not.toBe(before.serial);
    expect([statSync(key).mode & 0o777, keyOf(join(folder, "seen"))]).toEqual([0o640, keyOf(key)]);
    expect(readdirSync(folder).sort()).toEqual(["d.key", "d.pem", "seen"]);
    const again = await shell(daemon(cert, ...flags, "--json"), { answers });
    expect(JSON.parse(again.stdout)).toMatchObject({ decision: "not_due", file: cert });
    expect(again.asked).toEqual([]);
  });

  test("leaves the pair as it was when the answer is for another key", async () => {
    const { folder, cert, key } = duePair();
    const before = [cert, key].map((file) => readFileSync(file, "utf8"));
    const answers = renewing(() => issued(spkiOf(newKey("ecdsa-p256"))));
    const line = daemon(cert, "--key", key, "--once");
    const { code, stdout, stderr } = await shell(line, { answers });
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining("for another key")]);
    expect([cert, key].map((file) => readFileSync(file, "utf8"))).toEqual(before);
    expect(readdirSync(folder).sort()).toEqual(["d.key", "d.pem"]);
  });

  test("is over for a certificate that was revoked, and not for one on hold", async () => {
    for (const [status, sentence] of [
      ["revoked", "is not renewed any more: it is revoked. (not_renewable)"],
      ["held", "was not renewed: No. (not_renewable)"],
    ] as const) {
      const { cert } = duePair();
      const flags = status === "held" ? ["--once"] : [];
      const answers = refused(status);
      const { code, stdout, stderr } = await shell(daemon(cert, ...flags), { answers });
      expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(sentence)]);
      const json = await shell(daemon(cert, "--json", ...flags), { answers });
      expect(JSON.parse(json.stderr)).toMatchObject({ code: "not_renewable", status });
    }
  });

  test("that people have to approve is asked for once, and its answer is for the key it was asked with", async () => {
    const { folder, cert, key } = duePair();
    const asked: (readonly [string | undefined, string])[] = [];
    let decided = false;
    const waits = () =>
      Response.json({ error: "It waits.", approval_id: "apr_1" }, { status: 202 });
    const answers: Answers = ({ path, body, approval }) => {
      if (path.endsWith("/certificate")) return new Response(new Uint8Array(ca.der));
      const { csr } = rowOf<{ csr: string }>(body);
      asked.push([approval, String(csr)]);
      return decided ? issued(parseCsr(String(csr)).spki) : waits();
    };
    const line = daemon(cert, "--key", key, "--every", "1s");
    const ended = shell(line, { answers });
    await hastily(() => asked.length >= 3);
    decided = true;
    const before = readFileSync(cert, "utf8");
    await hastily(() => readFileSync(cert, "utf8") !== before);
    process.emit("SIGTERM");
    const { stderr } = await ended;
    const [first] = asked;
    expect(asked[0]?.[0]).toBeUndefined();
    for (const [approval, csr] of asked.slice(1)) {
      expect([approval, csr]).toEqual(["apr_1", first?.[1] ?? ""]);
    }
    expect(stderr).toContain("waits for approval apr_1. (approval_pending)");
    expect(certificateOf(cert).spki).toEqual(keyOf(key));
    expect(readdirSync(folder).sort()).toEqual(["d.key", "d.pem"]);
  });

  test.each([
    ["was rejected is not asked for again", "approval_rejected", [false, true, true, true]],
    ["nobody decided is asked for again", "approval_expired", [false, true, false, true]],
  ] as const)("that %s", async (_, code, named) => {
    const { cert } = duePair();
    const asked: boolean[] = [];
    const answers: Answers = ({ path, approval }) => {
      if (path.endsWith("/certificate")) return new Response(new Uint8Array(ca.der));
      asked.push(approval !== undefined);
      if (approval !== undefined) return Response.json({ error: "No.", code }, { status: 409 });
      return Response.json({ error: "It waits.", approval_id: "apr_1" }, { status: 202 });
    };
    const ended = shell(daemon(cert, "--every", "1s"), { answers });
    await hastily(() => asked.length >= named.length);
    process.emit("SIGTERM");
    await ended;
    expect(asked.slice(0, named.length)).toEqual([...named]);
  });

  test("owes a hook that fails, and runs it again without another renewal", async () => {
    const { folder, cert } = duePair();
    const { spki } = certificateOf(cert);
    const tried = join(folder, "tried");
    // Fails the first time; the third look finds no certificate any more, and the fourth is a bug.
    const hook = `test -e ${tried} && rm ${cert}; touch ${tried}; test ! -e ${cert}`;
    let renewals = 0;
    const answers = renewing(() => {
      renewals++;
      return issued(spki);
    });
    const line = daemon(cert, "--exec", hook, "--every", "1s", "--json");
    const ended = shell(line, { answers });
    while (existsSync(cert) || !existsSync(tried)) await Bun.sleep(10);
    process.emit("SIGTERM");
    const { code, stdout, stderr } = await ended;
    const decisions = stdout
      .trim()
      .split("\n")
      .map((one) => JSON.parse(one).decision);
    expect([code, renewals, decisions[0]]).toEqual([0, 1, "renewed"]);
    expect(stderr).toContain("ended with 1");
  });
});

describe("a pair of files", () => {
  const before = (key: string) => join(dirname(key), ".d.key.before-renewal");
  const io = (): never => {
    throw new Error("nothing to read");
  };
  const certificateIn = async (file: string) =>
    (await firstIn({ stdin: io } as never, file)).certificate;

  test("that a crash left apart is the old one again, without what was beside it", async () => {
    const { folder, cert, key, files } = duePair();
    const old = keyOf(key);
    // As it is between the two renames: the key is new, the certificate not.
    linkSync(key, before(key));
    writeFileSync(
      join(folder, "new"),
      newKey("ecdsa-p256").export({ format: "pem", type: "pkcs8" }),
    );
    renameSync(join(folder, "new"), key);
    settlePair(await certificateIn(cert), files);
    expect([keyOf(key), existsSync(before(key))]).toEqual([old, false]);
  });

  test("whose replacement is complete loses what was kept of the old one", async () => {
    const { cert, key, files } = duePair();
    const fresh = newKey("ecdsa-p256");
    openPair(files)(certified(spkiOf(fresh)), fresh);
    writeFileSync(before(key), "left by a crash after both renames");
    settlePair(await certificateIn(cert), files);
    expect([keyOf(key), existsSync(before(key))]).toEqual([spkiOf(fresh), false]);
  });

  test("of which the key is another certificate's is refused before anything is asked", async () => {
    const [mine, other] = [duePair(), duePair()];
    const line = daemon(mine.cert, "--key", other.key);
    const { code, stderr, asked } = await shell(line);
    expect([code, asked]).toEqual([1, []]);
    expect(stderr).toContain(`${other.key} does not belong to the certificate in ${mine.cert}`);
    const missing = await shell(daemon(mine.cert, "--key", join(mine.folder, "none")));
    expect([missing.code, missing.asked]).toEqual([1, []]);
  });
});

test("a daemon takes no token from standard input, which it could read only once", async () => {
  const { cert } = duePair();
  const url = ["--url", "https://pki.test"];
  for (const flag of ["--token", "--token-file"]) {
    const { code, stderr } = await shell([...daemon(cert), ...url, flag, "-"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--token-file <file>")]);
  }
});
