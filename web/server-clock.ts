/**
 * The server's time. What it says (the end of a session, of a certificate) is held against its own
 * clock: a browser's may be hours wrong.
 */

const clock = { aheadMs: 0 };

/** Milliseconds since 1970 by the server's clock, as far as it is known. */
export const serverNow = (): number => Date.now() + clock.aheadMs;

/**
 * Reads the time of an answer (RFC 9110 §6.6.1). It is of whole seconds and some time on its way,
 * so that a few seconds are no difference.
 */
export function learnServerTime({ headers }: Response): void {
  const said = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(said)) return;
  const aheadMs = said - Date.now();
  clock.aheadMs = Math.abs(aheadMs) < 10_000 ? 0 : aheadMs;
}
