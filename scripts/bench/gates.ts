/**
 * What the gates cost: issues of a profile with lint, key checks and CAA from the cache, beside one
 * with none of them.
 */

import { caa, type DnsServer, startDnsServer } from "#test/support/servers/dns-server.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { type Load, load } from "./load.ts";
import { row, section } from "./print.ts";
import type { Bench } from "./scenario.ts";
import { median } from "./statistics.ts";

const identifier = "ca.example.net";
const host = "gates.bench.example.test";
const usages = { key_usages: ["digitalSignature"], ext_key_usages: ["serverAuth"] };

/**
 * Prints the figures for one client, whose issues wait for the disk, and for enough of them to fill
 * the machine.
 */
export async function gates({ seconds, binary }: Bench): Promise<void> {
  section("gates", "gates: lint, key checks, and CAA from the cache");
  const server = await startDnsServer();
  const log = { level: "info", format: "json" };
  const instance = await Instance.start({ binary, config: { log, ...gatesConfig(server) } });
  try {
    const { intermediateId } = await createChain(instance, "ecdsa-p256");
    for (const connections of [1, 16, 64]) {
      const rates = await gateRates(instance, server, intermediateId, { seconds, connections });
      const failed = rates.failed > 0 ? `, ${rates.failed} FAILED` : "";
      const share = rates.ofTheRateWithout.toFixed(2);
      const figure = `${rates.perSecond.toFixed(0)}/s, ${share} of the rate without`;
      row(`durable issues through all gates, ${connections} clients`, figure + failed);
    }
    row("queries to the name server", String(server.heard.length));
  } finally {
    await instance.dispose();
    await server.stop();
  }
}

/** The two profiles and the resolver they need. */
const gatesConfig = ({ address, port }: DnsServer) => ({
  caa: { identifier, dns_resolver: `${address}:${port}` },
  profiles: [
    {
      name: "gates-on",
      ...usages,
      max_validity_days: 90,
      caa: { mode: "enforce" },
    },
    {
      name: "gates-off",
      ...usages,
      max_validity_days: 90,
      caa: { mode: "off" },
      lint: { disabled: true },
      key_checks: { disabled: true },
    },
  ],
});

/**
 * Rates with and without by turns, each ratio of two neighbours, so that a slow moment of the
 * machine strikes both.
 */
async function gateRates(
  instance: Instance,
  server: DnsServer,
  ca: string,
  options: { readonly seconds: number; readonly connections: number },
): Promise<{ perSecond: number; ofTheRateWithout: number; failed: number }> {
  server.zone.set(host, [caa("issue", identifier)]);
  const csr = await newCsr(instance.home, host);
  const authorization = `Token ${await instance.token(["issuer"])}`;
  const rate = (profile: string, seconds: number): Promise<Load> =>
    load({
      url: `${instance.url}/api/ca/${ca}/issue`,
      method: "POST",
      connections: options.connections,
      seconds,
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ csr, profile }),
    });
  for (const profile of ["gates-off", "gates-on"]) await rate(profile, 1);
  const rounds: { on: Load; off: Load }[] = [];
  for (let round = 0; round < roundsMax; round++) {
    const off = await rate("gates-off", options.seconds);
    rounds.push({ off, on: await rate("gates-on", options.seconds) });
  }
  return {
    perSecond: median(rounds.map(({ on }) => on.perSecond)),
    ofTheRateWithout: median(rounds.map(({ on, off }) => on.perSecond / off.perSecond)),
    failed: rounds.reduce((sum, { on, off }) => sum + on.failed + off.failed, 0),
  };
}

const roundsMax = 5;
