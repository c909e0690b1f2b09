/**
 * A server never asks itself for a proof: neither of its listeners, by a name that leads to it or
 * by a redirect, although the networks it is in may be asked.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { AcmeClient, AuthorizationObject } from "#test/support/acme/client.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import {
  type HttpResponder,
  redirect,
  startHttpResponder,
  wellKnown,
} from "#test/support/servers/acme-challenges.ts";
import { until } from "#test/support/until.ts";
import { addressRecord } from "#test/support/worlds/validation.ts";

/** Where the server listens for cleartext, and at the same port somebody else beside it. */
const [own, others] = ["127.0.0.2", "127.0.0.1"];
let world: AcmeWorld;
let web: HttpResponder;
let client: AcmeClient;
beforeAll(async () => {
  web = await startHttpResponder(others);
  world = await AcmeWorld.start({
    acme: {
      http01_port: web.port,
      // Loopback may be asked, and no address of it is permitted by itself.
      validation_deny_networks: ["169.254.0.0/16"],
      validation_allow_networks: [],
      validation_attempts: 1,
      challenge_types: ["http-01", "tls-alpn-01"],
    },
    config: { server: { public_http: { enabled: true, address: `${own}:${web.port}` } } },
  });
  // Its port is known only now.
  await world.instance.stop();
  await world.startAgain({ tls_alpn01_port: Number(new URL(world.base).port) });
  client = await world.client();
}, 60_000);
afterAll(async () => {
  await world.stop();
  await web.stop();
});

/** What becomes of the proof of a name that leads to an address. */
async function proved(address: string, type: string, answer?: (token: string) => void) {
  const name = world.name();
  world.dns.zone.set(name, [addressRecord(address)]);
  const order = await client.order([name]);
  const [url = ""] = order.authorizations;
  const { challenges } = await client.read<AuthorizationObject>(url);
  const challenge = challenges.find((one) => one.type === type);
  if (challenge === undefined) throw new Error(`no ${type}`);
  const proof = client.proof(challenge, { type: "dns", value: name });
  web.show(proof.token, proof.keyAuthorization);
  answer?.(proof.token);
  await client.post(challenge.url, {});
  const decided = await client.decided(url);
  const shown = decided.challenges.find((one) => one.type === type);
  return { status: decided.status, error: shown?.error };
}

/** The type of the error, where the name is refused, and otherwise the status of its proof. */
const refusalOf = ({ status, error }: Awaited<ReturnType<typeof proved>>) =>
  status === "invalid" ? error?.type.replace("urn:ietf:params:acme:error:", "") : status;

describe("is refused", () => {
  test("the cleartext listener for http-01, while its neighbour at the same port is asked", async () => {
    expect(await proved(others, "http-01")).toMatchObject({ status: "valid" });
    const outcome = await proved(own, "http-01");
    expect(refusalOf(outcome)).toBe("rejectedIdentifier");
    expect(outcome.error?.detail).toContain(`(${own}) that validation does not connect to at port`);
    expect(outcome.error?.detail).toContain("acme.validation_allow_networks");
  });

  test("the cleartext listener by a redirect, by its address and by a name", async () => {
    world.dns.zone.set("inside.example.test", [addressRecord(own)]);
    for (const host of [own, "inside.example.test"]) {
      const outcome = await proved(others, "http-01", (token) =>
        web.answers.set(wellKnown(token), redirect(`http://${host}:${web.port}${wellKnown("in")}`)),
      );
      expect(refusalOf(outcome)).toBe("rejectedIdentifier");
      expect(outcome.error?.detail).toStartWith(`${host} has an address that`);
    }
  });

  test("the main listener for tls-alpn-01", async () => {
    const outcome = await proved(others, "tls-alpn-01");
    expect(refusalOf(outcome)).toBe("rejectedIdentifier");
  });

  test("before anything is sent to it", async () => {
    await fetch(`${world.instance.publicUrl}/comes-in`);
    const cameIn = (path: string) => world.instance.logs.some((line) => line.includes(path));
    await until(() => cameIn("/comes-in"));
    expect(cameIn("/.well-known/acme-challenge")).toBe(false);
  });
});
