/** An authenticator in the browser, as one that is built into a laptop. */

import type { CDPSession, Page } from "playwright-core";

export interface Authenticator {
  readonly devices: CDPSession;
  readonly authenticatorId: string;
}

/** Plugs it in: it knows its person and is touched by itself. */
export async function plugAuthenticator(page: Page): Promise<Authenticator> {
  const devices = await page.context().newCDPSession(page);
  await devices.send("WebAuthn.enable");
  const { authenticatorId } = await devices.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { devices, authenticatorId };
}
