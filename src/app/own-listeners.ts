/** Where this server listens, so that it never asks itself for the proofs of others. */

import type { Place } from "#adapters/network/acme/addresses.ts";
import type { Config } from "#config/schema.ts";
import type { HandedOver } from "./handed-over.ts";

/** Ports as they are open; undefined for a listener that is not. */
export interface OpenPorts {
  readonly main?: number | undefined;
  readonly public?: number | undefined;
}

/**
 * The listeners of the network: at the ports that are open, for the configuration may leave them to
 * the system, and where sockets were handed over at any address, for it does not say theirs.
 */
export function ownListeners(
  { host, port, public_http }: Pick<Config["server"], "host" | "port" | "public_http">,
  open: OpenPorts,
  handed: HandedOver,
): readonly Place[] {
  const main = {
    address: handed.main === undefined ? host : anywhere,
    port: open.main ?? port,
  };
  if (!public_http.enabled) return [main];
  const configured = splitAddress(public_http.address);
  const cleartext = {
    address: handed.public === undefined ? configured.host : anywhere,
    port: open.public ?? configured.port,
  };
  return [main, cleartext];
}

/** The parts of `host:port`; an address of IPv6 is without its brackets. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const at = address.lastIndexOf(":");
  return {
    host: address.slice(0, at).replace(/^\[|\]$/g, ""),
    port: Number(address.slice(at + 1)),
  };
}

const anywhere = "::";
