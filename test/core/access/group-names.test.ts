/** Spellings of one distinguished name are one group, and no two names become one. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { canonicalGroup } from "#core/access/group-names.ts";

const one = "cn=ops\\, eu,ou=groups,dc=example,dc=com";

describe("a distinguished name", () => {
  test.each([
    "CN=Ops\\, EU,OU=Groups,DC=example,DC=com",
    "cn=ops\\2c eu, ou=groups , dc=example,dc=com",
    "2.5.4.3=OPS\\2C  EU,organizationalUnitName=Groups,dc=Example,dc=COM",
    "commonName = ops\\, eu,ou=groups,dc=example,dc=com",
  ])("%s is one group with its other spellings", (name) => {
    expect(canonicalGroup(name)).toBe(one);
  });

  test.each([
    "cn=ops,ou=groups,dc=example,dc=com",
    "cn=ops\\, eu,ou=group,dc=example,dc=com",
    "cn=ops\\, eu,dc=example,ou=groups,dc=com",
    "cn=ops,cn= eu,ou=groups,dc=example,dc=com",
    "cn=ops\\,\\ eu\\,ou=groups,dc=example,dc=com",
    "ou=ops\\, eu,ou=groups,dc=example,dc=com",
    "cn=ops\\, eu,ou=groups,dc=example,dc=com,",
  ])("%s is another one", (name) => {
    expect(canonicalGroup(name)).not.toBe(one);
  });

  test("with several parts in an RDN says the same in any order of them", () => {
    const [a, b] = ["cn=a+uid=1,dc=x", "UID=1 + CN=A,dc=x"].map(canonicalGroup);
    expect(a).toBe(b ?? "");
  });

  test("in other letters than ASCII is unescaped octet by octet", () => {
    expect(canonicalGroup("cn=M\\c3\\bcller,dc=x")).toBe(canonicalGroup("CN=MÜLLER,DC=X"));
  });
});

test("whatever is no name of two RDNs and more is itself, letter by letter", () => {
  for (const name of [
    "Ops",
    "team=A",
    "A=B",
    "cn=a,",
    ",",
    "cn=a,b",
    "cn=#0401,dc=x",
    'cn="a",dc=x',
    "",
  ]) {
    expect(canonicalGroup(name)).toBe(name);
  }
});

test("values come back as they went in: the canonical name is its own canonical name, and differs with its values", () => {
  const value = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text.trim() !== "");
  const escaped = (text: string) =>
    [...new TextEncoder().encode(text)]
      .map((byte) => `\\${byte.toString(16).padStart(2, "0")}`)
      .join("");
  fc.assert(
    fc.property(value, value, (a, b) => {
      const [first, second] = [a, b].map((text) => canonicalGroup(`cn=${escaped(text)},dc=x`));
      expect(canonicalGroup(first ?? "")).toBe(first ?? "");
      const same = plain(a) === plain(b);
      expect(first === second).toBe(same);
    }),
  );
});

const plain = (text: string) => text.normalize("NFKC").toLowerCase().replace(/\s+/gu, " ").trim();

test("blanks at an end belong to a value only behind a backslash, and say nothing even then", () => {
  for (const name of ["cn=a  ,dc=x", "cn=a\\ ,dc=x", "cn= a,dc=x  ", "cn=a\\20,dc=x"]) {
    expect(canonicalGroup(name)).toBe("cn=a,dc=x");
  }
  const long = " ".repeat(100_000);
  expect(canonicalGroup(`cn=a${long}b,dc=x${long}`)).toBe("cn=a b,dc=x");
});
