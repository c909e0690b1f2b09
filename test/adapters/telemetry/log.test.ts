/** The process log: whole lines, in order, that no fact can forge. */

import { join } from "node:path";
import { describe, expect, test } from "bun:test";
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
            ...{ time: "2023-11-14T22:13:20.123Z", level: "info", msg: "m" },
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
      ...["first", "second", ""],
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

test("a reader that stopped reading delays the writer for a moment, not for ever", async () => {
  const source = join(import.meta.dir, "../../../src/adapters/telemetry/standard-error.ts");
  const script =
    `const {writeStandardError} = await import(${JSON.stringify(source)});` +
    `const octets = new Uint8Array(1 << 20);` +
    `writeStandardError(octets); writeStandardError(octets); console.log("done");`;
  const writer = Bun.spawn([process.execPath, "-e", script], { stderr: "pipe", stdout: "pipe" });
  expect(await new Response(writer.stdout).text()).toBe("done\n");
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
});
