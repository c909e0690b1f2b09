/**
 * JSON bodies: what is accepted is exactly what the platform's parser accepts, within 32 levels and
 * UTF-8.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { parseJson, readBytes, unclearHeader } from "#http/body.ts";
import { rawExchange } from "#test/support/tls/raw-http.ts";

const octets = (text: string) => new TextEncoder().encode(text);

describe("parseJson", () => {
  test("gives back every value that was written, when it nests no deeper than 32", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 20 }),
        fc.integer({ min: 0, max: 4 }),
        (value, space) => {
          const text = JSON.stringify(value, undefined, space);
          expect(parseJson(octets(text))).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  test("refuses malformed_json or gives a value for any octets, and never anything else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          parseJson(bytes);
        } catch (refusal) {
          expect(refusal).toMatchObject({ code: "malformed_json" });
        }
      }),
    );
  });

  test("32 levels are read, 33 are not, whatever brackets stand in strings", () => {
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    expect(parseJson(octets(nested(32)))).toBeArray();
    expect(() => parseJson(octets(nested(33)))).toThrow("not valid JSON");
    expect(() => parseJson(octets('{"a":'.repeat(100_000)))).toThrow("not valid JSON");
    expect(parseJson(octets(`["${"[{".repeat(50)}","\\"${"[".repeat(50)}"]`))).toHaveLength(2);
  });
});

describe("readBytes", () => {
  const streamed = (parts: readonly string[]) =>
    new Request("http://h/", {
      method: "POST",
      body: new ReadableStream({
        start(controller) {
          for (const part of parts) controller.enqueue(octets(part));
          controller.close();
        },
      }),
    });

  test("joins what arrives in parts, up to the limit", async () => {
    expect(await readBytes(streamed(["ab", "", "c"]), 3)).toEqual(octets("abc"));
    expect(await readBytes(new Request("http://h/"), 0)).toEqual(new Uint8Array(0));
  });

  test("refuses what breaks off in the middle, as nobody's bug", async () => {
    const broken = (headers: Record<string, string>) =>
      new Request("http://h/", {
        method: "POST",
        headers,
        body: new ReadableStream({
          start(controller) {
            controller.enqueue(octets("{"));
            controller.error(new Error("the connection was closed"));
          },
        }),
      });
    for (const headers of [{}, { "content-length": "9" }]) {
      await expect(readBytes(broken(headers), 9)).rejects.toMatchObject({ code: "malformed_json" });
    }
  });

  test("refuses one octet more, however it is cut", async () => {
    for (const parts of [["abcd"], ["abc", "d"], ["a", "b", "c", "d"]]) {
      await expect(readBytes(streamed(parts), 3)).rejects.toMatchObject({
        code: "body_too_large",
        facts: { limit_bytes: 3 },
      });
    }
  });

  test("counts what comes, whatever was announced", async () => {
    const announcing = (length: string) =>
      new Request("http://h/", {
        method: "POST",
        headers: { "content-length": length },
        body: "abcd",
      });
    for (const length of ["4", "3", "NaN", ""]) {
      await expect(readBytes(announcing(length), 3)).rejects.toMatchObject({
        code: "body_too_large",
      });
    }
    await expect(readBytes(announcing("5"), 3)).rejects.toMatchObject({ code: "body_too_large" });
  });

  test("takes a body of chunks of one octet together, and not each by itself at once", async () => {
    const length = 200_000;
    for (const [bytesMax, outcome] of [
      [length, String(length)],
      [length - 1, "body_too_large"],
      [0, "body_too_large"],
    ] as const) {
      let reads = 0;
      const server = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: async (request) => {
          const counted = countingReads(request, () => reads++);
          return new Response(
            await readBytes(counted, bytesMax).then(
              (read) => String(read.byteLength),
              (problem) => problem.code,
            ),
          );
        },
      });
      const head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
      const body = `${"1\r\nX\r\n".repeat(length)}0\r\n\r\n`;
      const answer = await rawExchange(server.port ?? 0, head + body);
      await server.stop(true);
      expect(answer).toEndWith(`\r\n\r\n${outcome}`);
      expect(reads).toBeLessThan(length / 100);
    }
  });

  test("refuses only when a sender has ended or fallen silent, so that it hears the refusal", async () => {
    let taken = 0;
    const endless = (pauseMs: number) =>
      new ReadableStream<Uint8Array>({
        async pull(controller) {
          if (pauseMs > 0) await Bun.sleep(pauseMs);
          taken += 1;
          if (taken > 50) controller.close();
          else controller.enqueue(octets("x"));
        },
      });
    const sent = (body: ReadableStream) => new Request("http://h/", { method: "POST", body });
    await expect(readBytes(sent(endless(0)), 3)).rejects.toMatchObject({ code: "body_too_large" });
    expect(taken).toBe(51);
    taken = 0;
    const start = performance.now();
    await expect(readBytes(sent(endless(400)), 0)).rejects.toThrow();
    expect(performance.now() - start).toBeGreaterThan(8000);
    // On a busy machine each pause is longer, so fewer are sent in the same time.
    expect(taken * 400).toBeLessThan(13_000);
  }, 30_000);
});

describe("unclearHeader", () => {
  const named = (name: string, value: string) => unclearHeader(new Headers({ [name]: value }));

  test("passes one row of digits and nothing else as a length", () => {
    expect(unclearHeader(new Headers())).toBeUndefined();
    fc.assert(
      fc.property(fc.bigInt({ min: 0n }), (length) => {
        expect(named("content-length", String(length))).toBeUndefined();
        expect(named("content-length", `${length}, ${length}`)).toBe("content-length");
      }),
    );
    for (const length of ["", "-1", "+1", "0x1", "1 1", "1.0", "1e3", "1,", "\u00b2"]) {
      expect([length, named("content-length", length)]).toEqual([length, "content-length"]);
    }
  });

  test("passes one host", () => {
    const twice = new Headers([
      ["host", "a"],
      ["host", "b"],
    ]);
    expect(unclearHeader(twice)).toBe("host");
    for (const host of ["a", "a:1", "[::1]:8443", ""]) expect(named("host", host)).toBeUndefined();
  });
});

/** The request, telling of every piece of its body that is asked for. */
function countingReads(request: Request, read: () => void): Request {
  const { body } = request;
  if (body === null) return request;
  const reading = () => {
    const reader = body.getReader();
    const counted = () => {
      read();
      return reader.read();
    };
    return { read: counted, cancel: () => reader.cancel() };
  };
  // What the reading of a body looks at.
  return { headers: request.headers, body: { getReader: reading } } as unknown as Request;
}
