/** Socket units: systemd listens for pkid, so that clients wait while it is replaced. */

import { isIPv4, isIPv6 } from "node:net";

import type { Config } from "#config/schema.ts";

import { UsageError } from "./failure.ts";

/** A listener that systemd opens. */
export interface SocketNeed {
  /** Name of the unit. */
  readonly unit: SocketUnit;
  /** Name of the socket, by which the server knows what it is for. */
  readonly name: "main" | "public";
  /** As `ListenStream=` wants it. */
  readonly address: string;
}

export const socketUnits = ["pkid.socket", "pkid-public.socket"] as const;
type SocketUnit = (typeof socketUnits)[number];

/** The TCP listeners of a configuration; throws for an address that systemd cannot listen on. */
export function socketsOf({ server }: Config): readonly SocketNeed[] {
  const { enabled, address } = server.public_http;
  const at = address.lastIndexOf(":");
  const main = streamOf(server.host, server.port, "server.host and server.port");
  const needs: SocketNeed[] = [{ unit: "pkid.socket", name: "main", address: main }];
  if (!enabled) return needs;
  const host = address.slice(0, at).replace(/^\[|\]$/g, "");
  const open = streamOf(host, Number(address.slice(at + 1)), "server.public_http.address");
  return [...needs, { unit: "pkid-public.socket", name: "public", address: open }];
}

/** The unit of one. */
export const socketFile = ({ name, address }: SocketNeed, ownLine: string): string => `${ownLine}
[Unit]
Description=pkid certificate authority: ${name} listener

[Socket]
ListenStream=${address}
FileDescriptorName=${name}
Service=pkid.service
# Who comes while pkid is replaced waits here; net.core.somaxconn is the other limit.
Backlog=4096
NoDelay=yes
# At boot the address may come later.
FreeBind=yes
# However often a start fails, nobody is refused for that.
TriggerLimitIntervalSec=0

[Install]
WantedBy=sockets.target
`;

function streamOf(host: string, port: number, keys: string): string {
  if (port === 0) throw new UsageError(`--socket needs a port in ${keys}.`);
  if (isIPv4(host)) return `${host}:${port}`;
  if (isIPv6(host)) return `[${host}]:${port}`;
  throw new UsageError(`--socket needs an IP address in ${keys}; ${host} is a name.`);
}
