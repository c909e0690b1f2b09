/** How holders of accounts can be reached (RFC 8555 §7.3). */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { readContacts } from "#core/acme/contacts.ts";
import { Problem } from "#core/problems.ts";

import { codeOf } from "./refused.ts";

describe("contacts", () => {
  test.each([
    "mailto:admin@example.org",
    "MAILTO:first.last+acme@mail.example.org",
    "mailto:o'neill@localhost",
  ])("%s is one, and is kept as it is", (contact) => {
    expect(readContacts([contact])).toEqual([contact]);
  });

  test("are none where none are said, and ten at most", () => {
    expect([readContacts(undefined), readContacts([])]).toEqual([[], []]);
    const ten = Array.from({ length: 10 }, (_, at) => `mailto:a${at}@example.org`);
    expect(readContacts(ten)).toEqual(ten);
    expect(codeOf(() => readContacts([...ten, "mailto:b@example.org"]))).toBe(
      "acme_invalid_contact",
    );
  });

  test.each(["tel:+12025551212", "https://example.org", "admin@example.org", "", "mailto"])(
    "%p is of a kind that is not supported",
    (contact) => {
      expect(codeOf(() => readContacts(["mailto:a@example.org", contact]))).toBe(
        "acme_unsupported_contact",
      );
    },
  );

  test.each([
    ["header fields", "mailto:a@example.org?subject=x"],
    ["two addresses", "mailto:a@example.org,b@example.org"],
    ["an escape", "mailto:a%2cb@example.org"],
    ["a fragment", "mailto:a@example.org#x"],
    ["a name", "mailto:Alice <a@example.org>"],
    ["a quoted local part", 'mailto:"a b"@example.org'],
    ["a line break", "mailto:a@example.org\r\nBcc: b@example.org"],
    ["no host", "mailto:a@"],
    ["no sign between", "mailto:admin"],
    ["no local part", "mailto:@example.org"],
    ["an address as its host", "mailto:a@192.0.2.1"],
    ["two dots in a row", "mailto:a..b@example.org"],
    ["65 characters in front", `mailto:${"a".repeat(65)}@example.org`],
    ["a U-label", "mailto:a@b\u00fccher.example"],
    ["nothing", "mailto:"],
  ])("one with %s is invalid", (_what, contact) => {
    expect(codeOf(() => readContacts([contact]))).toBe("acme_invalid_contact");
  });

  test("that are no list of texts are malformed", () => {
    for (const value of [null, "mailto:a@example.org", {}, [1], [["mailto:a@example.org"]]]) {
      expect(codeOf(() => readContacts(value))).toBe("acme_malformed");
    }
  });
});

test("whatever is said, what is kept is one visible address after the scheme", () => {
  const contact = fc.oneof(fc.string(), fc.emailAddress(), fc.webUrl());
  fc.assert(
    fc.property(contact, (text) => {
      try {
        for (const kept of readContacts([`mailto:${text}`])) {
          expect(kept).toMatch(/^mailto:[\x21-\x7e]+@[A-Za-z0-9._-]+$/);
          expect(new URL(kept).pathname).toBe(text);
        }
      } catch (error) {
        expect(error).toBeInstanceOf(Problem);
      }
    }),
  );
});
