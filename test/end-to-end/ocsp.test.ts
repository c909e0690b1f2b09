/**
 * OCSP of the binary, answer by answer of STAT-1, judged by our parser and, where it can say it, by
 * openssl.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { decodePem } from "#core/asn1/pem.ts";
import { element, explicit, octetString, oid, sequence } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
import { digest, sha256Hex } from "#core/crypto.ts";
import { parseSerial, type Serial, serialToBytes } from "#core/ids.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { encodeExtensions } from "#core/x509/extensions.ts";
import { parseOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { subjectPublicKeyBits } from "#core/x509/public-keys.ts";
import { ran } from "#test/support/child.ts";
import { type Chain, command, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";

const config = { server: { public_http: { enabled: true, address: "127.0.0.1:0" } } };
let instance: Instance;
let chain: Chain;
let csr: string;
let issuing: Authority;
let root: Authority;

interface Authority {
  readonly id: string;
  readonly certificate: ParsedCertificate;
}

beforeAll(async () => {
  instance = await Instance.start({ config });
  chain = await createChain(instance, "ecdsa-p256");
  csr = await newCsr(chain.folder, "ocsp.example.test");
  const [own] = (await list("/api/ca?q=root-ecdsa-p256")).map(({ id }) => id);
  root = { id: own ?? "", certificate: await certificateIn(chain.root) };
  issuing = { id: chain.intermediateId, certificate: await certificateIn(chain.intermediate) };
}, 60_000);

afterAll(() => instance.dispose());

describe("what is no request is malformedRequest with HTTP 200", () => {
  const good = () => requestFor(issuing, [some(1)]);
  const nonced = (octets: Uint8Array) =>
    requestFor(issuing, [some(1)], extension(oids.ocspNonce, octets, false));
  const rows: readonly (readonly [string, () => Uint8Array])[] = [
    ["nothing at all", () => new Uint8Array(0)],
    ["text", () => Buffer.from("hello")],
    ["a request cut short", () => good().subarray(0, good().length - 1)],
    ["a request with an octet behind it", () => Buffer.concat([good(), Uint8Array.of(0)])],
    ["a certificate", () => issuing.certificate.der],
    ["a request without an entry", () => requestFor(issuing, [])],
    [
      "33 entries",
      () =>
        requestFor(
          issuing,
          Array.from({ length: 33 }, (_, n) => some(n + 1)),
        ),
    ],
    ["an empty nonce", () => nonced(octetString(new Uint8Array(0)))],
    ["a nonce of 129 octets", () => nonced(octetString(new Uint8Array(129)))],
    ["a nonce that is no OCTET STRING", () => nonced(new Uint8Array(16).fill(1))],
    [
      "an unknown critical extension",
      () => requestFor(issuing, [some(1)], extension("1.2.3.4", new Uint8Array(2), true)),
    ],
    ["64 KiB of zeros", () => new Uint8Array(65_536)],
  ];
  for (const [name, octets] of rows) {
    test(name, async () => {
      const response = await post(issuing.id, octets());
      expect([response.status, response.headers.get("content-type")]).toEqual([
        200,
        "application/ocsp-response",
      ]);
      expect([...(await response.bytes())]).toEqual([0x30, 3, 10, 1, 1]);
      // It is malformed before anybody looks whether there is such a CA.
      expect((await parsed(await post(unknownCa, octets()))).status).toBe("malformedRequest");
    });
  }

  test("a body over 64 KiB is refused by HTTP", async () => {
    expect((await post(issuing.id, new Uint8Array(65_537))).status).toBe(413);
  });

  test("32 entries, a nonce of 128 octets and an unknown extension that is not critical are fine", async () => {
    const serials = Array.from({ length: 32 }, (_, n) => some(n + 1));
    const extensions = [
      { oid: "1.2.3.4", critical: false, value: new Uint8Array(2) },
      { oid: oids.ocspNonce, critical: false, value: octetString(new Uint8Array(128).fill(3)) },
    ];
    const der = requestFor(issuing, serials, encodeExtensions(extensions));
    const { basic } = await parsed(await post(issuing.id, der));
    expect(basic?.answers.map(({ serial }) => serial)).toEqual(serials);
    expect(basic?.nonce).toEqual(new Uint8Array(128).fill(3));
  });
});

describe("what is asked under an id, and of whom", () => {
  test("an unknown CA id is unauthorized", async () => {
    const der = requestFor(issuing, [some(1)]);
    for (const id of [unknownCa, "nothing"]) {
      const response = await post(id, der);
      expect([response.status, (await parsed(response)).status]).toEqual([200, "unauthorized"]);
    }
  });

  test("a certID of another issuer, another key or an unknown hash is unknown", async () => {
    const { serial } = await issued();
    const strange = [
      { ...issuing, certificate: root.certificate },
      { ...issuing, certificate: { ...issuing.certificate, spki: root.certificate.spki } },
      { ...issuing, certificate: { ...issuing.certificate, subject: root.certificate.subject } },
    ];
    for (const authority of strange) expect(await wordOf(authority, serial)).toBe("unknown");
    const md5 = certIdOf(issuing, serial, "1.2.840.113549.2.5", "sha1");
    const { basic } = await parsed(
      await post(issuing.id, sequence(sequence(sequence(sequence(md5))))),
    );
    expect(basic?.answers[0]?.status).toEqual({ status: "unknown" });
  });

  test("requestorName and signature of a request are read over, and the entries echoed as asked", async () => {
    const { serial } = await issued();
    const plain = requestFor(issuing, [serial, some(7)]);
    const [tbs] = [plain.subarray(plain.length - (plain.length - headerLength(plain)))];
    const name = explicit(1, element(contextualConstructed(4), issuing.certificate.subject.der));
    const list = tbs.subarray(headerLength(tbs));
    const signature = explicit(
      0,
      sequence(sequence(oid("1.2.3")), element(tags.bitString, Uint8Array.of(0, 1))),
    );
    const der = sequence(sequence(name, list), signature);
    const { basic } = await parsed(await post(issuing.id, der));
    expect(basic?.answers.map(({ status }) => status.status)).toEqual(["good", "unknown"]);
    const ids = parseOcspRequest(der)?.certIds.map((certId) => certId.der);
    expect(basic?.answers.map(({ certId }) => certId)).toEqual(ids ?? []);
  });
});

describe("what is said of a serial", () => {
  test("good from the moment of issue, held, good again, revoked with time and reason, by every hash", async () => {
    const { serial } = await issued();
    const words = async () =>
      await Promise.all(
        (["sha1", "sha256", "sha384", "sha512"] as const).map(async (hash) =>
          wordOf(issuing, serial, hash),
        ),
      );
    expect(await words()).toEqual(["good", "good", "good", "good"]);
    await admin("POST", `/api/ca/${issuing.id}/certificates/${serial}:suspend`, {});
    expect(await words()).toEqual(Array(4).fill("revoked certificateHold"));
    await admin("POST", `/api/ca/${issuing.id}/certificates/${serial}:release`, {});
    expect(await words()).toEqual(["good", "good", "good", "good"]);
    const told = await revoke(issuing, serial, "privilegeWithdrawn");
    expect(await words()).toEqual(Array(4).fill("revoked privilegeWithdrawn"));
    const { basic } = await parsed(await post(issuing.id, requestFor(issuing, [serial])));
    const status = basic?.answers[0]?.status;
    const at = status?.status === "revoked" ? status.at : 0;
    expect(at).toBe(Math.floor(Date.parse(told.revoked_at ?? "") / 1000) * 1000);
  });

  test("a serial nobody issued is unknown, and revoked once it is on the list", async () => {
    const serial = some(987_654_321);
    expect(await wordOf(issuing, serial)).toBe("unknown");
    await revoke(issuing, serial, "superseded");
    expect(await wordOf(issuing, serial)).toBe("revoked superseded");
  });

  test("CA, cross and responder certificates are known to the CA that signed them", async () => {
    const own = issuing.certificate.serial;
    const { basic } = await parsed(await post(root.id, requestFor(root, [own])));
    const responder = parseCertificate(basic?.certificates[0] ?? new Uint8Array(0));
    expect(basic?.answers[0]?.status).toEqual({ status: "good" });
    expect(await wordOf(root, responder.serial)).toBe("good");
    expect(await wordOf(issuing, own)).toBe("unknown");
    const other = await made(["ca", "init-root", "--label", "other-root", "--cn", "Other Root"]);
    const cross = await admin<{ certificate_pem: string }>(
      "POST",
      `/api/ca/${root.id}/cross-signs`,
      {
        subject_ca_id: other.id,
      },
    );
    const { serial } = pem(cross.certificate_pem);
    expect(await wordOf(root, serial)).toBe("good");
    await revoke(root, serial, "cessationOfOperation");
    expect(await wordOf(root, serial)).toBe("revoked cessationOfOperation");
  });

  test("a revoked responder is replaced at once, and its successor says so", async () => {
    const before = await responderOf(issuing);
    await revoke(issuing, before.serial, "keyCompromise");
    expect(await wordOf(issuing, before.serial)).toBe("revoked keyCompromise");
    const after = await responderOf(issuing);
    expect(after.serial).not.toBe(before.serial);
    expect(after.spki).not.toEqual(before.spki);
  });
});

describe("relying parties", () => {
  test("openssl believes one answer about several certificates, with a nonce", async () => {
    const [good, revoked] = [await issued(), await issued()];
    await revoke(issuing, revoked.serial, "superseded");
    const { text } = await openssl([
      "ocsp",
      "-issuer",
      chain.intermediate,
      "-cert",
      good.leaf,
      "-cert",
      revoked.leaf,
      "-serial",
      "12345",
      "-CAfile",
      chain.root,
      "-verify_other",
      chain.intermediate,
      "-url",
      `${instance.publicUrl}/api/ca/${issuing.id}/ocsp`,
      "-resp_text",
    ]);
    expect(text).toContain("Response verify OK");
    expect(text).not.toContain("WARNING: no nonce");
    expect(text).toContain(`${good.leaf}: good`);
    expect(text).toContain(`${revoked.leaf}: revoked`);
    expect(text).toContain("12345: unknown");
    expect(text).toContain("OCSP Nonce");
  });

  for (const hash of ["sha1", "sha256", "sha384", "sha512"]) {
    test(`openssl believes an answer to a certID by ${hash}`, async () => {
      const { leaf } = await issued();
      const { text } = await openssl([
        "ocsp",
        `-${hash}`,
        "-issuer",
        chain.intermediate,
        "-cert",
        leaf,
        "-no_nonce",
        "-CAfile",
        chain.root,
        "-verify_other",
        chain.intermediate,
        "-url",
        `${instance.publicUrl}/api/ca/${issuing.id}/ocsp`,
      ]);
      expect(text).toContain("Response verify OK");
      expect(text).toContain(": good");
    });
  }

  test("curl gets the same octets by every spelling of the path, and openssl believes them", async () => {
    const { der, plain } = await slashed();
    const spellings = [
      plain,
      plain.replace(/=+$/, ""),
      encodeURIComponent(plain),
      Buffer.from(der).toString("base64url"),
      plain.replaceAll("+", "%2b"),
      plain.replaceAll("/", "%2F").replaceAll("=", "%3D"),
    ];
    const url = `${instance.publicUrl}/api/ca/${issuing.id}/ocsp`;
    const digests = new Set<string>();
    for (const spelling of spellings) {
      const file = `${chain.folder}/by-curl.der`;
      const { code } = await ran(["curl", "-sf", "--path-as-is", "-o", file, `${url}/${spelling}`]);
      expect(code).toBe(0);
      digests.add(sha256Hex(await Bun.file(file).bytes()));
    }
    expect(digests.size).toBe(1);
    const asked = saved(chain.folder, "asked.der", der);
    const { text } = await openssl([
      "ocsp",
      "-reqin",
      asked,
      "-respin",
      `${chain.folder}/by-curl.der`,
      "-CAfile",
      chain.root,
      "-verify_other",
      chain.intermediate,
    ]);
    expect(text).toContain("Response verify OK");
  });

  test("caches are told how long, by GET alone, and only of what is known", async () => {
    const { serial } = await issued();
    const path = urlOf(issuing, requestFor(issuing, [serial]));
    const first = await fetch(path);
    const body = await first.bytes();
    expect(Object.fromEntries(first.headers)).toMatchObject({
      "content-type": "application/ocsp-response",
      etag: `"${sha256Hex(body)}"`,
      "cache-control": expect.stringMatching(/^public, max-age=8\d{4}, no-transform$/),
      "content-length": String(body.length),
      "x-request-id": expect.any(String),
    });
    const { nextUpdate } = parseOcspResponse(body).basic?.answers[0] ?? {};
    expect(Date.parse(first.headers.get("expires") ?? "")).toBe(Number(nextUpdate));
    expect(first.headers.has("last-modified")).toBe(false);
    const since = { "if-modified-since": new Date().toUTCString() };
    expect((await fetch(path, { headers: since })).status).toBe(200);
    const etag = first.headers.get("etag") ?? "";
    const unchanged = await fetch(path, { headers: { "if-none-match": `W/${etag}` } });
    expect([unchanged.status, (await unchanged.bytes()).length]).toEqual([304, 0]);
    const head = await fetch(path, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(body.length)]);
    expect((await fetch(path, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
    const nonced = requestFor(
      issuing,
      [serial],
      extension(oids.ocspNonce, octetString(new Uint8Array(8)), false),
    );
    for (const der of [nonced, requestFor(issuing, [some(3)]), new Uint8Array(3)]) {
      const answer = await fetch(urlOf(issuing, der));
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
    const posted = await post(issuing.id, requestFor(issuing, [serial]));
    expect(posted.headers.get("cache-control")).toBe("no-store");
    const several = urlOf(issuing, requestFor(issuing, [serial, (await issued()).serial]));
    expect((await fetch(several)).headers.get("cache-control")).toContain("public, max-age=");
  });

  test("a kept answer about several serials follows each of them", async () => {
    const [one, two] = [await issued(), await issued()];
    const path = urlOf(issuing, requestFor(issuing, [one.serial, two.serial]));
    const words = async () => {
      const { basic } = parseOcspResponse(await (await fetch(path)).bytes());
      return basic?.answers.map(({ status }) => status.status);
    };
    expect(await words()).toEqual(["good", "good"]);
    await revoke(issuing, two.serial, "superseded");
    expect(await words()).toEqual(["good", "revoked"]);
  });

  test("odd and enormous GETs are answered, and so is the next request", async () => {
    const base = `${instance.publicUrl}/api/ca/${issuing.id}/ocsp`;
    for (const odd of [
      "/%",
      "/%zz",
      "//",
      "/..%2f",
      "/a b",
      `/${"A".repeat(12_000)}`,
      "/=",
      "/?x",
    ]) {
      const answer = await fetch(`${base}${odd}`).then((response) => response.status);
      expect([200, 400, 404]).toContain(answer);
    }
    const huge = await fetch(`${base}/${"A".repeat(200_000)}`).then(
      ({ status }) => status,
      () => 431, // The connection may be closed on what is beyond every limit of a header.
    );
    expect([200, 413, 414, 431]).toContain(huge);
    expect(await wordOf(issuing, (await issued()).serial)).toBe("good");
  });
});

describe("pkid ocsp check", () => {
  test("tells the status, the signer and the nonce, and exits 0", async () => {
    const { serial } = await issued();
    const told = await command(instance, [
      "ocsp",
      "check",
      "--ca",
      "issuing-ecdsa-p256",
      serial,
      "--nonce",
    ]);
    expect(told).toMatchObject({ status: "good", trusted: true, nonce: "echoed" });
    await revoke(issuing, serial, "aACompromise");
    const url = `${instance.publicUrl}/api/ca/${issuing.id}/ocsp`;
    const after = await command(instance, [
      "ocsp",
      "check",
      "--ca",
      "issuing-ecdsa-p256",
      serial,
      "--url",
      url,
    ]);
    expect(after).toMatchObject({ status: "revoked", reason: "aACompromise", nonce: "none" });
  });

  test("refuses the answer of a responder of another CA, and what is no serial", async () => {
    const url = `${instance.publicUrl}/api/ca/${root.id}/ocsp`;
    const serial = issuing.certificate.serial;
    const wrong = await instance.cli(
      "ocsp",
      "check",
      "--ca",
      "issuing-ecdsa-p256",
      serial,
      "--url",
      url,
    );
    expect([wrong.code, wrong.stderr.includes("cannot be trusted")]).toEqual([1, true]);
    const none = await instance.cli("ocsp", "check", "--ca", "issuing-ecdsa-p256", "xyz");
    expect(none.code).toBe(2);
  });

  // SLH-DSA is in post-quantum.test.ts, which shares one slow root.
  for (const [keyType, algorithm] of [
    ["rsa-3072", "classical"],
    ["ecdsa-p384", "classical"],
    ["ecdsa-p521", "classical"],
    ["ed25519", "classical"],
    ["ml-dsa-65", "pqc"],
    ["ecdsa-p256", "hybrid"],
  ] as const) {
    test(`believes the answers of a root with ${keyType}, ${algorithm}`, async () => {
      const label = `${algorithm}-${keyType}`;
      await made([
        "ca",
        "init-root",
        "--label",
        label,
        "--cn",
        label,
        "--key-type",
        keyType,
        "--algorithm",
        algorithm,
      ]);
      const told = await command(instance, ["ocsp", "check", "--ca", label, "77", "--nonce"]);
      expect(told).toMatchObject({ status: "unknown", trusted: true });
      await command(instance, ["revoke", "cert", "--ca", label, "77", "--yes"]);
      const after = await command(instance, ["ocsp", "check", "--ca", label, "77"]);
      expect(after).toMatchObject({ status: "revoked", trusted: true });
    }, 60_000);
  }
});

test("every answer is counted by its outcome", async () => {
  const counts = async () => {
    const text = await instance.metrics();
    return ["success", "malformed", "error"].map((result) =>
      Number(new RegExp(`pki_ocsp_requests_total\\{result="${result}"\\} (\\d+)`).exec(text)?.[1]),
    );
  };
  const before = await counts();
  await post(issuing.id, requestFor(issuing, [some(1)]));
  await post(issuing.id, new Uint8Array(1));
  await post(unknownCa, requestFor(issuing, [some(1)]));
  expect((await counts()).map((count, at) => count - (before[at] ?? 0))).toEqual([1, 1, 1]);
});

test("with ocsp.delegated off the CA signs itself, which the ledger lists, and openssl believes it", async () => {
  const direct = await Instance.start({ config: { ...config, ocsp: { delegated: false } } });
  try {
    const own = await createChain(direct, "ecdsa-p256");
    const made = await direct.admin<{ serial: string; certificate: string }>(
      "POST",
      `/api/ca/${own.intermediateId}/issue`,
      { csr },
    );
    const leaf = saved(own.folder, "leaf.pem", made.certificate);
    const { text } = await openssl([
      "ocsp",
      "-issuer",
      own.intermediate,
      "-cert",
      leaf,
      "-CAfile",
      own.root,
      "-verify_other",
      own.intermediate,
      "-url",
      `${direct.publicUrl}/api/ca/${own.intermediateId}/ocsp`,
      "-resp_text",
    ]);
    expect(text).toContain("Response verify OK");
    expect(text).toContain(`${leaf}: good`);
    expect(text).not.toContain("OCSP Responder");
  } finally {
    await direct.dispose();
  }
}, 60_000);

const admin = <T>(method: string, path: string, body?: unknown): Promise<T> =>
  instance.admin<T>(method, path, body);

const list = async (path: string) => (await admin<{ items: { id: string }[] }>("GET", path)).items;

const made = (args: readonly string[]) => command(instance, args);

const revoke = (authority: Authority, serial: string, reason: string) =>
  admin<{ revoked_at?: string }>("POST", `/api/ca/${authority.id}/revoke`, { serial, reason });

async function issued(): Promise<{ serial: Serial; leaf: string }> {
  const { serial, certificate } = await admin<{ serial: string; certificate: string }>(
    "POST",
    `/api/ca/${issuing.id}/issue`,
    { csr },
  );
  return { serial: parseSerial(serial), leaf: saved(chain.folder, `${serial}.pem`, certificate) };
}

const post = (id: string, body: Uint8Array): Promise<Response> =>
  fetch(`${instance.publicUrl}/api/ca/${id}/ocsp`, { method: "POST", body: new Uint8Array(body) });

const urlOf = ({ id }: Authority, der: Uint8Array): string =>
  `${instance.publicUrl}/api/ca/${id}/ocsp/${encodeURIComponent(Buffer.from(der).toString("base64"))}`;

const parsed = async (response: Response) => parseOcspResponse(await response.bytes());

async function wordOf(authority: Authority, serial: Serial, hash: Hash = "sha1"): Promise<string> {
  const certId = certIdOf(authority, serial, hashOids[hash], hash);
  const der = sequence(sequence(sequence(sequence(certId))));
  const { basic, status } = await parsed(await post(authority.id, der));
  const answer = basic?.answers[0]?.status;
  if (answer === undefined) return status;
  return answer.status === "revoked" ? `revoked ${answer.reason}` : answer.status;
}

async function responderOf(authority: Authority): Promise<ParsedCertificate> {
  const { basic } = await parsed(await post(authority.id, requestFor(authority, [some(5)])));
  return parseCertificate(basic?.certificates[0] ?? new Uint8Array(0));
}

/** A request whose base64 has both characters that are trouble in a path. */
async function slashed(): Promise<{ der: Uint8Array; plain: string }> {
  for (;;) {
    const der = requestFor(issuing, [(await issued()).serial]);
    const plain = Buffer.from(der).toString("base64");
    if (plain.includes("/") && plain.includes("+") && plain.endsWith("=")) return { der, plain };
  }
}

type Hash = keyof typeof hashOids;
const hashOids = {
  sha1: "1.3.14.3.2.26",
  sha256: "2.16.840.1.101.3.4.2.1",
  sha384: "2.16.840.1.101.3.4.2.2",
  sha512: "2.16.840.1.101.3.4.2.3",
} as const;

function certIdOf(authority: Authority, serial: Serial, hashOid: string, hash: Hash): Uint8Array {
  const { subject, spki } = authority.certificate;
  return sequence(
    sequence(oid(hashOid), Uint8Array.of(5, 0)),
    octetString(digest(hash, subject.der)),
    octetString(digest(hash, subjectPublicKeyBits(spki))),
    element(tags.integer, padded(serialToBytes(serial))),
  );
}

const padded = (octets: Uint8Array): Uint8Array =>
  (octets[0] ?? 0) < 0x80 ? octets : Buffer.concat([Uint8Array.of(0), octets]);

/** A request with these entries by SHA-1, and with the DER of its extensions. */
function requestFor(
  authority: Authority,
  serials: readonly Serial[],
  extensions?: Uint8Array,
): Uint8Array {
  const entries = serials.map((serial) =>
    sequence(certIdOf(authority, serial, hashOids.sha1, "sha1")),
  );
  const tail = extensions === undefined ? [] : [explicit(2, extensions)];
  return sequence(sequence(sequence(...entries), ...tail));
}

const extension = (type: string, value: Uint8Array, critical: boolean): Uint8Array =>
  encodeExtensions([{ oid: type, critical, value }]);

/** Octets of tag and length in front of the content. */
const headerLength = (der: Uint8Array): number =>
  (der[1] ?? 0) < 0x80 ? 2 : 2 + ((der[1] ?? 0) & 0x7f);

const some = (value: number): Serial => parseSerial(String(value));

const pem = (text: string): ParsedCertificate =>
  parseCertificate(decodePem(text, ["CERTIFICATE"]) ?? new Uint8Array(0));

const certificateIn = async (file: string): Promise<ParsedCertificate> =>
  pem(await Bun.file(file).text());

const unknownCa = "5f0c3b9e-0000-4000-8000-000000000000";
