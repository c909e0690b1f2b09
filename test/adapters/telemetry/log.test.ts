/** The process log: whole lines, in order, that no fact can forge. */

import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";

import { ProcessLog } from "#adapters/telemetry/log.ts";
import { instant } from "#core/time.ts";
import type { LogLevel } from "#domain/ports.ts";

const clock = { now: () => instant(1_700_000_000_123) };

function opened(format: "json" | "text", level: LogLevel = "info") {
  const written: string[] = [];
  const write = (lines: Uint8Array) => written.push(new TextDecoder().decode(lines));
  return { written, log: new ProcessLog({ level, format, clock, write }) };
}

describe("JSON lines", () => {
  test("begin with time, level and msg, and hold the facts as they were", () => {
    fc.assert(
      fc.property(fc.array(fc.dictionary(fc.string(), fc.jsonValue())), (lines) => {
        const { log, written } = opened("json");
        for (const facts of lines) log.write("info", "m", facts);
        log.flush();
        const read = written.join("").split("\n").slice(0, -1);
        expect(read).toHaveLength(lines.length);
        for (const [at, line] of read.entries()) {
          expect(line).toStartWith('{"time":"2023-11-14T22:13:20.123Z","level":"info","msg":"m"');
          const facts = JSON.parse(JSON.stringify(lines[at]));
          expect(JSON.parse(line)).toEqual({
            time: "2023-11-14T22:13:20.123Z",
            level: "info",
            msg: "m",
            ...facts,
          });
        }
      }),
    );
  });

  test("are gathered, and written with the first warning after them", () => {
    const { log, written } = opened("json");
    log.write("info", "first");
    expect(written).toEqual([]);
    log.write("warn", "second");
    expect(written).toHaveLength(1);
    expect(written[0]?.split("\n").map((line) => line && JSON.parse(line).msg)).toEqual([
      "first",
      "second",
      "",
    ]);
  });

  test("longer than the buffer come out whole and in order", () => {
    const { log, written } = opened("json");
    const long = "ä".repeat(70_000);
    for (const text of ["a", long, "b", "c".repeat(21_000), "d"]) log.write("info", "m", { text });
    log.flush();
    const lines = written.join("").split("\n").slice(0, -1);
    expect(lines.map((line) => JSON.parse(line).text.length)).toEqual([1, 70_000, 1, 21_000, 1]);
  });

  test("below the level are dropped", () => {
    const { log, written } = opened("json", "warn");
    log.write("info", "quiet");
    log.write("error", "loud");
    expect(written.join("")).not.toContain("quiet");
  });
});

describe("standard error", () => {
  const source = join(import.meta.dir, "../../../src/adapters/telemetry/standard-error.ts");
  const folder = mkdtempSync(join(tmpdir(), "standard-error-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("whose reader stands still delays the writer for a moment, and takes whole lines later", async () => {
    // A pipe that blocks its writer, as a shell makes them; the runtime's own would not.
    const path = join(folder, "pipe");
    Bun.spawnSync(["mkfifo", path]);
    const pipe = openSync(path, constants.O_RDWR);
    const script = `
      const { StandardError } = await import(${JSON.stringify(source)});
      const { write } = new StandardError();
      const line = (text) => write(Buffer.from(JSON.stringify({ text }) + "\\n"));
      for (let n = 0; n < 2000; n++) line("x".repeat(1 + n % 300));
      console.log("full");
      await Bun.stdin.text();
      line("after");
      line("end");`;
    const writer = Bun.spawn([process.execPath, "-e", script], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: pipe,
    });
    const output = writer.stdout.getReader();
    expect(new TextDecoder().decode((await output.read()).value)).toBe("full\n");
    let read = drained(path);
    writer.stdin.end();
    expect(await writer.exited).toBe(0);
    read += drained(path);
    closeSync(pipe);
    const lines = read.split("\n").slice(0, -1);
    expect(lines.slice(-2)).toEqual(['{"text":"after"}', '{"text":"end"}']);
    expect(lines.filter((line) => !line.endsWith('"}')).length).toBeLessThanOrEqual(1);
    expect(lines.length).toBeLessThan(2000);
  });

  /** What lies in the pipe now. */
  function drained(path: string): string {
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const buffer = Buffer.alloc(1 << 20);
    let length = 0;
    try {
      for (;;) length += readSync(reader, buffer, length, buffer.length - length, null);
    } catch {
      return buffer.toString("latin1", 0, length); // Nothing more for now.
    } finally {
      closeSync(reader);
    }
  }
});

describe("text lines", () => {
  test("one per event, whatever the facts hold", () => {
    const { log, written } = opened("text");
    log.write("info", "request", {
      path: "/a",
      agent: 'x\n2024 ERROR forged "q" \u001b[31m',
      status: 200,
    });
    log.flush();
    expect(written).toEqual([
      '2023-11-14T22:13:20.123Z INFO  request path=/a agent="x\\n2024 ERROR forged \\"q\\" \\u001b[31m" status=200\n',
    ]);
  });

  test("hold nothing a terminal obeys, and say all the same what was said", () => {
    const text = fc.string({
      unit: fc.nat({ max: 0x2fff }).map((code) => String.fromCharCode(code)),
    });
    fc.assert(
      fc.property(text, (agent) => {
        const { log, written } = opened("text");
        log.write("info", "request", { agent });
        log.flush();
        const line = written.join("").slice(0, -1);
        expect(line).not.toMatch(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/u);
        const said = line.slice(line.indexOf("agent=") + 6);
        expect(said.startsWith('"') ? JSON.parse(said) : said).toBe(agent);
      }),
    );
    for (const control of ["\u009b31m", "\u007f", "\u202e", "\u2028"]) {
      const { log, written } = opened("text");
      log.write("info", "request", { agent: control });
      log.flush();
      expect(written.join("")).not.toContain(control);
    }
  });
});
