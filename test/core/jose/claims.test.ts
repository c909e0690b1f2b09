/**
 * Claims of a token: for us, from the right issuer, now, and about somebody who may have a name
 * here.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { claimsValid, expiryOf, identityOf } from "#core/jose/claims.ts";
import { instant } from "#core/time.ts";

const now = instant(1_800_000_000_000);
const seconds = 1_800_000_000;
const expected = { issuer: "https://id.test", audience: "pkid", now } as const;
const good = {
  iss: "https://id.test",
  aud: "pkid",
  exp: seconds + 300,
  iat: seconds - 5,
  sub: "a",
};
const holds = (change: object, use: "id" | "bearer" = "id", type?: string) =>
  claimsValid({ claims: { ...good, ...change }, type }, { ...expected, use });

describe("claims", () => {
  test("hold when everything is as expected", () => {
    expect(holds({})).toBe(true);
    expect(holds({ aud: ["pkid"] })).toBe(true);
    expect(holds({ aud: ["pkid", "other"], azp: "pkid" })).toBe(true);
    expect(holds({}, "bearer")).toBe(true);
  });

  test("of another issuer or audience do not, however alike", () => {
    for (const iss of ["https://id.test/", "https://ID.test", "http://id.test", "", 1, undefined]) {
      expect([iss, holds({ iss })]).toEqual([iss, false]);
    }
    for (const aud of ["Pkid", "pkid ", "", ["other"], [], [["pkid"]], { pkid: 1 }, undefined]) {
      expect([aud, holds({ aud })]).toEqual([aud, false]);
      expect([aud, holds({ aud }, "bearer")]).toEqual([aud, false]);
    }
  });

  test("with further audiences say that the ID token was made for us", () => {
    expect(holds({ aud: ["pkid", "other"] })).toBe(false);
    expect(holds({ azp: "other" })).toBe(false);
    expect(holds({ aud: ["pkid", "other"], azp: "cli" }, "bearer")).toBe(true);
  });

  test("are good from their beginning to their end, a minute of either clock apart", () => {
    for (const [change, verdict] of [
      [{ exp: seconds - 59 }, true],
      [{ exp: seconds - 60 }, false],
      [{ nbf: seconds + 60 }, true],
      [{ nbf: seconds + 61 }, false],
      [{ iat: seconds + 60 }, true],
      [{ iat: seconds + 61 }, false],
      [{ iat: undefined }, false],
      [{ exp: undefined }, false],
      [{ exp: String(seconds + 300) }, false],
      [{ exp: Number.POSITIVE_INFINITY }, false],
      [{ nbf: "0" }, false],
    ] as const) {
      expect([change, holds(change)]).toEqual([change, verdict]);
    }
    expect(holds({ iat: undefined }, "bearer")).toBe(true);
  });

  test("of a token made for something else do not hold, by its type", () => {
    for (const type of ["at+jwt", "logout+jwt", "secevent+jwt", "dpop+jwt", "x"]) {
      expect([type, holds({}, "id", type)]).toEqual([type, false]);
    }
    expect(holds({}, "id", "jwt")).toBe(true);
    expect(holds({}, "bearer", "at+jwt")).toBe(true);
    expect(holds({}, "bearer", "logout+jwt")).toBe(false);
  });
});

describe("an identity", () => {
  const names = { groupsClaim: "groups", mapped: ["groups", "dept"] };

  test("is read from the claims, each of its own kind", () => {
    const claims = {
      sub: "a-1",
      name: "Alice",
      email: "a@x.test",
      email_verified: true,
      groups: ["ops", 1, null, "dev"],
      dept: "pki",
      preferred_username: "alice",
    };
    expect(identityOf(claims, names)).toEqual({
      voucher: "oidc",
      issuer: "",
      subject: "a-1",
      loginName: "alice",
      name: "Alice",
      email: "a@x.test",
      emailVerified: true,
      groups: ["ops", "dev"],
      claims: { groups: ["ops", "dev"], dept: ["pki"] },
    });
  });

  test("has a subject that shows, and shows no other text that does not", () => {
    for (const sub of ["a\u202eb", "a\u200b", "\u3164", "local"]) {
      expect(identityOf({ sub }, names)).toBeUndefined();
    }
    const hidden = { name: "\u202etoor", email: "b\u200boss@x.test", email_verified: true };
    const found = identityOf({ sub: "a", iss: "https://id.x.test", ...hidden }, names);
    expect(found).toMatchObject({
      subject: "a",
      issuer: "https://id.x.test",
      emailVerified: false,
    });
    expect([found?.name, found?.email]).toEqual([undefined, undefined]);
  });

  test("has a verified address only by the boolean true", () => {
    for (const verified of ["true", 1, "yes", false, undefined, null, {}]) {
      const claims = { sub: "a", email: "a@x.test", email_verified: verified };
      expect([verified, identityOf(claims, names)?.emailVerified]).toEqual([verified, false]);
    }
    expect(identityOf({ sub: "a", email_verified: true }, names)?.emailVerified).toBe(false);
    const noAddress = { sub: "a", email: "root", email_verified: true };
    expect(identityOf(noAddress, names)?.emailVerified).toBe(false);
  });

  test("is none without a subject, or with one that means something here", () => {
    for (const sub of [
      undefined,
      null,
      "",
      1,
      ["a"],
      "a\nb",
      "a\0",
      "\ud800",
      "x".repeat(256),
      "root",
      "token:7",
      "local:alice",
      "system:crl",
      "anonymous",
    ]) {
      expect([sub, identityOf({ sub }, names)]).toEqual([sub, undefined]);
    }
  });

  test("of any claims is one or none, and nothing is thrown", () => {
    const claims = fc.dictionary(
      fc.constantFrom("sub", "email", "email_verified", "groups", "name", "dept", "__proto__"),
      fc.anything(),
    );
    fc.assert(
      fc.property(claims, (given) => {
        const identity = identityOf(given, names);
        for (const group of identity?.groups ?? []) expect(typeof group).toBe("string");
      }),
    );
  });
});

test("a token is good until it has run out, with the minute that clocks may differ", () => {
  expect(expiryOf(good)).toBe(instant((good.exp + 60) * 1000));
  expect(holds({ exp: seconds - 59 })).toBe(true);
  expect(expiryOf({ ...good, exp: seconds - 60 })).toBe(now);
  expect(holds({ exp: seconds - 60 })).toBe(false);
});
