/** The name servers of the system, as /etc/resolv.conf lists them. */

import { readFileSync } from "node:fs";
import { isIP } from "node:net";

/** A server to ask. */
export interface NameServer {
  readonly address: string;
  readonly port: number;
}

/** The resolver that `caa` names, else those of the system, as they are now. */
export const nameServers = ({
  dns_resolver,
}: {
  readonly dns_resolver: string | undefined;
}): readonly NameServer[] =>
  dns_resolver === undefined ? systemServers() : [parseServer(dns_resolver)];

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

/** The server written as `address:port` or `[address]:port`. */
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
