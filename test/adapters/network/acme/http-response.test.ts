/** What is taken for an HTTP response, cut into whatever pieces, and what is refused. */

import { describe, expect, test } from "bun:test";

import { HttpFault, ResponseReader } from "#adapters/network/acme/http-response.ts";
import fc from "fast-check";

/** Octets cut at these places, then the end of the connection. */
function read(text: string, cuts: readonly number[] = []) {
  const octets = Buffer.from(text, "latin1");
  const reader = new ResponseReader();
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const to = Math.min(cut, octets.length);
    const done = reader.push(octets.subarray(from, to));
    if (done !== undefined) return done;
    from = to;
  }
  return reader.push(octets.subarray(from)) ?? reader.end();
}
const shown = (text: string, cuts?: readonly number[]) => {
  const response = read(text, cuts);
  return response && [response.status, Buffer.from(response.body).toString("latin1")];
};
const ok = (fields: string, body: string) => `HTTP/1.1 200 OK\r\n${fields}\r\n${body}`;

// biome-ignore format: the table is read by column.
const whole = [
  ["a length",                     ok("Content-Length: 5\r\n", "hello"), "hello"],
  ["what follows a length",        ok("Content-Length: 5\r\n", "hello and more"), "hello"],
  ["no length",                    ok("", "hello"), "hello"],
  ["chunks",                       ok("Transfer-Encoding: chunked\r\n", "2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\n\r\n"), "hello"],
  ["chunks with zeros before",     ok("transfer-encoding: Chunked\r\n", "0005\r\nhello\r\n000\r\nX: y\r\n\r\n"), "hello"],
  ["HTTP/1.0",                     "HTTP/1.0 200 OK\r\n\r\nhello", "hello"],
  ["no phrase",                    "HTTP/1.1 200\r\n\r\nhello", "hello"],
  ["line feeds alone",             "HTTP/1.0 200 OK\nContent-Length: 5\n\nhello", "hello"],
  ["4096 octets",                  ok("", "x".repeat(4096)), "x".repeat(4096)],
  ["nothing",                      ok("Content-Length: 0\r\n", ""), ""],
] as const;

test.each(whole)("a response with %s is read, however it is cut", (_what, text, body) => {
  expect(shown(text)).toEqual([200, body]);
  expect(
    shown(
      text,
      Array.from(text, (_, at) => at),
    ),
  ).toEqual([200, body]);
  const cuts = fc.array(fc.nat(text.length), { maxLength: 20 });
  fc.assert(fc.property(cuts, (places) => expect(shown(text, places)).toEqual([200, body])));
});

test("of another status than 200 only the head is read, whatever it says of a body", () => {
  const text = "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 99999999\r\n\r\nendless";
  expect(read(text)).toEqual({ status: 302, location: "/x", body: new Uint8Array() });
  const twice = "HTTP/1.1 302 Found\r\nLocation: /x\r\nLocation: /y\r\n\r\n";
  expect(read(twice)?.location).toBeUndefined();
});

describe("refused is", () => {
  const chunked = (body: string) => ok("Transfer-Encoding: chunked\r\n", body);
  // biome-ignore format: the table is read by column.
  test.each([
    ["4097 octets",                ok("", "x".repeat(4097))],
    ["a length of 4097",           ok("Content-Length: 4097\r\n", "")],
    ["a length of many digits",    ok(`Content-Length: ${"9".repeat(5000)}\r\n`, "")],
    ["a negative length",          ok("Content-Length: -1\r\n", "")],
    ["two lengths",                ok("Content-Length: 1\r\nContent-Length: 1\r\n", "x")],
    ["a length beside chunks",     ok("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "x")],
    ["another coding",             ok("Transfer-Encoding: gzip, chunked\r\n", "x")],
    ["a chunk of 4097",            chunked("1001\r\n")],
    ["chunks of 4097 together",    chunked(`fff\r\n${"x".repeat(4095)}\r\n2\r\n`)],
    ["a chunk of a huge size",     chunked(`${"f".repeat(200)}\r\n`)],
    ["a size line without end",    chunked("1".repeat(300))],
    ["an extension without end",   chunked(`1;${"a".repeat(300)}`)],
    ["a chunk without size",       chunked("\r\n")],
    ["a chunk of negative size",   chunked("-1\r\n")],
    ["a chunk with a prefix",      chunked("0x1\r\n")],
    ["a chunk longer than it said", chunked("1\r\nxyz\r\n")],
    ["a header of 16 KiB",         `HTTP/1.1 200 OK\r\nX: ${"y".repeat(16_384)}`],
    ["another protocol",           "220 mail.test ESMTP\r\n\r\n"],
    ["HTTP/2",                     "HTTP/2 200\r\n\r\n"],
    ["HTTP/0.9",                   "hello\r\n\r\n"],
    ["no status",                  "HTTP/1.1 OK\r\n\r\n"],
    ["a folded line",              "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"],
    ["a blank before the colon",   "HTTP/1.1 200 OK\r\nA : b\r\n\r\n"],
    ["a line without name",        "HTTP/1.1 200 OK\r\n: b\r\n\r\n"],
    ["a bare carriage return",     "HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n"],
    ["a zero octet",               "HTTP/1.1 200 OK\r\nA: b\0\r\n\r\n"],
  ])("%s", (_what, text) => {
    expect(() => read(text)).toThrow(HttpFault);
    expect(() => read(text, Array.from(text.slice(0, 600), (_, at) => at))).toThrow(HttpFault);
  });
});

test("P-10: chunks whose sizes take more than 64 KiB are refused", () => {
  const chunk = `1;${"a".repeat(240)}\r\nx\r\n`;
  const text = ok("Transfer-Encoding: chunked\r\n", chunk.repeat(300));
  expect(() =>
    read(
      text,
      [...Array(100).keys()].map((at) => at * 1000),
    ),
  ).toThrow("4096");
});

test("what is cut off is no response", () => {
  for (const [, text] of whole.filter(([, head]) => /length: 5|chunked/i.test(head))) {
    const cut = text.slice(0, text.indexOf("he") + 2);
    expect(read(cut), text).toBeUndefined();
  }
  expect(read("HTTP/1.1 200 OK\r\n")).toBeUndefined();
  expect(read("")).toBeUndefined();
});

test("whatever octets arrive, reading ends with a response, none, or a fault of its own", () => {
  const pieces = fc.constantFrom(
    "HTTP/1.1 200 OK",
    "\r\n",
    "\n",
    "A: b",
    "Content-Length: 3",
    "Transfer-Encoding: chunked",
    "3",
    "abc",
    ";",
    "0",
    " ",
    "\0",
  );
  const texts = fc.array(fc.oneof(pieces, fc.string({ maxLength: 5 })), { maxLength: 30 });
  fc.assert(
    fc.property(texts, fc.array(fc.nat(200), { maxLength: 5 }), (parts, cuts) => {
      try {
        const response = read(parts.join(""), cuts);
        expect(response?.body.length ?? 0).toBeLessThanOrEqual(4096);
      } catch (error) {
        expect(error).toBeInstanceOf(HttpFault);
      }
    }),
  );
});
