/**
 * What another site's page can do through a browser that holds a certificate or a password:
 * nothing, for every operation.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { type OperationName, operationOf, operations, routesOf } from "#operations";
import { OutsideCa } from "#test/support/tls/client-certificates.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { basic } from "#test/support/instances/person.ts";
import { material } from "#test/support/tls/tls-client.ts";
import { stateOf } from "#test/support/instances/whole-state.ts";

const password = "correct horse battery staple";
const publicUrl = "https://pki.example.com";
const passkeyOrigin = "https://console.example.com";
const outside = OutsideCa.root("Outside");
const held = material(outside.below("Issuing").client());
const home = newHome();
const caFile = join(home, "client-cas.pem");
let instance: Instance;
let chain: Chain;
let serial: string;

beforeAll(async () => {
  writeFileSync(caFile, outside.pem);
  const bindings = [{ name: "boss", subject_cn: "robot", subject: "boss", roles: ["admin"] }];
  instance = await Instance.start({
    home,
    config: {
      server: { public_url: publicUrl },
      root_user: { password },
      auth: {
        mtls: { enabled: true, ca_file: caFile, bindings },
        webauthn: { enabled: true, rp_id: "example.com", origins: [passkeyOrigin] },
      },
      approvals: { enabled: true, thresholds: { "token.create": 1 } },
    },
  });
  chain = await createChain(instance, "ecdsa-p256");
  const path = `/api/ca/${chain.intermediateId}/issue`;
  serial = (await instance.admin<{ serial: string }>("POST", path, { csr: csr() })).serial;
}, 60_000);

afterAll(() => instance.dispose());

/** What a browser shows of a person without being asked. */
const holders = ["certificate", "password", "nothing"] as const;
type Holder = (typeof holders)[number];

/** One request of whoever holds this. */
function from(holder: Holder, path: string, init: RequestInit): Promise<Response> {
  const proof = holder === "password" ? basic("root", password) : {};
  return fetch(`${instance.url}${path}`, {
    ...init,
    redirect: "manual",
    headers: { ...proof, ...(init.headers as Record<string, string>) }, // Ours, as below.
    tls: { ca: instance.servingCa(), ...(holder === "certificate" ? held : {}) },
  });
}

const codeOf = async (answer: Response): Promise<string | undefined> => {
  const text = await answer.text();
  return text.startsWith("{") ? (JSON.parse(text) as { code?: string }).code : undefined;
};

const names = Object.keys(operations) as OperationName[]; // The table's own keys.
const changes = names
  // Devices show no credential that a browser would add: what they ask for proves itself.
  .filter((name) => operationOf(name).local !== true && operationOf(name).speaks === undefined)
  .flatMap((name) => routesOf(operationOf(name)))
  .filter(({ method }) => method !== "GET");

/** The path with ids of what there is. */
const pathOf = (pattern: string): string =>
  pattern
    .replace("/api/tenants/{id}", "/api/tenants/default")
    .replace(/^(\/api\/(?:ca|keys)\/)\{id\}/, `$1${chain.intermediateId}`)
    .replace("{serial}", serial)
    .replace(/\{[a-z_]+\}/g, "x1");

const json = { "content-type": "application/json" };
const form = { "content-type": "application/x-www-form-urlencoded" };

/** What a page of another site makes a browser say. */
const foreign: readonly Readonly<Record<string, string>>[] = [
  { ...form, origin: "https://evil.test", "sec-fetch-site": "cross-site" },
  { ...form, origin: "https://evil.test" },
  { ...form, origin: "null" },
  { ...form, "sec-fetch-site": "cross-site" },
  { ...json, "sec-fetch-site": "same-site" },
  { ...json, origin: "https://sub.pki.example.com", "sec-fetch-site": "same-site" },
  { ...json, origin: "http://pki.example.com" },
  { "content-type": "text/plain", origin: "https://evil.test" },
  { origin: "https://evil.test" },
];

describe("a change that another site's page asks for", () => {
  test.each([...holders])(
    "is refused for every operation and alias, with %s to show",
    async (holder) => {
      expect(changes.length).toBeGreaterThan(40);
      const before = stateOf(instance);
      for (const { method, path } of changes) {
        for (const [at, headers] of foreign.entries()) {
          const answer = await from(holder, pathOf(path), { method, headers });
          expect([method, path, at, answer.status, await codeOf(answer)]).toEqual([
            method,
            path,
            at,
            403,
            "csrf_failed",
          ]);
          expect(answer.headers.getSetCookie()).toEqual([]);
        }
      }
      expect(stateOf(instance)).toEqual(before);
    },
    60_000,
  );

  test("is refused over remote calls, whichever way they are spoken", async () => {
    const before = stateOf(instance);
    for (const method of ["IssueCertificate", "RevokeCertificate", "RenewCertificate"]) {
      for (const type of ["application/json", "application/proto"]) {
        const answer = await from("certificate", `/pki.v1.PKIService/${method}`, {
          method: "POST",
          headers: { "content-type": type, origin: "https://evil.test" },
        });
        const { details } = (await answer.json()) as { details: { value: string }[] };
        const detail = Buffer.from(details[0]?.value ?? "", "base64").toString();
        expect([method, type, answer.status]).toEqual([method, type, 403]);
        expect(detail).toContain("csrf_failed");
      }
    }
    expect(stateOf(instance)).toEqual(before);
  });

  test("as an empty form approves nothing that waits for two, which a machine does all the same", async () => {
    const request = { name: "wide", roles: ["admin"], scope: "platform" };
    const parked = await instance.admin<{ approval_id: string }>("POST", "/api/tokens", request);
    const path = `/api/approvals/${parked.approval_id}/approve`;
    const statusOf = async () =>
      (await instance.admin<{ status: string }>("GET", `/api/approvals/${parked.approval_id}`))
        .status;
    for (const headers of foreign) {
      expect((await from("certificate", path, { method: "POST", headers })).status).toBe(403);
    }
    expect(await statusOf()).toBe("pending");
    const own = { ...form, origin: instance.url, "sec-fetch-site": "same-origin" };
    const asForm = await from("certificate", path, { method: "POST", headers: own });
    expect([asForm.status, await codeOf(asForm)]).toEqual([415, "unsupported_media_type"]);
    expect(await statusOf()).toBe("pending");
    expect((await from("certificate", path, { method: "POST" })).status).toBe(200);
    expect(await statusOf()).not.toBe("pending");
  });
});

describe("a change is not held up for this", () => {
  test("when the server's own page asks, at any of its addresses", async () => {
    for (const origin of [instance.url, publicUrl, passkeyOrigin]) {
      for (const holder of ["certificate", "password"] as const) {
        const headers = { ...json, origin, "sec-fetch-site": "same-origin" };
        const body = JSON.stringify({ certificate: "x" });
        const answer = await from(holder, "/api/lint", { method: "POST", headers, body });
        expect([origin, holder, answer.status, await codeOf(answer)]).not.toEqual([
          origin,
          holder,
          403,
          "csrf_failed",
        ]);
        expect([400, 200]).toContain(answer.status);
      }
    }
  });

  test("when a machine asks, which says nothing of pages", async () => {
    for (const { method, path } of changes) {
      const answer = await from("nothing", pathOf(path), { method });
      const code = await codeOf(answer);
      expect([method, path, code === "csrf_failed", answer.status === 415]).toEqual([
        method,
        path,
        false,
        false,
      ]);
    }
  });

  test("when a relying party's page asks for the status of a certificate", async () => {
    const answer = await from("nothing", `/api/ca/${chain.intermediateId}/ocsp`, {
      method: "POST",
      headers: { "content-type": "application/ocsp-request", origin: "https://evil.test" },
      body: new Uint8Array([0x30, 0]),
    });
    expect(answer.status).toBe(200);
  });
});
