/**
 * Serves on sockets that another process opened and keeps open (sd_listen_fds(3)): while this one
 * is replaced, clients wait in them instead of being refused. The runtime serves on no socket but
 * its own, so a socket of its own is exchanged for the inherited one where the kernel knows it.
 */

import { dlopen, ptr } from "bun:ffi";
import { readdirSync, readFileSync } from "node:fs";

import { linkOf, listeningOn } from "./listening-sockets.ts";

/** A TCP socket that listened before this process began. */
export interface InheritedSocket {
  /** What who opened it calls it; empty when it has no name. */
  readonly name: string;
  /** The port it is bound to. */
  readonly port: number;
  /**
   * Has what this process listens with on `port` of 127.0.0.1 accept from here instead. `release`
   * ends that, and may be called again; whoever waits to be accepted goes on waiting. Throws where
   * the system does not let that be done, and then nobody listens on either.
   */
  adopt(port: number): { release(): void };
}

/**
 * The sockets that were handed to this very process, by `LISTEN_FDS`, `LISTEN_PID` and
 * `LISTEN_FDNAMES`; those variables are removed, and no child gets a socket. Throws for a
 * descriptor that is no listening TCP socket.
 */
export function inheritedSockets(
  env: Record<string, string | undefined>,
): readonly InheritedSocket[] {
  const { LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES = "" } = env;
  for (const name of ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"]) delete env[name];
  if (LISTEN_FDS === undefined || LISTEN_PID !== String(process.pid)) return [];
  const count = /^\d{1,4}$/.test(LISTEN_FDS) ? Number(LISTEN_FDS) : Number.NaN;
  if (Number.isNaN(count)) throw new Error("LISTEN_FDS must be the number of sockets handed over");
  if (count === 0) return [];
  const library = libc();
  if (library === undefined) throw new Error("This system cannot take over sockets (LISTEN_FDS)");
  const names = LISTEN_FDNAMES.split(":");
  return Array.from({ length: count }, (_, n) => {
    const file = firstFile + n;
    library.fcntl(file, setDescriptorFlags, closeOnExec);
    const name = names[n] ?? "";
    const port = portOf(library, file);
    if (port === undefined) {
      const called = name === "" ? "" : ` (${name})`;
      throw new Error(`Descriptor ${file}${called} of LISTEN_FDS is no listening TCP socket`);
    }
    return { name, port, adopt: (own: number) => adopt(library, file, own) };
  });
}

type Libc = NonNullable<ReturnType<typeof libc>>;

function libc() {
  if (process.platform !== "linux") return undefined;
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  for (const name of ["libc.so.6", musl]) {
    try {
      return dlopen(name, {
        dup2: { args: ["i32", "i32"], returns: "i32" },
        epoll_ctl: { args: ["i32", "i32", "i32", "ptr"], returns: "i32" },
        fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
        getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
        getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
      }).symbols;
    } catch {
      // Another C library has another name.
    }
  }
  return undefined;
}

/** Of a stream socket of IPv4 or IPv6 that listens; undefined for anything else. */
function portOf(library: Libc, file: number): number | undefined {
  const listens = option(library, file, acceptsConnections) === 1;
  if (!listens || option(library, file, socketType) !== streamSocket) return undefined;
  const address = new Uint8Array(addressOctets);
  const length = new Uint32Array([address.length]);
  if (library.getsockname(file, ptr(address), ptr(length)) !== 0) return undefined;
  const family = new Uint16Array(address.buffer)[0] ?? 0;
  return families.includes(family) ? new DataView(address.buffer).getUint16(2) : undefined;
}

function option(library: Libc, file: number, name: number): number {
  const value = new Int32Array([-1]);
  const length = new Uint32Array([value.byteLength]);
  library.getsockopt(file, solSocket, name, ptr(value), ptr(length));
  return value[0] ?? -1;
}

/**
 * The runtime's event loop waits for its socket by the number of the descriptor and knows it again
 * by a word of its own (epoll_ctl(2)), which the kernel shows (proc(5), fdinfo). The inherited
 * socket takes over the number and the word, and the runtime accepts from it as from its own.
 */
function adopt(library: Libc, inherited: number, port: number): { release(): void } {
  const own = listeningOn(port).find(({ address }) => address.startsWith(`${loopback}:`));
  const awaited = own && findRegistration(own.file);
  if (own === undefined || awaited === undefined) throw new Error(cannot);
  library.fcntl(inherited, setStatusFlags, nonBlocking);
  // What had this number is closed by this, and no longer awaited.
  const taken = library.dup2(inherited, own.file) === own.file;
  library.fcntl(own.file, setDescriptorFlags, closeOnExec);
  const add = () =>
    library.epoll_ctl(awaited.epoll, controlAdd, own.file, ptr(awaited.event)) === 0;
  if (!taken || !add()) throw new Error(cannot);
  let held = true;
  return {
    release: () => {
      if (held) library.epoll_ctl(awaited.epoll, controlDelete, own.file, ptr(awaited.event));
      held = false;
    },
  };
}

/** Registration of a descriptor with an event loop. */
export interface Registration {
  /** Descriptor of the epoll instance. */
  readonly epoll: number;
  /** `struct epoll_event`. */
  readonly event: Uint8Array<ArrayBuffer>;
}

/** Returns the registration of a descriptor with the event loop that waits for it. */
export function findRegistration(file: number): Registration | undefined {
  const loops = readdirSync("/proc/self/fd").filter(
    (one) => linkOf(one) === "anon_inode:[eventpoll]",
  );
  const row = new RegExp(`^tfd: +${file} events: +([0-9a-f]+) data: +([0-9a-f]+)`, "m");
  for (const loop of loops) {
    const found = row.exec(readFileSync(`/proc/self/fdinfo/${loop}`, "latin1"));
    if (found === null) continue;
    const [, events = "", word = ""] = found;
    // Packed on x86-64 only (linux/eventpoll.h).
    const at = process.arch === "x64" ? 4 : 8;
    const event = new Uint8Array(at + 8);
    const fields = new DataView(event.buffer);
    fields.setUint32(0, Number.parseInt(events, 16), true);
    fields.setBigUint64(at, BigInt(`0x${word}`), true);
    return { epoll: Number(loop), event };
  }
  return undefined;
}

const cannot = "This system does not let a socket that was handed over be served (LISTEN_FDS)";
/** 127.0.0.1, as the kernel writes it. */
const loopback = "0100007F";
/** SD_LISTEN_FDS_START. */
const firstFile = 3;
const closeOnExec = 1;
const setDescriptorFlags = 2;
const setStatusFlags = 4;
/** O_NONBLOCK and O_RDWR. */
const nonBlocking = 0o4002;
const controlAdd = 1;
const controlDelete = 2;
const solSocket = 1;
const socketType = 3;
const acceptsConnections = 30;
const streamSocket = 1;
/** `struct sockaddr_storage`. */
const addressOctets = 128;
/** AF_INET and AF_INET6. */
const families: readonly number[] = [2, 10];
