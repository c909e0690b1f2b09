/**
 * What a request leaves out and what it names that nobody knows: the same rule on every operation
 * (API-1, API-2).
 */

import { askJson, openPipeline, stubOf } from "#test/support/worlds/asking.ts";
import { beforeAll, describe, expect, test } from "bun:test";

import { passkeyHandlers } from "#api/passkeys.ts";
import type { Perform } from "#domain/access/perform.ts";
import type { OperationName } from "#operations";
import {
  admin,
  type GovernedWorld,
  governedWorld,
  refusal,
} from "#test/support/worlds/governed-world.ts";

let world: GovernedWorld;
let issuing: string;
let perform: Perform;
beforeAll(async () => {
  world = await governedWorld();
  issuing = (await world.ca("web-issuing")).id;
  const { store, clock } = world;
  perform = openPipeline({ store, clock });
});

describe("an empty body", () => {
  const empty: readonly (readonly [OperationName, () => Readonly<Record<string, string>>])[] = [
    ["cert.preview", () => ({ id: issuing })],
    ["ca.cross_sign", () => ({ id: issuing })],
    ["tenant.update", () => ({ id: "web" })],
    ["ca.retire", () => ({ id: issuing })],
  ];
  test.each(empty)("of %s is one without members", async (operation, path) => {
    const without = await refusal(world.ask(operation, admin, { path: path() }));
    const hollow = await refusal(world.ask(operation, admin, { path: path(), body: {} }));
    expect(without).toEqual(hollow);
    expect(without.code).not.toBe("malformed_json");
  });

  test("is refused where a member is demanded", async () => {
    const issue = world.ask("cert.issue", admin, { path: { id: issuing } });
    expect((await refusal(issue)).code).toBe("malformed_json");
  });
});

describe("an operation that takes no body", () => {
  const bodiless: readonly (readonly [OperationName, () => Readonly<Record<string, string>>])[] = [
    ["cert.suspend", () => ({ id: issuing, serial: "77" })],
    ["cert.release", () => ({ id: issuing, serial: "77" })],
    ["crl.publish", () => ({ id: issuing })],
    ["token.revoke", () => ({ id: "none" })],
    ["webauthn.register_begin", () => ({})],
    ["webauthn.remove", () => ({ id: "none" })],
  ];
  test.each(bodiless)(
    "%s refuses members it would not heed, and takes none at all",
    async (operation, path) => {
      const handled = async (body: unknown) => {
        let ran = false;
        const stub = stubOf(operation, async () => {
          ran = true;
          return {};
        });
        const principal = admin;
        const origin = { principal, ip: "", requestId: "" };
        const call = { operation, origin, path: path(), query: new URLSearchParams() };
        const refused = await askJson(perform, { ...call, body: async () => body }, stub).then(
          () => undefined,
          ({ code, facts }) => [code, facts.field],
        );
        return { ran, refused };
      };
      const unknown = { ran: false, refused: ["unknown_field", "reason"] };
      expect(await handled({ reason: "keyCompromise" })).toEqual(unknown);
      expect((await handled([])).ran).toBe(false);
      expect((await handled("now")).ran).toBe(false);
      for (const none of [undefined, {}]) {
        expect(await handled(none)).toEqual({ ran: true, refused: undefined });
      }
    },
  );
});

describe("a filter nobody knows is refused and is not an empty page", () => {
  const unknown: readonly (readonly [OperationName, string, string])[] = [
    ["event.list", "action", "cert.isue"],
    ["event.list", "action", "certs.*"],
    ["event.list", "action", "toString"],
    ["event.list", "result", "failed"],
    ["ca.list", "parent_id", "none"],
    ["ca.list", "status", "broken"],
  ];
  test.each(unknown)("%s by %s=%s", async (operation, parameter, value) => {
    const asked = world.ask(operation, admin, { query: { [parameter]: value } });
    expect(await refusal(asked)).toMatchObject({ code: "bad_query", facts: { parameter } });
  });

  test("while the names that are known are taken", async () => {
    for (const action of ["cert.issue", "cert.*", "ca.create.*", "auth.login"]) {
      expect((await world.ask("event.list", admin, { query: { action } })).status).toBe(200);
    }
    const parent_id = (await world.ca("web-root")).id;
    const { items } = await world.ask("ca.list", admin, { query: { parent_id } });
    expect(items.map(({ label }: { label: string }) => label)).toEqual(["web-issuing"]);
  });
});

test("a feature that is off is named", async () => {
  // Nothing of it is reached while it is off.
  const { "webauthn.list": list } = passkeyHandlers({} as never);
  const asked = (async () => list.run({} as never))(); // As above.
  expect(await refusal(asked)).toEqual({
    code: "feature_disabled",
    facts: { feature: "auth.webauthn" },
  });
});
