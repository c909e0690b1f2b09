/**
 * Sockets that this process keeps open for a server that comes and goes, as a service manager does.
 */

import { dlopen, ptr } from "bun:ffi";

/** One that listens. */
export interface HeldSocket {
  readonly file: number;
  readonly port: number;
  close(): void;
}

/**
 * Opens one on 127.0.0.1, or on any address of IPv6 and IPv4, at a port that the system chooses.
 * Nobody accepts from it here; with a backlog of 0 one connection fills it, and the next is left
 * without an answer.
 */
export function heldSocket(family: "ipv4" | "both" = "ipv4", backlog = 4096): HeldSocket {
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    listen: { args: ["i32", "i32"], returns: "i32" },
    getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    close: { args: ["i32"], returns: "i32" },
  } as const);
  const [number, octets] = family === "ipv4" ? [2, 16] : [10, 28];
  const file = symbols.socket(number, 1 | 0o2000000, 0);
  const address = new Uint8Array(octets);
  const fields = new DataView(address.buffer);
  fields.setUint16(0, number, true);
  if (family === "ipv4") fields.setUint32(4, 0x7f_00_00_01);
  if (symbols.bind(file, ptr(address), octets) !== 0) throw new Error("a socket is not bound");
  if (symbols.listen(file, backlog) !== 0) throw new Error("a socket does not listen");
  symbols.getsockname(file, ptr(address), ptr(new Uint32Array([octets])));
  return { file, port: fields.getUint16(2), close: () => symbols.close(file) };
}

/** What starts `line` with the sockets that lie at descriptor 3 and on, under these names. */
export const handing = (names: readonly string[], line: readonly string[]): string[] => [
  "/bin/sh",
  "-c",
  `LISTEN_FDS=${names.length} LISTEN_PID=$$ LISTEN_FDNAMES=${names.join(":")} exec "$@"`,
  "sh",
  ...line,
];
