/** Secrets and people are taken out of what leaves the machine, and nothing else. */

import { expect, test } from "bun:test";

import { eventWithout, pseudonyms, scrubber, settingsWithout } from "#core/support/redaction.ts";

const key = new Uint8Array(32).fill(7);
const pseudonym = pseudonyms(key);

test("the same name has the same pseudonym in one bundle, and another one in the next", () => {
  expect(pseudonym("alice")).toMatch(/^name-[0-9a-f]{12}$/);
  expect(pseudonym("alice")).toBe(pseudonym("alice"));
  expect(pseudonym("alice")).not.toBe(pseudonym("bob"));
  expect(pseudonym("alice")).not.toBe(pseudonyms(new Uint8Array(32))("alice"));
  expect(pseudonym(pseudonym("alice"))).toBe(pseudonym("alice"));
  expect(pseudonym("")).toBe("");
});

test("an event keeps what pkid says, and loses who and from where", () => {
  const event = {
    seq: 3,
    actor: "alice",
    actorName: "Alice Example",
    actorRoles: "admin",
    action: "token.create",
    targetName: "robot of alice",
    target: "0bcf060e-2838-4316-b18f-a75a4c6dc55b",
    serial: "97606662850823748977371117665455912289",
    ip: "192.0.2.7",
    detail: 'scope=platform reason="Alice called" number=17',
  };
  expect(eventWithout(event, pseudonym)).toEqual({
    ...event,
    actor: pseudonym("alice"),
    actorName: pseudonym("Alice Example"),
    targetName: pseudonym("robot of alice"),
    ip: pseudonym("192.0.2.7"),
    detail: { scope: "platform", reason: pseudonym("Alice called"), number: "17" },
  });
});

test("settings keep roles and keys, and lose the people and groups they name", () => {
  const settings = {
    root_user: { username: "boss" },
    rbac: { subjects: { "alice@example.com": ["auditor"] }, groups: { web: ["issuer"] } },
    server: { port: 8443 },
    approvals: { operators: { "ca.rotate": ["bob"] } },
  };
  expect(settingsWithout(settings, pseudonym)).toEqual({
    root_user: { username: pseudonym("boss") },
    rbac: {
      subjects: { [pseudonym("alice@example.com")]: ["auditor"] },
      groups: { [pseudonym("web")]: ["issuer"] },
    },
    server: { port: 8443 },
    approvals: { operators: { "ca.rotate": [pseudonym("bob")] } },
  });
});

test("a secret is removed wherever it stands, as it is, in JSON and in an address", () => {
  const scrub = scrubber(['top "secret"/1', "1234"]);
  expect(scrub('a top "secret"/1 b')).toBe("a *** b");
  expect(scrub(JSON.stringify('top "secret"/1'))).toBe('"***"');
  expect(scrub(encodeURIComponent('top "secret"/1'))).toBe("***");
  // What is so short is found within numbers that are none.
  expect(scrub("at 12345 bytes")).toBe("at 12345 bytes");
});

test("what has the form of a secret is removed, whoever's it is", () => {
  const scrub = scrubber([]);
  expect(scrub("token pki_pat_abc-DEF_1 used")).toBe("token *** used");
  expect(scrub("postgres://pkid:pass@db/pkid")).toBe("postgres://pkid:***@db/pkid");
  expect(scrub("-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\n.")).toBe(
    "***\n.",
  );
  expect(scrub("-----BEGIN PRIVATE KEY-----\nabc")).toBe("***");
  expect(scrub('"$argon2id$v=19$m=65536$abc"')).toBe('"***"');
  expect(scrub("http://localhost:8443/a@b")).toBe("http://localhost:8443/a@b");
});
