/** What stays on a page while what it shows cannot be read again, and what does not. */

import { describe, expect, test } from "bun:test";

import { noAnswer, type Reply } from "#web/api.ts";
import { heard, StaleReads } from "#web/stale.ts";

const answered = (answer: string): Reply<string> => ({ kind: "answered", answer });
const refused = (status: number): Reply<string> => ({
  kind: "refused",
  refusal: { ...noAnswer, status },
});

describe("a re-read that fails", () => {
  const before = heard(undefined, "a", answered("first"));

  test.each([0, 401, 409, 429, 500, 503])("with %d leaves the answer, and is known", (status) => {
    const after = heard(before, "a", refused(status));
    expect(after.reply).toEqual(answered("first"));
    expect(after.stale?.status).toBe(status);
    expect(heard(after, "a", refused(status)).reply).toEqual(answered("first"));
  });

  test.each([403, 404])("with %d says that the thing is gone", (status) => {
    expect(heard(before, "a", refused(status))).toEqual({
      question: "a",
      reply: refused(status),
    });
  });

  test("is forgotten with the next answer", () => {
    const failed = heard(before, "a", refused(503));
    expect(heard(failed, "a", answered("second"))).toEqual({
      question: "a",
      reply: answered("second"),
    });
  });

  test("of another question leaves nothing of the first", () => {
    expect(heard(before, "b", refused(503)).reply).toEqual(refused(503));
  });

  test("where nothing was answered yet is the refusal", () => {
    expect(heard(undefined, "a", refused(503)).reply).toEqual(refused(503));
    const still = heard(heard(undefined, "a", refused(503)), "a", refused(0));
    expect(still.reply).toEqual(refused(0));
  });
});

test("stale reads are known until each is read again", () => {
  const stale = new StaleReads();
  let told = 0;
  stale.listen(() => told++);
  const gone = stale.add({ refusal: noAnswer, again: () => {} });
  expect(stale.all.length).toBe(1);
  gone();
  expect(stale.all).toEqual([]);
  expect(told).toBe(2);
});
