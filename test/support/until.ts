/** Waiting for what somebody else brings about. */

import { expect } from "bun:test";

/** Waits for something another process or a notification brings about; a minute at most. */
export async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 6000; attempt++) {
    if (await done()) return;
    await Bun.sleep(10);
  }
  throw new Error("it never came to be");
}

/**
 * Waits until a read returns the expected value, or one that the expected matcher accepts; fails
 * with its last value after ten seconds.
 */
export async function expectSoon<Value>(
  read: () => Value | Promise<Value>,
  expected: NoInfer<Value>,
): Promise<void> {
  const late = performance.now() + 10_000;
  for (;;) {
    const value = await read();
    try {
      expect<unknown>(value).toEqual(expected);
      return;
    } catch (failure) {
      if (performance.now() > late) throw failure;
    }
    await Bun.sleep(20);
  }
}
