/**
 * Random octets thrown at every door of the running binary: it answers in its own words, keeps its
 * size, and goes on.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { Dice, printable } from "#test/support/fuzz/dice.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { fuzz, residentMegabytes } from "#test/support/fuzz/fuzz.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { rawOverTls } from "#test/support/tls/raw-tls.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

let instance: Instance;
let chain: Chain;
let secret: string;
let csr: string;

beforeAll(async () => {
  instance = await Instance.start();
  chain = await createChain(instance, "ecdsa-p256");
  secret = await instance.token(["admin"], { scope: "platform" });
  csr = await newCsr(instance.home, "fuzz.example.test");
}, 30_000);

afterAll(() => instance.dispose());

describe("random input", () => {
  test("as OCSP requests gets OCSP answers", async () => {
    const path = `/api/ca/${chain.intermediateId}/ocsp`;
    await round(async (random) => {
      const body = random.octets(random.below(3) === 0 ? 70_000 : 300);
      const posted = await post(path, body, "application/ocsp-request");
      expect([200, 413]).toContain(posted.status);
      if (posted.status === 200) expect(await statusByte(posted)).toBe(malformedRequest);
      const encoded = encodeURIComponent(random.octets(200).toBase64());
      const got = await instance.fetch(`${path}/${encoded}`);
      if (got.status === 200) expect(await statusByte(got)).toBe(malformedRequest);
      else expect(got.status).toBe(404);
    });
  }, 60_000);

  test("as JSON gets a named refusal", async () => {
    const paths = ["/api/ca/init-root", "/api/tokens", `/api/ca/${chain.intermediateId}/issue`];
    await round(async (random) => {
      const path = paths[random.below(paths.length)] ?? "";
      const answer = await post(path, random.jsonish(csr, names), "application/json");
      await refusedByName(answer, [201, 400, 404, 409]);
    });
  }, 60_000);

  test("inside a certificate request gets a named refusal", async () => {
    const der = Uint8Array.fromBase64(csr.replace(/-----[^-]+-----|\s/g, ""));
    await round(async (random) => {
      const bad = der.slice();
      for (let flips = 1 + random.below(3); flips > 0; flips--) {
        bad[random.below(bad.length)] = random.below(256);
      }
      const body = {
        csr: `-----BEGIN CERTIFICATE REQUEST-----\n${bad.toBase64()}\n-----END CERTIFICATE REQUEST-----`,
      };
      const path = `/api/ca/${chain.intermediateId}/issue`;
      await refusedByName(await post(path, JSON.stringify(body), "application/json"), [201, 400]);
    });
  }, 60_000);

  test("as credentials gets 401", async () => {
    const schemes = ["Basic", "Token", "Bearer", "Digest", "Negotiate", ""];
    await round(async (random) => {
      const scheme = schemes[random.below(schemes.length)] ?? "";
      const octets = random.octets(60);
      const value = random.below(2) === 0 ? octets.toBase64() : printable(octets);
      const headers = { authorization: `${scheme} ${value}` };
      const answer = await instance.fetch("/api/me", { headers });
      await refusedByName(answer, [401]);
    });
  }, 60_000);

  test("as cookies opens nothing, alone or beside a credential", async () => {
    const cookies = ["pki_session", "pki_session_csrf", "pki_session_oidc_tx", "PKI_SESSION", ""];
    await round(async (random) => {
      const octets = random.octets(64);
      const value = random.below(2) === 0 ? octets.toBase64() : printable(octets);
      const name = cookies[random.below(cookies.length)] ?? "";
      const cookie = `${name}=${value.replaceAll(/[\r\n\0]/g, "")}`;
      for (const path of ["/api/me", "/auth/session"]) {
        await refusedByName(await instance.fetch(path, { headers: { cookie } }), [401]);
      }
      const callback = await instance.fetch(`/auth/callback?state=${encodeURIComponent(value)}`, {
        headers: { cookie },
      });
      await refusedByName(callback, [404]);
      const headers = { cookie, authorization: `Token ${secret}` };
      expect((await instance.fetch("/api/me", { headers })).status).toBe(200);
    });
  }, 60_000);

  test("as a request gets 400, a refusal, or the end of the connection", async () => {
    await round(async (random) => {
      const path = printable(random.octets(80)).replaceAll(/[ #]/g, "");
      const raw = await rawOverTls(
        instance,
        random.below(3) === 0
          ? Buffer.concat([random.octets(200), Buffer.from("\r\n\r\n")])
          : `GET /${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${printable(random.octets(40))}: x\r\n\r\n`,
      ).catch(() => "");
      expect(raw === "" || /^HTTP\/1\.1 (2|4|302|505)/.test(raw)).toBe(true);
    });
  }, 60_000);

  test("leaves the server as it was: answering, verified, and of bounded size", async () => {
    expect((await instance.fetch("/readyz")).status).toBe(200);
    expect((await instance.cli("audit", "verify")).code).toBe(0);
    expect(residentMegabytes(instance.pid)).toBeLessThan(500);
    expect(instance.logs.filter((line) => line.includes("request_failed"))).toEqual([]);
    expect(instance.logs.filter((line) => line.includes('"msg":"crash"'))).toEqual([]);
  });
});

test("a short run of the long fuzz breaks nothing", async () => {
  const report = await fuzz({
    calls: 800,
    inputs: 1200,
    raw: 150,
    seed: 7,
    clients: 8,
    minutesMax: 2,
  });
  expect(report.broken).toEqual([]);
  expect(report.made).toEqual({ "API calls": 800, "damaged inputs": 1200, "raw HTTP": 150 });
  expect(report.statuses.get(200)).toBeGreaterThan(100);
}, 180_000);

function post(path: string, body: string | Uint8Array, type: string): Promise<Response> {
  const headers = { authorization: `Token ${secret}`, "content-type": type };
  // The DOM types want an ArrayBuffer of its own; fetch sends any view of octets.
  return instance.fetch(path, { method: "POST", headers, body: body as string });
}

/** Twenty-five rounds of twelve at once: enough to be rude, little enough to be quick. */
async function round(attack: (random: Dice) => Promise<void>): Promise<void> {
  for (let wave = 0; wave < 25; wave++) {
    const attacks = Array.from({ length: 12 }, (_, at) => attack(new Dice(wave * 12 + at + 1)));
    await Promise.all(attacks);
  }
}

async function refusedByName(answer: Response, allowed: readonly number[]): Promise<void> {
  const text = await answer.text();
  expect([text, allowed.includes(answer.status)]).toEqual([text, true]);
  if (answer.status < 400) return;
  const body = JSON.parse(text);
  expect(body).toMatchObject({ request_id: answer.headers.get("x-request-id") });
  expect(body.code).toMatch(/^[a-z_]+$/);
}

/**
 * RFC 6960 §4.2.1: the response status is the one octet of the ENUMERATED after the outer SEQUENCE.
 */
async function statusByte(answer: Response): Promise<number | undefined> {
  const octets = new Uint8Array(await answer.arrayBuffer());
  expect(answer.headers.get("content-type")).toBe("application/ocsp-response");
  return octets[4];
}

const names = ["label", "subject", "csr", "profile", "name", "roles", "scope", "__proto__"];
const malformedRequest = 1;
