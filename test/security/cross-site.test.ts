/**
 * What another site's page can do with the cookies of a person who is logged in: nothing, for every
 * operation of the table.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { type OperationName, operationOf, operations, routesOf } from "#operations";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { logIn, type Person, send } from "#test/support/instances/person.ts";
import { stateOf } from "#test/support/instances/whole-state.ts";

const password = "correct horse battery staple";
let instance: Instance;
let chain: Chain;
let person: Person;
let other: Person;
let serial: string;

beforeAll(async () => {
  const webauthn = { enabled: true, rp_id: "example.com", origins: ["https://pki.example.com"] };
  const config = { root_user: { password }, auth: { webauthn } };
  instance = await Instance.start({ config });
  chain = await createChain(instance, "ecdsa-p256");
  const path = `/api/ca/${chain.intermediateId}/issue`;
  serial = (await instance.admin<{ serial: string }>("POST", path, { csr: csr() })).serial;
  [person, other] = [await logIn(instance, password), await logIn(instance, password)];
}, 60_000);

afterAll(() => instance.dispose());

const names = Object.keys(operations) as OperationName[]; // The table's own keys.
const routes = names.flatMap((name) =>
  routesOf(operationOf(name)).map((route) => ({ name, ...route })),
);

/** The path with ids of what there is. */
const pathOf = (pattern: string): string =>
  pattern
    .replace("/api/tenants/{id}", "/api/tenants/default")
    .replace(/^(\/api\/(?:ca|keys)\/)\{id\}/, `$1${chain.intermediateId}`)
    .replace("{serial}", serial)
    .replace("{shard}", "0")
    .replace("{request*}", "MEQ=")
    .replace(/\{[a-z_]+\}/g, "x1");

test("a GET changes nothing, whatever it is asked to do instead, but that an export is recorded: tried for every operation", async () => {
  const override = { "x-http-method-override": "DELETE", "x-method-override": "POST" };
  const gets = routes.filter(({ method }) => method === "GET");
  expect(gets.length).toBeGreaterThan(40);
  for (const { name } of gets) expect([name, operationOf(name).writes]).toEqual([name, undefined]);
  const before = unexported();
  for (const { path } of gets) {
    for (const query of ["", "?_method=DELETE&method=POST&destroy_key=true"]) {
      for (const method of ["GET", "HEAD", "OPTIONS"]) {
        await instance.fetch(`${pathOf(path)}${query}`, {
          method,
          redirect: "manual",
          headers: { ...person, ...override },
        });
      }
    }
  }
  expect(unexported()).toEqual(before);
  expect((await send(instance, person, "GET", "/api/me")).status).toBe(200);
}, 30_000);

/** All that is stored but the events of exports: handing events out is recorded, and no more. */
function unexported() {
  const { events = "", ...state } = stateOf(instance);
  const rows: readonly (readonly [name: string, value: unknown])[][] = JSON.parse(events);
  const isExport = (row: (typeof rows)[number]) =>
    row.some(([name, value]) => name === "action" && value === "audit.export");
  return { ...state, events: rows.filter((row) => !isExport(row)) };
}

describe("a change a page asks for with a person's cookies", () => {
  /** What is never done in anybody's name. */
  const nameless: readonly OperationName[] = ["auth.login_password", "auth.login_ldap"];
  const changes = routes.filter(
    ({ name, method }) =>
      method !== "GET" &&
      !nameless.includes(name) &&
      operationOf(name).local !== true &&
      operationOf(name).speaks === undefined,
  );

  test("without the token, with another's, or as a form sends it, is refused for every operation and alias", async () => {
    expect(changes.length).toBeGreaterThan(40);
    const { cookie = "" } = person;
    const tokens = [
      undefined,
      "",
      "x",
      other["x-csrf-token"],
      `${person["x-csrf-token"]} `.slice(0, -2),
    ];
    const before = stateOf(instance);
    for (const { method, path } of changes) {
      for (const [at, token] of tokens.entries()) {
        const given = token === undefined ? {} : { "x-csrf-token": token };
        const type = at % 2 === 0 ? "application/json" : "application/x-www-form-urlencoded";
        const headers = { cookie, ...given, "content-type": type, origin: "https://evil.test" };
        const init = { method, headers, ...(method === "DELETE" ? {} : { body: "{}" }) };
        const answer = await instance.fetch(pathOf(path), init);
        const { code } = (await answer.json()) as { code: string };
        expect([method, path, at, answer.status, code]).toEqual([
          method,
          path,
          at,
          403,
          "csrf_failed",
        ]);
        expect(answer.headers.get("access-control-allow-origin")).toBeNull();
      }
    }
    expect(stateOf(instance)).toEqual(before);
    expect((await send(instance, person, "GET", "/api/me")).status).toBe(200);
  }, 60_000);

  test("over every remote call is refused too, in each way of speaking", async () => {
    const { cookie = "" } = person;
    const methods = [
      "IssueCertificate",
      "RevokeCertificate",
      "RenewCertificate",
      "ListCertificates",
    ];
    for (const method of methods) {
      for (const type of ["application/json", "application/proto"]) {
        const answer = await called(method, type, cookie);
        const detail = Buffer.from((await answer.json()).details[0].value, "base64").toString();
        expect([method, type, answer.status]).toEqual([method, type, 403]);
        expect(detail).toContain("csrf_failed");
      }
      const answer = await called(method, "application/grpc-web+proto", cookie);
      const told = `${answer.headers.get("grpc-status")} ${Buffer.from(await answer.arrayBuffer())}`;
      expect([method, /^7 |grpc-status: ?7/.test(told)]).toEqual([method, true]);
    }
  });

  const called = (method: string, type: string, cookie: string) =>
    instance.fetch(`/pki.v1.PKIService/${method}`, {
      method: "POST",
      headers: { cookie, "content-type": type },
      body: type.endsWith("json") ? "{}" : new Uint8Array(type.includes("grpc") ? 5 : 0),
    });

  test("is no login either, and a page may read nothing", async () => {
    const body = JSON.stringify({ username: "root", password });
    for (const origin of [
      "https://evil.test",
      "null",
      "https://localhost.evil.test",
      `${instance.url}.evil.test`,
    ]) {
      for (const way of ["password", "ldap"]) {
        const headers = { "content-type": "application/json", origin };
        const answer = await instance.fetch(`/auth/login/${way}`, {
          method: "POST",
          body,
          headers,
        });
        expect([origin, way, answer.headers.getSetCookie()]).toEqual([origin, way, []]);
      }
      const headers = { ...person, origin, "access-control-request-method": "DELETE" };
      for (const method of ["OPTIONS", "GET"]) {
        const read = await instance.fetch("/api/tokens", { method, headers });
        const cors = [...read.headers.keys()].filter((name) => name.startsWith("access-control"));
        expect([method, cors]).toEqual([method, []]);
      }
    }
  });

  test("with the token of the session is done, so that all of this is not for another reason", async () => {
    const request = { slug: "mine", name: "Mine" };
    expect((await send(instance, person, "POST", "/api/tenants", request)).status).toBe(201);
  });
});
