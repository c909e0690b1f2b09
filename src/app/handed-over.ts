/** Which listener of the configuration takes which of the sockets that were handed over. */

import type { InheritedSocket } from "#adapters/sockets/inherited-sockets.ts";
import type { Config } from "#config/schema.ts";

/** A listener without one opens a socket of its own. */
export interface HandedOver {
  readonly main: InheritedSocket | undefined;
  readonly public: InheritedSocket | undefined;
}

/**
 * Gives each socket to the listener it is named after (`main`, `public`), or, under another name,
 * to the one of its port. Throws for a socket that no listener wants, two for one listener, and a
 * port that the configuration does not name: a client would be told one address and served on
 * another.
 */
export function handedOver(
  sockets: readonly InheritedSocket[],
  server: Pick<Config["server"], "port" | "public_http">,
): HandedOver {
  const { enabled, address } = server.public_http;
  const ports = {
    main: server.port,
    public: enabled ? Number(address.slice(address.lastIndexOf(":") + 1)) : undefined,
  };
  const found: { main?: InheritedSocket; public?: InheritedSocket } = {};
  for (const socket of sockets) {
    const role = roleOf(socket, ports);
    const wanted = role && ports[role];
    const shown = `port ${socket.port}${socket.name === "" ? "" : ` (${socket.name})`}`;
    if (role === undefined || wanted === undefined) {
      throw new Error(
        `A socket for ${shown} was handed over, and no listener is configured for it`,
      );
    }
    const key = keys[role];
    if (found[role] !== undefined) {
      throw new Error(`A second socket, for ${shown}, was handed over for ${key}`);
    }
    if (wanted !== 0 && wanted !== socket.port) {
      const sentence = `A socket for ${shown} was handed over, and ${key} says ${wanted}`;
      throw new Error(`${sentence}; change one of them`);
    }
    found[role] = socket;
  }
  return { main: found.main, public: found.public };
}

type Role = keyof HandedOver;

function roleOf(
  { name, port }: InheritedSocket,
  ports: Readonly<Record<Role, number | undefined>>,
): Role | undefined {
  if (name === "main" || name === "public") return name;
  return (["main", "public"] as const).find((role) => ports[role] === port);
}

const keys = { main: "server.port", public: "server.public_http.address" } as const;
