/** Certificates named by serial or by file, and serials that nobody has issued. */

import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { ran } from "#test/support/child.ts";
import { type Answers, shell } from "#test/support/instances/shell.ts";

const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
const folder = mkdtempSync(join(tmpdir(), "pkid-reference-"));
const at = (name: string) => join(folder, name);

beforeAll(async () => {
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  for (const name of ["ca", "next", "other"]) {
    const subject = name === "other" ? "/CN=Other" : "/CN=CA";
    await made(`req -x509 ${key} -subj ${subject} -keyout ${name}.key -out ${name}.pem`);
    await made(`req -new ${key} -subj /CN=leaf -keyout leaf.key -out leaf.csr`);
    await made(
      `x509 -req -in leaf.csr -CA ${name}.pem -CAkey ${name}.key -set_serial 77 -out by-${name}.pem`,
    );
  }
});

async function made(line: string): Promise<void> {
  const { code, stderr } = await ran(["openssl", ...line.split(" ")], { cwd: folder });
  if (code !== 0) throw new Error(stderr);
}

const unknown = () =>
  Response.json({ error: "None.", code: "not_found", request_id: "r" }, { status: 404 });

/** The CA `id` with its certificate, and a second key under the same name. */
const instance: Answers = ({ path, method }) => {
  if (path.endsWith("/certificate")) {
    const der = decodePem(readFileSync(at("ca.pem"), "utf8"), ["CERTIFICATE"]);
    return new Response(new Uint8Array(der ?? []));
  }
  const next = readFileSync(at("next.pem"), "utf8");
  if (path.startsWith("/api/ca?")) return { items: [{ id: "next", certificate: next }] };
  return { method, serial: "77", status: "revoked" };
};

describe("a certificate file stands for its serial", () => {
  test("in show, renew, revoke, suspend, release and ocsp check", async () => {
    const lines = [
      [`cert show ${at("by-ca.pem")}`, `GET /api/ca/${id}/certificates/77`],
      [`cert renew ${at("by-ca.pem")}`, `POST /api/ca/${id}/renew`],
      [`revoke cert ${at("by-ca.pem")}`, `POST /api/ca/${id}/revoke`],
      [`revoke suspend ${at("by-ca.pem")}`, `POST /api/ca/${id}/certificates/77:suspend`],
      [`revoke release ${at("by-ca.pem")}`, `POST /api/ca/${id}/certificates/77:release`],
    ] as const;
    for (const [line, request] of lines) {
      const { code, asked } = await shell([...line.split(" "), "--ca", id], { answers: instance });
      expect({ line, code }).toEqual({ line, code: 0 });
      expect(asked.map(({ method, path }) => `${method} ${path}`)).toContain(request);
    }
  });

  test("in DER and from standard input too", async () => {
    const pem = readFileSync(at("by-ca.pem"), "utf8");
    await made("x509 -in by-ca.pem -outform DER -out by-ca.der");
    const argv = ["revoke", "suspend", "--ca", id];
    const piped = await shell([...argv, "-"], { answers: instance, stdin: pem });
    const der = await shell([...argv, at("by-ca.der")], { answers: instance });
    expect([piped.code, der.code]).toEqual([0, 0]);
  });

  test("under another key of the same name it goes to the CA whose key signed it", async () => {
    const argv = ["revoke", "suspend", at("by-next.pem"), "--ca", id];
    const { asked } = await shell(argv, { answers: instance });
    expect(asked.at(-1)?.path).toBe("/api/ca/next/certificates/77:suspend");
  });

  test("of another issuer it is refused, although the serial exists here", async () => {
    for (const verb of ["cert", "suspend"]) {
      const argv = ["revoke", verb, at("by-other.pem"), "--ca", id];
      const { code, stderr, asked } = await shell(argv, { answers: instance });
      expect(code).toBe(1);
      expect(stderr).toContain("has not issued the certificate in");
      expect(asked.every(({ method }) => method === "GET")).toBe(true);
    }
  });

  test("with a broken signature it is refused", async () => {
    const der =
      decodePem(readFileSync(at("by-ca.pem"), "utf8"), ["CERTIFICATE"]) ?? new Uint8Array();
    expect(parseCertificate(der).serial).toBe("77" as never);
    der[der.length - 1] = (der[der.length - 1] ?? 0) ^ 1;
    writeFileSync(at("broken.der"), der);
    const argv = ["revoke", "suspend", at("broken.der"), "--ca", id];
    expect((await shell(argv, { answers: instance })).code).toBe(1);
  });

  test("what is neither serial nor file is a usage error", async () => {
    const { code, stderr } = await shell(["revoke", "cert", "0xZZ", "--ca", id]);
    expect([code, stderr]).toEqual([
      2,
      "error: 0xZZ is not a certificate serial. There is no file of that name.\n",
    ]);
    const csr = await shell(["revoke", "cert", at("leaf.csr"), "--ca", id], { answers: instance });
    expect([csr.code, csr.asked.some(({ method }) => method === "POST")]).toEqual([1, false]);
  });
});

describe("digits alone that could be decimal or hex", () => {
  // 12 is 0xc, and 0x12 is 18.
  const createStub = (...serials: readonly string[]): Answers => {
    const shown = serials.map((serial) => `/certificates/${serial}`);
    return ({ path }) => {
      if (path.endsWith("/revocations:bulk")) return { known: 0, unknown: 1 };
      const isShown = shown.some((one) => path.endsWith(one));
      if (/\/certificates\/\d+$/.test(path) && !isShown) return unknown();
      return { serial: /\d+$/.exec(path)?.[0] ?? "12", status: "revoked", ca_id: id };
    };
  };
  const writing = ["revoke cert", "revoke suspend", "revoke release", "cert renew"] as const;
  const run = (line: string, argument: string, stub: Answers, ...more: string[]) =>
    shell([...line.split(" "), argument, "--ca", id, "--yes", ...more], { answers: stub });
  const isWrite = ({ method, path }: { method: string; path: string }) =>
    method === "POST" && !path.endsWith("/revocations:bulk");

  test.each(writing)("%s writes the decimal serial if only that exists", async (line) => {
    const { code, asked: requests } = await run(line, "12", createStub("12"));
    expect([code, requests.some(isWrite)]).toEqual([0, true]);
    const written = JSON.stringify(requests.filter(isWrite));
    expect(written).toMatch(/"serial":"12"|certificates\/12:/);
  });

  test.each(writing)("%s refuses if only the hex serial exists, or both do", async (line) => {
    for (const stub of [createStub("18"), createStub("12", "18")]) {
      const { code, stderr, asked: requests } = await run(line, "12", stub);
      expect([code, requests.some(isWrite)]).toEqual([1, false]);
      expect(stderr).toContain("0xc");
      expect(stderr).toContain("0x12");
    }
  });

  test("a command that reads shows the hex serial if only that exists", async () => {
    const { code, asked: requests } = await run("cert show", "12", createStub("18"));
    expect(code).toBe(0);
    expect(requests.some(({ path }) => path.endsWith("/certificates/18"))).toBe(true);
    expect((await run("cert show", "12", createStub("12", "18"))).code).toBe(1);
  });

  test("--serial-format selects the meaning without a lookup", async () => {
    for (const [format, serial] of [
      ["hex", "18"],
      ["decimal", "12"],
    ] as const) {
      const stub = createStub("12", "18");
      const { asked: requests } = await run(
        "revoke suspend",
        "12",
        stub,
        "--serial-format",
        format,
      );
      expect(requests.map(({ path }) => path)).toEqual([
        `/api/ca/${id}/certificates/${serial}:suspend`,
      ]);
    }
  });

  test("plain hex has one meaning if it has a letter, and a file of that name goes first", async () => {
    const plain = await run("revoke suspend", "1A", createStub());
    expect(plain.asked.map(({ path }) => path)).toEqual([`/api/ca/${id}/certificates/1A:suspend`]);
    const wrong = await run("revoke suspend", "1A", createStub(), "--serial-format", "decimal");
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      "error: 1A is not a certificate serial. There is no file of that name.\n",
    ]);
  });
});

describe("a serial that was never issued", () => {
  const argv = ["revoke", "cert", "0x0C", "--ca", id, "--reason", "keyCompromise"];
  const never: Answers = ({ path }) =>
    path.endsWith("/certificates/12")
      ? unknown()
      : path.endsWith("/revocations:bulk")
        ? { total: 1, known: 0, unknown: 1 }
        : { status: "revoked", serial: "12" };
  const revokes = (asked: readonly { path: string }[]) =>
    asked.some(({ path }) => path.endsWith("/revoke"));

  test("is said, and revoked only when somebody means it", async () => {
    const nobody = await shell(argv, { answers: never });
    expect([nobody.code, revokes(nobody.asked)]).toEqual([2, false]);
    expect(nobody.stderr).toContain(`${id} has issued no certificate with serial 12;`);
    const no = await shell(argv, { answers: never, typed: "no" });
    expect([no.code, revokes(no.asked)]).toEqual([1, false]);
    for (const meant of [
      await shell([...argv, "--yes"], { answers: never }),
      await shell(argv, { answers: never, typed: "yes" }),
    ]) {
      expect(meant.code).toBe(0);
      expect(meant.asked.at(-1)).toMatchObject({
        path: `/api/ca/${id}/revoke`,
        body: { serial: "12", reason: "keyCompromise" },
      });
    }
  });

  test("is not what the serial of a CA below is, which the inventory does not show", async () => {
    const answers: Answers = (asked) =>
      asked.path.endsWith("/revocations:bulk") ? { known: 1, unknown: 0 } : never(asked);
    const { code, asked } = await shell(argv, { answers });
    expect([code, revokes(asked)]).toEqual([0, true]);
  });

  test("is not asked about where the serial is known, or nobody may look", async () => {
    const forbidden = () =>
      Response.json({ error: "No.", code: "forbidden", request_id: "r" }, { status: 403 });
    for (const shown of [() => ({ serial: "12" }), forbidden]) {
      const answers: Answers = (asked) =>
        asked.path.endsWith("/certificates/12") ? shown() : never(asked);
      const { code, asked } = await shell(argv, { answers });
      expect([code, asked.length, revokes(asked)]).toEqual([0, 2, true]);
    }
  });
});
