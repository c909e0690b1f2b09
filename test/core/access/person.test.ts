/** People are compared part by part, and nobody is called what cannot be seen. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  canonicalAddress,
  isSamePerson,
  localPerson,
  mayBeSamePerson,
  ownPerson,
  type Person,
  plainPerson,
  vouchers,
} from "#core/access/person.ts";
import { isSubject, isVisible } from "#core/access/subject.ts";
import { personNamed } from "#test/support/worlds/people.ts";

describe("one person", () => {
  test("is one subject of one voucher and issuer, or one verified address", () => {
    const alice = personNamed("alice", "a@x.test");
    const same: readonly Person[] = [
      alice,
      personNamed("alice", "other@x.test"),
      { ...plainPerson("ldap", "al"), address: "a@x.test" },
    ];
    for (const one of same) {
      expect([isSamePerson(alice, one), mayBeSamePerson(alice, one)]).toEqual([true, true]);
    }
  });

  test("is not who writes another's name or address into a subject", () => {
    const boss = personNamed("boss", "boss@corp.test");
    for (const subject of ["eve <boss@corp.test>", "boss <boss@corp.test>", "boss@corp.test"]) {
      const eve = personNamed(subject, "eve@corp.test");
      expect([isSamePerson(boss, eve), mayBeSamePerson(boss, eve)]).toEqual([false, false]);
    }
  });

  test("may be, but is not surely, whoever another voucher or issuer calls the same", () => {
    const alice = personNamed("alice");
    const namesakes: readonly Person[] = [
      { ...alice, issuer: "https://other.x.test" },
      plainPerson("ldap", "alice"),
      plainPerson("mtls", "alice"),
      plainPerson("unknown", "alice"),
    ];
    for (const one of namesakes) {
      expect([isSamePerson(alice, one), mayBeSamePerson(alice, one)]).toEqual([false, true]);
    }
    const stored = plainPerson("unknown", "alice");
    expect([isSamePerson(stored, stored), mayBeSamePerson(stored, stored)]).toEqual([false, true]);
  });

  test("root and every caller of the admin socket are one person (APR-5)", () => {
    const root = ownPerson("root");
    expect([isSamePerson(root, localPerson), mayBeSamePerson(root, localPerson)]).toEqual([
      true,
      true,
    ]);
    // A user of an identity provider may have chosen the name.
    const namesake = personNamed("root");
    expect([isSamePerson(namesake, localPerson), mayBeSamePerson(namesake, localPerson)]).toEqual([
      false,
      true,
    ]);
    const job = ownPerson("system:bulk");
    expect([isSamePerson(job, localPerson), mayBeSamePerson(job, root)]).toEqual([false, false]);
  });

  test("needs more than an empty address in common", () => {
    expect(mayBeSamePerson(personNamed("a"), personNamed("b"))).toBe(false);
  });

  test("whatever subjects are called: what is surely one person may be one, both ways alike", () => {
    const text = fc.oneof(fc.constantFrom("a", "a <b@x>", "b@x", "", "root", "local"), fc.string());
    const person = fc.record({
      subject: text,
      voucher: fc.constantFrom(...vouchers),
      issuer: text,
      address: text,
    });
    const pair = fc.tuple(person, person);
    fc.assert(
      fc.property(pair, ([one, other]) => {
        expect(isSamePerson(one, other)).toBe(isSamePerson(other, one));
        expect(mayBeSamePerson(one, other)).toBe(mayBeSamePerson(other, one));
        if (isSamePerson(one, other)) expect(mayBeSamePerson(one, other)).toBe(true);
      }),
    );
  });

  test("has an address without case, but no letter that only looks like another", () => {
    expect(canonicalAddress("Boss@CORP.test")).toBe("boss@corp.test");
    expect(canonicalAddress("ma\u212ae@x.test")).not.toBe("make@x.test");
  });
});

describe("a subject", () => {
  const unseen = [
    "a\0",
    "a\nb",
    "a\x7f",
    "a\u0085",
    "a\u202eb",
    "a\u2066b",
    "a\u200bb",
    "a\u200db",
    "\ufeffa",
    "a\u00adb",
    "a\u034fb",
    "a\u115f",
    "a\u3164",
    "a\uffa0",
    "a\u2800",
    "a\ufe0f",
    "a\u180e",
    "a\u00a0b",
    "a\u2003b",
    "a\u3000b",
    "a\u2028b",
    " a",
    "a ",
    "a\ud800",
    "a\ue000",
    "",
    "a\u{e0041}",
    "a\u{e0100}",
  ];

  test("shows every one of its characters", () => {
    for (const text of unseen) expect([text, isVisible(text)]).toEqual([text, false]);
    for (const text of ["alice", "Élodie O'Neil-Müller", "山田 太郎", "عليّ", "u+1", "eve <b@x>"]) {
      expect([text, isSubject(text)]).toEqual([text, true]);
    }
  });

  test("means nothing inside pkid, and has at most 255 characters", () => {
    for (const text of ["root", "Local", "local:x", "token:1", "system:crl", "a".repeat(256)]) {
      expect([text, isSubject(text)]).toEqual([text, false]);
    }
    expect(isSubject("a".repeat(255))).toBe(true);
  });
});
