/** Tells the service manager that started this process how it fares, as sd_notify(3) has it. */

import { dlopen, ptr } from "bun:ffi";

/** Sends lines of `NAME=value`; false when they did not go out. Never throws. */
export type Notify = (message: string) => boolean;

/**
 * A way to say something on the datagram socket of this address, the value of `NOTIFY_SOCKET`: a
 * path, or `@` and an abstract name. Undefined without an address, and where there is no such
 * socket to be had.
 */
export function notifierAt(address: string | undefined): Notify | undefined {
  const target = socketAddress(address ?? "");
  if (target === undefined || process.platform !== "linux") return undefined;
  try {
    const { symbols } = dlopen(cLibrary, {
      socket: { args: ["i32", "i32", "i32"], returns: "i32" },
      sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
    } as const);
    const socket = symbols.socket(unixFamily, datagram | closeOnExec, 0);
    if (socket < 0) return undefined;
    return (message) => {
      const octets = Buffer.from(message);
      const length = BigInt(octets.length);
      // Whoever no longer reads must not stop a CA from answering.
      const flags = dontWait | noSignal;
      const sent = symbols.sendto(socket, ptr(octets), length, flags, ptr(target), target.length);
      return BigInt(sent) === length;
    };
  } catch {
    return undefined; // A C library by another name: the manager then waits until it gives up.
  }
}

/** `struct sockaddr_un` of unix(7): the family, then the path, or a zero octet and a name. */
function socketAddress(address: string): Buffer | undefined {
  const name = Buffer.from(address);
  if (name.length < 2 || name.length >= nameMax || !/^[/@]/.test(address)) return undefined;
  const abstract = address.startsWith("@");
  if (abstract) name[0] = 0;
  const family = Buffer.from(new Uint16Array([unixFamily]).buffer);
  return Buffer.concat(abstract ? [family, name] : [family, name, Buffer.alloc(1)]);
}

const cLibrary = "libc.so.6";
/** Octets of `sun_path`. */
const nameMax = 108;
const unixFamily = 1;
const datagram = 2;
const closeOnExec = 0o2000000;
const dontWait = 0x40;
const noSignal = 0x4000;
