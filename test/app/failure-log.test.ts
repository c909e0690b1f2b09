/** A failure that repeats is logged once, at growing intervals, and when it has ended. */

import { expect, test } from "bun:test";

import { FailureLog } from "#app/failure-log.ts";

/** Returns a log of failures with a clock that is set by hand, and the lines of both. */
function createLog() {
  const state = { elapsed: 0 };
  const lines: string[] = [];
  const failures = new FailureLog(
    {
      write: (level, message, { error, ...fields } = {}) => {
        const reason = error === undefined ? "" : ` ${String(error).split("\n")[0]}`;
        lines.push(`${level} ${message}${reason} ${JSON.stringify(fields)}`);
      },
    },
    { elapsedMs: () => state.elapsed },
  );
  const logFailure = (seconds: number, error: unknown, job = "crl.delta") => {
    state.elapsed = seconds * 1000;
    failures.fail("job_failed", error, { job });
    return lines.splice(0);
  };
  return { failures, logFailure, lines, state };
}

const createError = (events: number) => new Error(`The database is ${events} events behind.`);

test("a job that fails four times per second is logged immediately and after 1, 3, 7 and 15 minutes", () => {
  const { logFailure } = createLog();
  const logged: number[] = [];
  for (let seconds = 0; seconds < 1200; seconds += 0.25) {
    if (logFailure(seconds, createError(seconds)).length > 0) logged.push(seconds);
  }
  expect(logged).toEqual([0, 60, 180, 420, 900]);
});

test("the log of a failure has the number of failures so far, and its end their time", () => {
  const { failures, logFailure, lines, state } = createLog();
  expect(logFailure(0, createError(1))).toEqual([
    'error job_failed Error: The database is 1 events behind. {"job":"crl.delta"}',
  ]);
  expect(logFailure(30, createError(2))).toEqual([]);
  expect(logFailure(60, createError(3))).toEqual([
    'error job_failed Error: The database is 3 events behind. {"job":"crl.delta","failures":3}',
  ]);
  state.elapsed = 61_000;
  failures.recover("job_failed", "job_recovered", { job: "crl.base" });
  for (let run = 0; run < 2; run++) {
    failures.recover("job_failed", "job_recovered", { job: "crl.delta" });
  }
  expect(lines.splice(0)).toEqual([
    'info job_recovered {"job":"crl.delta","failures":3,"seconds":61}',
  ]);
  expect(logFailure(62, createError(4))).toHaveLength(1);
});

test("another subject, and another error of the same subject, are logged immediately", () => {
  const { logFailure } = createLog();
  expect(logFailure(0, createError(1))).toHaveLength(1);
  expect(logFailure(0, createError(1), "crl.base")).toHaveLength(1);
  expect(logFailure(1, "The token is absent.")).toHaveLength(1);
  expect([logFailure(2, createError(2)), logFailure(3, "The token is absent.")].flat()).toEqual([]);
});

test("different errors share one line after the eighth", () => {
  const { logFailure } = createLog();
  const letters = [..."abcdefghijklmnop"];
  const logged = letters.filter((letter) => logFailure(1, letter).length > 0);
  expect(logged).toEqual([..."abcdefghi"]);
});

test("a failure after a quarter of an hour without one is logged immediately", () => {
  const { logFailure } = createLog();
  for (const seconds of [0, 60, 180]) expect(logFailure(seconds, createError(1))).toHaveLength(1);
  expect(logFailure(1079, createError(1))).toHaveLength(1);
  expect(logFailure(1100, createError(1))).toEqual([]);
  expect(logFailure(2000, createError(1))[0]).not.toContain("failures");
});
