/** How often a page asks again for what others change. */

import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";

import { Pace } from "#web/pace.ts";

let asked: number;
let clock: number;
let pace: Pace;

beforeEach(() => {
  jest.useFakeTimers();
  asked = 0;
  clock = 0;
  pace = new Pace(
    () => asked++,
    () => clock,
  );
});
afterEach(() => jest.useRealTimers());

/** Time goes by, for the clock and for timers. */
function pass(ms: number): void {
  clock += ms;
  jest.advanceTimersByTime(ms);
}

/** Asks, and is answered after so long. */
function answeredAfter(ms: number): void {
  const over = pace.begin();
  pass(ms);
  over();
}

describe("a question that events ask again", () => {
  test("is asked at once where nothing is on its way and answers are quick", () => {
    answeredAfter(200);
    pace.hear();
    pass(0);
    expect(asked).toBe(1);
  });

  test("waits for the answer that is on its way, however many events come meanwhile", () => {
    const over = pace.begin();
    for (let n = 0; n < 100; n++) {
      pace.hear();
      pass(2);
    }
    expect(asked).toBe(0);
    over();
    pass(0);
    expect(asked).toBe(1);
  });

  test("rests twenty times as long as an answer took beyond what any may take", () => {
    answeredAfter(1_250);
    pace.hear();
    pass(19_999);
    expect(asked).toBe(0);
    pace.hear();
    pass(1);
    expect(asked).toBe(1);
    pass(100_000);
    expect(asked).toBe(1);
  });

  test("rests no longer than a minute, however long the answer took", () => {
    answeredAfter(8 * 3_600_000);
    pace.hear();
    pass(59_999);
    expect(asked).toBe(0);
    pass(1);
    expect(asked).toBe(1);
  });

  test("is asked once for all events before an attempt that somebody made", () => {
    answeredAfter(1_250);
    pace.hear();
    answeredAfter(10);
    pass(100_000);
    expect(asked).toBe(0);
  });

  test("is not ended by an attempt that another one took the place of", () => {
    const late = pace.begin();
    const over = pace.begin();
    pace.hear();
    late();
    pass(0);
    expect(asked).toBe(0);
    over();
    pass(0);
    expect(asked).toBe(1);
  });

  test("is asked no more once it is stopped", () => {
    answeredAfter(1_250);
    pace.hear();
    pace.stop();
    pass(100_000);
    expect(asked).toBe(0);
  });
});
