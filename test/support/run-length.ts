/** Length of the test run: the short form of CI, or the full form of `scripts/test --long`. */

/** True if tests that are long by nature run in full. */
export const isLongRun = process.env.PKID_TEST_LONG === "1";

/** Returns the first value in a short run and the second in a long one. */
export const selectByRun = <T>(short: T, long: T): T => (isLongRun ? long : short);
