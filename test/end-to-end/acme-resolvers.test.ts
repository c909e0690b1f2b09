/**
 * Which name servers proofs ask: the one of `acme.dns_resolver` and every one of
 * `acme.vantage_resolvers`, which must see the same, and never that of CAA.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { AcmeClient, Proof } from "#test/support/acme/client.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { type DnsServer, startDnsServer } from "#test/support/servers/dns-server.ts";
import { addressRecord, at, txt } from "#test/support/worlds/validation.ts";

const proved = async (
  client: AcmeClient,
  name: string,
  type: string,
  show: (proof: Proof) => void,
): Promise<string> => (await client.tried(name, type, show)).result;

describe("with a vantage elsewhere", () => {
  let world: AcmeWorld;
  let elsewhere: DnsServer;
  let client: AcmeClient;
  beforeAll(async () => {
    elsewhere = await startDnsServer();
    world = await AcmeWorld.start({
      acme: {
        // By name, as a name server is known to whoever runs it in a container.
        vantage_resolvers: [`localhost:${elsewhere.port}`],
        validation_attempts: 1,
        validation_timeout_seconds: 5,
      },
    });
    client = await world.client();
  }, 30_000);
  afterAll(async () => {
    await world.stop();
    await elsewhere.stop();
  });

  /** A name that the first name server knows, and the other one as it is told. */
  const seen = (...addresses: readonly string[]): string => {
    const name = world.name();
    if (addresses.length > 0) elsewhere.zone.set(name, addresses.map(addressRecord));
    return name;
  };
  const http = (name: string) => proved(client, name, "http-01", world.show);

  test("a name that both see at one address is proved there", async () => {
    expect(await http(seen("127.0.0.1"))).toBe("valid");
    expect(await http(seen("127.0.0.3", "127.0.0.1"))).toBe("valid");
  });

  test("one that they see at different addresses, or one of them not at all, is not", async () => {
    expect(await http(seen("127.0.0.3"))).toBe("dns");
    expect(await http(seen())).toBe("dns");
  });

  test("one that either sees at a denied address is refused", async () => {
    expect(await http(seen("127.0.0.1", "169.254.169.254"))).toBe("rejectedIdentifier");
  });

  test("a record that only one of them shows proves nothing", async () => {
    const show = (others: readonly DnsServer[]) => (proof: Proof) => {
      const place = `_acme-challenge.${proof.identifier.value}`;
      for (const server of others) server.zone.set(place, [txt(proof.digest)]);
    };
    const dns = (...servers: readonly DnsServer[]) =>
      proved(client, world.name(), "dns-01", show(servers));
    expect(await dns(world.dns, elsewhere)).toBe("valid");
    expect(await dns(world.dns)).not.toBe("valid");
    expect(await dns(elsewhere)).not.toBe("valid");
  });

  test("preflight looks at both, each by itself", async () => {
    const { stdout } = await world.instance.cli("preflight", "--only", "dns.resolver", "--json");
    expect(stdout).toContain(`127.0.0.1:${world.dns.port}`);
    expect(stdout).toContain(`127.0.0.1:${elsewhere.port}`);
  });
});

test("the name server of CAA is not asked for proofs, where ACME has none of its own", async () => {
  const ofCaa = await startDnsServer();
  const world = await AcmeWorld.start({
    acme: { dns_resolver: undefined, validation_attempts: 1, validation_timeout_seconds: 2 },
    config: { caa: { identifier: "ca.example.test", dns_resolver: at(ofCaa) } },
  });
  const client = await world.client();
  const name = world.name();
  ofCaa.zone.set(name, [addressRecord("127.0.0.1")]);
  expect(await proved(client, name, "http-01", world.show)).toBe("dns");
  expect(ofCaa.heard).toEqual([]);
  // Nobody asks for CAA here, so preflight looks at the system's alone.
  const { stdout } = await world.instance.cli("preflight", "--only", "dns.resolver", "--json");
  expect(stdout).not.toContain(`:${ofCaa.port}`);
  await world.stop();
  await ofCaa.stop();
}, 60_000);
