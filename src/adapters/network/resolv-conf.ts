/** The name servers that are asked: those of a setting, or of the system (/etc/resolv.conf). */

import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";

/** A server to ask. */
export interface NameServer {
  /** The name of the host, where the system does not know its address; nobody can be asked then. */
  readonly address: string;
  readonly port: number;
}

/** The resolver of a setting, else those of the system, as they are now. */
export const nameServers = async ({
  dns_resolver,
}: {
  readonly dns_resolver: string | undefined;
}): Promise<readonly NameServer[]> =>
  dns_resolver === undefined ? systemServers() : await serversAt(dns_resolver);

/**
 * The server written as `host:port`, at each address of the host as the system knows it now; one
 * that the system does not find in time is given by its name.
 */
export async function serversAt(text: string): Promise<readonly NameServer[]> {
  const server = parseServer(text);
  if (isIP(server.address) !== 0) return [server];
  const addresses = await Promise.race([addressesOf(server.address), nothingIn(lookupMs)]);
  if (addresses.length === 0) return [server];
  return addresses.map((address) => ({ address, port: server.port }));
}

async function addressesOf(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    return []; // Who is asked for its name does not answer either, and that is told.
  }
}

const nothingIn = (milliseconds: number): Promise<readonly string[]> =>
  new Promise((resolve) => setTimeout(() => resolve([]), milliseconds).unref());

/**
 * The servers in their order, three at most; the local host when none is listed, as the C library
 * has it.
 */
export function systemServers(file = "/etc/resolv.conf"): readonly NameServer[] {
  const listed = textOf(file)
    .split("\n")
    .map((line) => /^nameserver[ \t]+(\S+)/.exec(line)?.[1] ?? "")
    .filter((address) => isIP(address) !== 0)
    .slice(0, serversMax)
    .map((address) => ({ address, port: 53 }));
  return listed.length > 0 ? listed : [{ address: "127.0.0.1", port: 53 }];
}

/** The server written as `host:port` or `[address]:port`. */
export function parseServer(text: string): NameServer {
  const colon = text.lastIndexOf(":");
  return {
    address: text.slice(0, colon).replace(/^\[|\]$/g, ""),
    port: Number(text.slice(colon + 1)),
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // Without the file the C library asks the local host.
  }
}

const serversMax = 3;
/** As long as an address is waited for. */
const lookupMs = 2000;
