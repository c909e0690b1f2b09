/** Values of answers are told by their form: digests, times, serials, and all that is none. */

import { describe, expect, test } from "bun:test";

import { approvalClasses } from "#core/approvals/classes.ts";

import { lookOf } from "#web/pages/approvals/look.ts";
import { recognised } from "#web/ui/recognised.ts";

describe("a value of an answer", () => {
  const digest = "ab".repeat(32);

  test("is a digest where it has 32 hexadecimal digits or more, or says SHA256", () => {
    expect(recognised(digest, "sha256")).toBe("digest");
    expect(recognised("ab".repeat(16), "md5")).toBe("digest");
    expect(recognised("AB:".repeat(15).concat("AB"), "hash")).toBe("digest");
    expect(recognised("SHA256:XwuUTCXeqrF7d5DGOuJiisj8e9hxLpecmTbVACC9rU8", "key")).toBe("digest");
    expect(recognised("ab".repeat(15), "id")).toBe("text");
    expect(recognised(`${digest} `, "sha256")).toBe("text");
    expect(recognised("01a21204-d6df-77d8-ab83-be4da1a1591f", "id")).toBe("text");
  });

  test("is a serial only where it is called one, and a long number is no digest", () => {
    const serial = "38393747666369393920549539168026801370";
    expect(recognised(serial, "serial")).toBe("serial");
    expect(recognised(serial, "subject serial")).toBe("serial");
    expect(recognised(serial, "count")).toBe("text");
    expect(recognised(digest, "serial")).toBe("digest");
  });

  test("is a time where it is one of the wire, and the calendar has it", () => {
    expect(recognised("2026-11-25T10:05:34Z", "not after")).toBe("instant");
    expect(recognised("2026-11-25T10:05:34.250Z", "at")).toBe("instant");
    expect(recognised("2026-13-45T10:05:34Z", "at")).toBe("text");
    expect(recognised("2026-11-25", "day")).toBe("text");
  });
});

test("what revokes or retires is approved by a red button, and nothing else", () => {
  const red = approvalClasses.filter((one) => lookOf(one) === "danger");
  expect(red).toEqual(["ca.retire", "revocation.bulk"]);
});
