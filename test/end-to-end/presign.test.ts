/**
 * OCSP answers signed ahead by the binary: what relying parties are told while the token is gone or
 * overrun.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { parseSerial, type Serial } from "#core/ids.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { type Chain, command, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";
import { createHsmToken, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

let hsmToken: SoftHsmToken;
let instance: Instance;
let chain: Chain;
let issuer: ParsedCertificate;
let csr: string;

beforeAll(async () => {
  hsmToken = await createHsmToken();
  const config = {
    ...hsmToken.config,
    presign: { enabled: true, validity_minutes: 60 },
    server: { public_http: { enabled: true, address: "127.0.0.1:0" } },
    // Room for the server's own first sweep, which comes within ten seconds, beside what the tests
    // do one by one.
    rate_limit: { concurrency: { enabled: true, max_in_flight: 1, max_queue: 4 } },
  };
  instance = await Instance.start({ config, env: hsmToken.env });
  chain = await createChain(instance, "ecdsa-p256");
  const text = await Bun.file(chain.intermediate).text();
  issuer = parseCertificate(decodePem(text, ["CERTIFICATE"]) ?? new Uint8Array(0));
  csr = await newCsr(chain.folder, "ahead.example.test");
}, 60_000);

afterAll(async () => {
  await instance.dispose();
  hsmToken.remove();
});

test("answers signed ahead outlast the token, and nothing else is said without it", async () => {
  const [known, doomed] = [await issued(), await issued()];
  const told = await command(instance, ["ocsp", "presign", "--ca", "issuing-ecdsa-p256"]);
  expect(Number(told.responses)).toBeGreaterThanOrEqual(4);
  const late = await issued();
  const tokens = join(hsmToken.folder, "tokens");
  renameSync(tokens, `${tokens}.away`);
  while ((await wordOf(late.serial)) !== "tryLater") await Bun.sleep(20);
  for (const hash of ["sha1", "sha256"] as const) {
    expect(await wordOf(known.serial, { hash })).toBe("good");
  }
  const cached = await get(known.serial);
  expect(cached.headers.get("cache-control")).toMatch(/^public, max-age=3[0-9]{3}, no-transform$/);
  expect(await wordOf(known.serial, { nonce: new Uint8Array(16) })).toBe("tryLater");
  // A revocation needs no key, and from its answer on nobody hears the old word again.
  const path = `/api/ca/${chain.intermediateId}/revoke`;
  await instance.admin("POST", path, { serial: doomed.serial, reason: "superseded" });
  expect(await wordOf(doomed.serial)).toBe("tryLater");
  expect(await wordOf(known.serial)).toBe("good");
  renameSync(`${tokens}.away`, tokens);
  while ((await wordOf(late.serial)) === "tryLater") await Bun.sleep(20);
  expect([await wordOf(doomed.serial), await wordOf(late.serial)]).toEqual(["revoked", "good"]);
}, 60_000);

test("openssl believes an answer signed ahead", async () => {
  const { serial, leaf } = await issued();
  await signedAhead();
  const response = saved(chain.folder, "ahead.der", await (await get(serial)).bytes());
  const { text } = await openssl([
    "ocsp",
    "-issuer",
    chain.intermediate,
    "-cert",
    leaf,
    "-respin",
    response,
    "-no_nonce",
    "-CAfile",
    chain.root,
    "-verify_other",
    chain.intermediate,
  ]);
  expect(text).toContain("Response verify OK");
  expect(text).toContain(`${leaf}: good`);
});

test("while the guard sheds, nonces are told tryLater with 503, and answers signed ahead go on", async () => {
  const { serial } = await issued();
  await signedAhead();
  const nonced = Array.from({ length: 64 }, (_, n) =>
    post(serial, { nonce: new Uint8Array(16).fill(n) }),
  );
  const plain = Array.from({ length: 32 }, () => get(serial));
  const shed: Response[] = [];
  for (const answer of await Promise.all(nonced)) {
    if (answer.status !== 200) shed.push(answer);
    else expect(parseOcspResponse(await answer.bytes()).status).toBe("successful");
  }
  expect(shed.length).toBeGreaterThan(0);
  for (const answer of shed) {
    expect([answer.status, Number(answer.headers.get("retry-after")) >= 1]).toEqual([503, true]);
    expect(answer.headers.get("content-type")).toBe("application/ocsp-response");
    expect(parseOcspResponse(await answer.bytes()).status).toBe("tryLater");
  }
  for (const answer of await Promise.all(plain)) expect(answer.status).toBe(200);
}, 30_000);

test("a sweep is an event, and refused where nothing is signed ahead", async () => {
  const { items } = await instance.admin<{ items: { actor: string; detail: string }[] }>(
    "GET",
    "/api/events?action=ocsp.presign",
  );
  expect(items.some(({ actor }) => actor.startsWith("local:"))).toBe(true);
  expect(items.at(-1)?.detail).toMatch(/^responses=\d+ signed=\d+ shed=\d+ duration=/);
  const plain = await Instance.start();
  try {
    const refused = await plain.cli("ocsp", "presign");
    expect([refused.code, refused.stderr.includes("feature_disabled")]).toEqual([1, true]);
  } finally {
    await plain.dispose();
  }
}, 30_000);

async function issued(): Promise<{ serial: Serial; leaf: string }> {
  const { serial, certificate } = await instance.admin<{ serial: string; certificate: string }>(
    "POST",
    `/api/ca/${chain.intermediateId}/issue`,
    { csr },
  );
  return { serial: parseSerial(serial), leaf: saved(chain.folder, `${serial}.pem`, certificate) };
}

/**
 * Signs ahead for every CA. The server's own first sweep comes within ten seconds; where it fell
 * into the time without the token, it made no responder for the root, and nobody may try that again
 * for five seconds.
 */
async function signedAhead(): Promise<void> {
  for (;;) {
    const { code, stderr } = await instance.cli("ocsp", "presign", "--json");
    if (code === 0) return;
    expect(stderr).toContain('"code":"key_unavailable"');
    await Bun.sleep(200);
  }
}

interface Question {
  readonly hash?: "sha1" | "sha256";
  readonly nonce?: Uint8Array;
}

function question(serial: Serial, { hash = "sha1", nonce }: Question = {}): Uint8Array {
  const names = { issuerName: issuer.subject.der, issuerSpki: issuer.spki };
  return encodeOcspRequest({ ...names, serial, hash, nonce });
}

const post = (serial: Serial, asked?: Question) =>
  fetch(`${instance.publicUrl}/api/ca/${chain.intermediateId}/ocsp`, {
    method: "POST",
    body: new Uint8Array(question(serial, asked)),
  });

const get = (serial: Serial) => {
  const request = Buffer.from(question(serial)).toString("base64url");
  return fetch(`${instance.publicUrl}/api/ca/${chain.intermediateId}/ocsp/${request}`);
};

async function wordOf(serial: Serial, asked?: Question): Promise<string> {
  const { status, basic } = parseOcspResponse(await (await post(serial, asked)).bytes());
  return basic?.answers[0]?.status.status ?? status;
}
