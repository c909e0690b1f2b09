/** Errors of a system that lacks a resource are refusals that clients may repeat. */

import { expect, test } from "bun:test";

import { findShortage, refuseShortage } from "#core/shortage.ts";

const createError = (code: string) => Object.assign(new Error("failed"), { code });

test("a lack of descriptors, threads, memory or disk space is found, also as a cause", () => {
  for (const code of ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM", "ENOSPC", "ERR_WORKER_INIT_FAILED"]) {
    expect(findShortage(createError(code))).toBe(code);
    expect(findShortage(new Error("outer", { cause: createError(code) }))).toBe(code);
  }
  const circle = createError("ENOENT");
  circle.cause = circle;
  for (const other of [circle, new Error("no"), undefined, "EMFILE", { code: "EMFILE" }]) {
    expect(findShortage(other)).toBeUndefined();
    expect(refuseShortage(other)).toBeUndefined();
  }
});

test("the refusal is 503 with the code of the system and the time to repeat the request", () => {
  expect(refuseShortage(createError("EMFILE"))).toMatchObject({
    code: "overloaded",
    status: 503,
    facts: { retry_after: 5 },
    message: "The server lacks descriptors, threads, memory or disk space (EMFILE).",
  });
});
