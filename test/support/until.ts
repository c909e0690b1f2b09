/** Waiting for what somebody else brings about. */

/** Waits for something another process or a notification brings about; a minute at most. */
export async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 6000; attempt++) {
    if (await done()) return;
    await Bun.sleep(10);
  }
  throw new Error("it never came to be");
}
