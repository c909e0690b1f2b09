/** PEM is written as openssl writes it and read without tolerance. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { decodePem, decodePemBlocks, encodePem, pemLines } from "#core/asn1/pem.ts";
import { openssl, opensslText } from "#test/support/encodings/openssl.ts";

const bytes = Uint8Array.from({ length: 100 }, (_value, index) => index);

test("the text is the one openssl writes", () => {
  const pem = opensslText(["ecparam", "-name", "prime256v1"]);
  const der = openssl(["ecparam", "-name", "prime256v1", "-outform", "DER"]);
  expect(encodePem("EC PARAMETERS", der)).toBe(pem);
});

test("every octet string survives", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (octets) => {
      const read = decodePem(encodePem("X", octets), ["Y", "X"]);
      expect(read?.toHex()).toBe(octets.toHex());
    }),
  );
});

test("lines are the same in short and in long blocks", () => {
  for (const length of [0, 1, 47, 48, 49, 96, 12_287, 12_288, 12_289, 30_000]) {
    const octets = Uint8Array.from({ length }, (_, index) => index * 7);
    const base64 = octets.toBase64();
    const lines = base64.match(/.{1,64}/g) ?? [""];
    expect(pemLines(octets)).toBe(`${lines.join("\n")}\n`);
  }
});

test("white space around the block and CRLF line ends are accepted", () => {
  const pem = encodePem("X", bytes).replaceAll("\n", "\r\n");
  expect(decodePem(`\n ${pem}\n\n`, ["X"])?.toHex()).toBe(bytes.toHex());
});

describe("refused", () => {
  const pem = encodePem("X", bytes);
  test.each([
    ["another label", pem.replaceAll(" X-", " Y-")],
    ["text before the block", `hello\n${pem}`],
    ["text after the block", `${pem}hello`],
    ["two blocks", pem + pem],
    ["no end", pem.slice(0, -12)],
    ["characters outside base64", pem.replace("AAEC", "A*EC")],
    ["missing padding", pem.replace("==", "")],
    ["stray bits", pem.replace(/.==/, "/==")],
    ["overlapping lines", "-----BEGIN X-----END X-----"],
    ["nothing", ""],
  ])("%s", (_name, text) => expect(decodePem(text, ["X"])).toBeUndefined());
});

describe("several blocks", () => {
  const pem = encodePem("X", bytes);
  test("are read in order up to a limit", () => {
    const other = encodePem("X", Uint8Array.of(1));
    const read = decodePemBlocks(`comment\n${pem}comment\n${other}`, "X", 2);
    expect(read?.map((block) => block.length)).toEqual([100, 1]);
    expect(decodePemBlocks(pem + pem, "X", 1)).toBeUndefined();
    expect(decodePemBlocks("", "X", 1)).toEqual([]);
  });

  test("are refused together when one is broken", () => {
    expect(decodePemBlocks(pem + pem.slice(0, -12), "X", 9)).toBeUndefined();
    expect(decodePemBlocks(pem + pem.replace("AAEC", "A*EC"), "X", 9)).toBeUndefined();
  });
});
