/** An API token that works at first and expires during the test. */

import type { Instance } from "./instance.ts";

/**
 * Creates an API token that expires soon, and returns it after it was accepted once. On a busy
 * machine it may expire before that, so each attempt is valid twice as long as the last one.
 */
export async function createExpiringToken(
  instance: Instance,
  roles: readonly string[],
): Promise<string> {
  for (let validMs = 500; validMs < 60_000; validMs *= 2) {
    const expires_at = new Date(Date.now() + validMs).toISOString();
    const secret = await instance.token(roles, { expires_at }).catch(() => "");
    const headers = { authorization: `Token ${secret}` };
    if ((await instance.fetch("/api/me", { headers })).status === 200) return secret;
  }
  throw new Error("no API token was accepted before it expired");
}
