/** What an instance has opened, and closes in the end. */

/** What has to be closed, in the order in which it was opened. */
export type Closing = (() => unknown)[];

/** The last first. */
export async function closeAll(closing: Closing): Promise<void> {
  for (const end of closing.reverse()) await end();
  closing.length = 0;
}
