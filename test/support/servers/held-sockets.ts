/**
 * Sockets that this process keeps open for a server that comes and goes, as a service manager does.
 */

import { dlopen, ptr } from "bun:ffi";

/** One that listens on 127.0.0.1. */
export interface HeldSocket {
  readonly file: number;
  readonly port: number;
  close(): void;
}

/** Opens one on a port that the system chooses. Nobody accepts from it here. */
export function heldSocket(): HeldSocket {
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    listen: { args: ["i32", "i32"], returns: "i32" },
    getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    close: { args: ["i32"], returns: "i32" },
  } as const);
  const file = symbols.socket(2, 1 | 0o2000000, 0);
  const address = new Uint8Array(16);
  const fields = new DataView(address.buffer);
  fields.setUint16(0, 2, true);
  fields.setUint32(4, 0x7f_00_00_01);
  if (symbols.bind(file, ptr(address), 16) !== 0) throw new Error("a socket could not be bound");
  if (symbols.listen(file, 4096) !== 0) throw new Error("a socket does not listen");
  symbols.getsockname(file, ptr(address), ptr(new Uint32Array([16])));
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
