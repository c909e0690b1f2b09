/** Validators of a test: a name server that says what it is told, and networks of loopback. */

import { NetworkValidators, type ValidationSettings } from "#adapters/network/acme/validators.ts";
import type { Place } from "#adapters/network/acme/addresses.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { recordTypes } from "#core/dns/records.ts";
import { parseIpAddress } from "#core/x509/addresses.ts";
import type { ValidationTask } from "#domain/acme/validators.ts";
import type { Log } from "#domain/ports.ts";
import {
  type DnsServer,
  startDnsServer,
  type ZoneRecord,
} from "#test/support/servers/dns-server.ts";

/** Where a test's name server is, for settings. */
export const at = (server: { readonly address: string; readonly port: number }): string =>
  `${server.address}:${server.port}`;

/** Loopback is denied but for 127.0.0.2 and ::1, where a test has what may be connected to. */
export const settingsFor = (
  server: { readonly address: string; readonly port: number },
  others: Partial<ValidationSettings> = {},
): ValidationSettings => ({
  http01_port: 80,
  tls_alpn01_port: 443,
  dns_resolver: at(server),
  vantage_resolvers: [],
  validation_timeout_seconds: 5,
  validation_deny_networks: ["127.0.0.0/8", "::1/128", "169.254.0.0/16", "fe80::/10"],
  validation_allow_networks: ["127.0.0.2/32"],
  ...others,
});

/** Validators with what they wrote into the log. */
export function validatorsWith(
  settings: () => ValidationSettings,
  ownListeners: () => readonly Place[] = () => [],
) {
  const logged: string[] = [];
  const log: Log = { write: (_level, message) => logged.push(message) };
  const deps = { random: systemRandom, clock: systemClock, log, settings, ownListeners };
  return { validators: new NetworkValidators(deps), logged };
}

/** A task for `a.test` by http-01. */
export const taskFor = (others: Partial<ValidationTask> = {}): ValidationTask => ({
  type: "http-01",
  identifier: { type: "dns", value: "a.test" },
  wildcard: false,
  token: "token",
  keyAuthorization: "token.thumbprint",
  accountUrl: "https://ca.test/acme/acct/1",
  ...others,
});

/** An address record of the family of the address. */
export function addressRecord(address: string): ZoneRecord {
  const rdata = parseIpAddress(address);
  if (rdata === undefined) throw new Error(`${address} is no address`);
  return { type: rdata.length === 4 ? recordTypes.A : recordTypes.AAAA, rdata };
}

/** A text record of these strings. */
export const txt = (...strings: readonly string[]): ZoneRecord => ({
  type: recordTypes.TXT,
  rdata: Buffer.concat(strings.map((text) => Buffer.of(text.length, ...Buffer.from(text)))),
});

/** A name server that gives each name these addresses. */
export async function namesAt(
  zone: Readonly<Record<string, readonly string[]>>,
): Promise<DnsServer> {
  const server = await startDnsServer();
  for (const [name, addresses] of Object.entries(zone)) {
    server.zone.set(name, addresses.map(addressRecord));
  }
  return server;
}
