/** Validation while many accounts of one address have names whose servers never respond. */

import { afterAll, beforeAll, expect, test } from "bun:test";

import type { AcmeClient, AuthorizationObject, Proof } from "#test/support/acme/client.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { wellKnown } from "#test/support/servers/acme-challenges.ts";
import { until } from "#test/support/until.ts";

let world: AcmeWorld;
beforeAll(async () => {
  world = await AcmeWorld.start({
    acme: { validation_attempts: 1, validation_timeout_seconds: 60, challenge_types: ["http-01"] },
    config: { server: { trusted_proxies: ["127.0.0.1/32"] } },
  });
}, 30_000);
afterAll(() => world.stop());

/** Starts the only challenge of a new order, as a client of this address; returns the URL. */
async function startChallenge(
  client: AcmeClient,
  ip: string,
  show: (proof: Proof) => unknown,
): Promise<string> {
  const order = await client.order([world.name()]);
  const [url = ""] = order.authorizations;
  const { challenges, identifier } = await client.read<AuthorizationObject>(url);
  const [challenge] = challenges;
  if (challenge === undefined) throw new Error(`${url} has no challenge`);
  await show(client.proof(challenge, identifier));
  const sent = await client.post(challenge.url, {}, { headers: { "x-forwarded-for": ip } });
  expect(sent.status).toBe(200);
  return url;
}

/** Silences the web server for the token of a challenge. */
const silence = ({ token }: Proof) => world.web.answers.set(wellKnown(token), () => {});

test("a challenge is validated while 80 accounts of another address occupy their attempts", async () => {
  for (let n = 0; n < 80; n += 20) {
    const clients = await Promise.all(Array.from({ length: 20 }, () => world.client()));
    await Promise.all(clients.map((client) => startChallenge(client, "192.0.2.1", silence)));
  }
  await until(() => world.web.open() >= 24);
  const customer = await world.client();
  const url = await startChallenge(customer, "192.0.2.2", world.show);
  await until(async () => (await customer.read<AuthorizationObject>(url)).status === "valid");
  expect(world.web.open()).toBeLessThanOrEqual(24);
}, 120_000);
