/** Preflight on the people operations wait for. */

import { expect, test } from "bun:test";

import { judgeQuorum } from "#core/preflight/quorum.ts";

test("a class fails without enough people, warns when everybody is needed, and passes with one to spare", () => {
  const judged = (needed: number, people: number | undefined) =>
    judgeQuorum([{ name: "ca.rotate", needed, people }]).status;
  expect([judged(2, 1), judged(2, 2), judged(2, 3), judged(2, undefined)]).toEqual([
    "fail",
    "warn",
    "pass",
    "pass",
  ]);
  expect(judgeQuorum([]).status).toBe("skip");
  expect(judgeQuorum([{ name: "ca.rotate", needed: 3, people: 1 }]).detail).toContain("ca.rotate");
});
