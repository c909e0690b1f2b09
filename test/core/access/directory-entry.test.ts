/**
 * Names typed by strangers in filters and distinguished names, and what an entry makes of a person.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type EqualityFilter, FilterParser } from "ldapts";

import {
  attributeNamed,
  type EntryNames,
  filledBindName,
  filledFilter,
  identityOfEntry,
  isLoginName,
} from "#core/access/directory-entry.ts";

const names: EntryNames = {
  username: "uid",
  email: "mail",
  displayNames: ["displayName", "cn"],
  mapped: ["title"],
  groupsClaim: "groups",
};
const entry = (attributes: Record<string, string[]>) => ({ dn: "uid=a,dc=x", attributes });
const loginName = fc.string({ unit: "grapheme", minLength: 1, maxLength: 64 }).filter(isLoginName);

describe("a login name", () => {
  test("in a filter is the value and never the filter", () => {
    fc.assert(
      fc.property(loginName, (name) => {
        const read = FilterParser.parseString(filledFilter("(uid=%s)", { s: name }));
        // The reader gives the kind that the text makes it.
        const { attribute, value } = read as EqualityFilter;
        expect([read.constructor.name, attribute, String(value)]).toEqual([
          "EqualityFilter",
          "uid",
          name,
        ]);
      }),
    );
  });

  test("that holds a placeholder stays what it is", () => {
    expect(filledFilter("(&(m=%s)(u=%u))", { s: "%u", u: "%s" })).toBe("(&(m=%u)(u=%s))");
  });

  test("in a distinguished name has no character left that could end the value", () => {
    fc.assert(
      fc.property(loginName, (name) => {
        const dn = filledBindName("uid=%s,dc=x", name) ?? "";
        const value = dn.slice("uid=".length, -",dc=x".length);
        expect(value.replace(/\\[0-9a-f]{2}/g, "")).not.toMatch(/[\\"+,;<>=# ]/);
        const unescaped = value.replace(/\\([0-9a-f]{2})/g, (_, hex) =>
          String.fromCharCode(Number.parseInt(hex, 16)),
        );
        expect(unescaped).toBe(name);
      }),
    );
  });

  test("makes a principal name, and nothing that could be a mechanism or a distinguished name", () => {
    expect(filledBindName("%s@x.test", "alice")).toBe("alice@x.test");
    expect(filledBindName("X\\%s", "alice")).toBe("X\\alice");
    expect(filledBindName("%s", "EXTERNAL")).toBeUndefined();
    expect(filledBindName("%s@x.test", "cn=a")).toBeUndefined();
  });

  test("has no control characters, halves of characters, or more than 256", () => {
    for (const name of ["", "a\0", "a\nb", "\ud800", "x".repeat(257)]) {
      expect(isLoginName(name)).toBe(false);
    }
    expect(isLoginName("Zoë 🦊")).toBe(true);
  });
});

describe("an entry", () => {
  test("names a person by the attribute that login names are held against", () => {
    expect(attributeNamed("(&(objectClass=person)(sAMAccountName=%s))")).toBe("sAMAccountName");
    expect(attributeNamed("cn=%s,dc=x")).toBe("cn");
    expect(attributeNamed("%s@x.test")).toBe("uid");
  });

  test("vouches for its address", () => {
    const found = identityOfEntry(
      entry({ uid: ["a"], mail: ["a@x"], title: ["boss"] }),
      ["g"],
      names,
      "A",
    );
    expect(found).toEqual({
      voucher: "ldap",
      issuer: "",
      subject: "a",
      loginName: "A",
      email: "a@x",
      emailVerified: true,
      groups: ["g"],
      claims: { title: ["boss"], groups: ["g"] },
    });
  });

  test("with a name that does not show is nobody, and shows no other text that does not", () => {
    for (const uid of ["a\u202eb", "a\u200b", "\u3164", "a\u00a0b"]) {
      expect(identityOfEntry(entry({ uid: [uid] }), [], names, "a")).toBeUndefined();
    }
    const found = identityOfEntry(
      entry({ uid: ["a"], mail: ["b\u200boss@x.test"], displayName: ["\u202etoor"], cn: ["A"] }),
      [],
      { ...names, displayNames: ["displayName", "cn"] },
      "a",
    );
    expect(found).toMatchObject({ subject: "a", name: "A", emailVerified: false });
    expect(found?.email).toBeUndefined();
  });

  test("without a name, or with one that means something inside pkid, is nobody", () => {
    for (const uid of [[], [""], ["a\nb"], ["root"], ["ROOT"], ["token:1"], ["local:x"]]) {
      expect(identityOfEntry(entry({ uid }), [], names, "a")).toBeUndefined();
    }
  });
});
