/**
 * A server never asks itself for a proof: neither of its listeners, by a name that leads to it or
 * by a redirect, although the networks it is in may be asked.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { AcmeClient } from "#test/support/acme/client.ts";
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

/** What becomes of the proof of a name that leads to an address, and what is told of it. */
async function proved(address: string, type: string, answer?: (token: string) => void) {
  const name = world.name();
  world.dns.zone.set(name, [addressRecord(address)]);
  const { result, detail } = await client.tried(name, type, ({ token, keyAuthorization }) => {
    web.show(token, keyAuthorization);
    answer?.(token);
  });
  return { result, detail };
}

describe("is refused", () => {
  test("the cleartext listener for http-01, while its neighbour at the same port is asked", async () => {
    expect((await proved(others, "http-01")).result).toBe("valid");
    const { result, detail } = await proved(own, "http-01");
    expect(result).toBe("rejectedIdentifier");
    expect(detail).toContain(`(${own}) that validation does not connect to at port`);
    expect(detail).toContain("acme.validation_allow_networks");
  });

  test("the cleartext listener by a redirect, by its address and by a name", async () => {
    world.dns.zone.set("inside.example.test", [addressRecord(own)]);
    for (const host of [own, "inside.example.test"]) {
      const { result, detail } = await proved(others, "http-01", (token) =>
        web.answers.set(wellKnown(token), redirect(`http://${host}:${web.port}${wellKnown("in")}`)),
      );
      expect(result).toBe("rejectedIdentifier");
      expect(detail).toStartWith(`${host} has an address that`);
    }
  });

  test("the main listener for tls-alpn-01", async () => {
    expect((await proved(others, "tls-alpn-01")).result).toBe("rejectedIdentifier");
  });

  test("before anything is sent to it", async () => {
    await fetch(`${world.instance.publicUrl}/comes-in`);
    const cameIn = (path: string) => world.instance.logs.some((line) => line.includes(path));
    await until(() => cameIn("/comes-in"));
    expect(cameIn("/.well-known/acme-challenge")).toBe(false);
  });
});
