/**
 * Lets one listening socket follow another on a shared port without losing a connection; only Linux
 * can.
 */

import { dlopen, ptr } from "bun:ffi";
import { closeSync, openSync, readdirSync, readlinkSync, readSync } from "node:fs";

/** What came of opening the follower. */
export interface Followed<S> {
  readonly opened: S;
  /**
   * Closes the sockets that were there before, and leaves the connections they have accepted as
   * they are.
   */
  release(): void;
}

/**
 * Runs `open`, which begins to listen on a port that this process shares with itself already, and
 * has the kernel give every new connection to the new socket from then on. Undefined, and `open`
 * has not run, where there is nothing to follow or the system cannot do it.
 */
export function following<S>(port: number, open: () => S): Followed<S> | undefined {
  const library = libc();
  const before = library === undefined ? [] : listeningOn(port);
  if (library === undefined || before.length === 0) return undefined;
  const opened = open();
  const known = new Set(before.map(({ file }) => file));
  const fresh = listeningOn(port).find(({ file }) => !known.has(file));
  // Another listener of this process may have the same port of another address, and is not
  // followed.
  const followed = before.filter(({ address }) => address === fresh?.address);
  // Where the kernel refuses it deals new connections to both until the release, and none is lost
  // for that either.
  if (fresh !== undefined) directTo(library, fresh.file, followed.length);
  return { opened, release: () => closeUnder(library, followed, port) };
}

/** A descriptor of this process that listens, and on which address, as the kernel writes it. */
export interface Listening {
  readonly file: number;
  readonly address: string;
}

type Libc = NonNullable<ReturnType<typeof libc>>;

function libc() {
  if (process.platform !== "linux") return undefined;
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  for (const name of ["libc.so.6", musl]) {
    try {
      return dlopen(name, {
        dup2: { args: ["i32", "i32"], returns: "i32" },
        setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
      });
    } catch {
      // Another C library has another name.
    }
  }
  return undefined;
}

/**
 * A filter of one instruction, "give back `index`" (socket(7), SO_ATTACH_REUSEPORT_CBPF): the
 * socket that joined last.
 */
function directTo(library: Libc, file: number, index: number): void {
  const instruction = new Uint8Array(8);
  const code = new DataView(instruction.buffer);
  code.setUint16(0, returnConstant, true);
  code.setUint32(4, index, true);
  const program = new Uint8Array(16);
  const header = new DataView(program.buffer);
  header.setUint16(0, 1, true);
  header.setBigUint64(8, BigInt(ptr(instruction)), true);
  library.symbols.setsockopt(file, solSocket, attachReusePortCbpf, ptr(program), program.length);
}

/**
 * Puts another file in the place of each socket, which closes it: the runtime has no way to stop
 * listening that does not also cut the connections that wait for their next request. The runtime
 * closes what is there now with its server.
 */
function closeUnder(library: Libc, sockets: readonly Listening[], port: number): void {
  const still = new Map(listeningOn(port).map(({ file, address }) => [file, address]));
  const nothing = openSync("/dev/null", "r+");
  for (const { file, address } of sockets) {
    if (still.get(file) === address) library.symbols.dup2(nothing, file);
  }
  closeSync(nothing);
}

/**
 * What of this process listens on a TCP port, of whatever address. With `every`, returns each
 * descriptor of a socket, and reads all open files; otherwise only the first one.
 */
export function listeningOn(port: number, every = false): readonly Listening[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const addresses = new Map<string, string>();
  for (const table of ["tcp", "tcp6"]) {
    for (const [, address = "", , , , , , , , inode = ""] of listeners(table)) {
      if (address.endsWith(end)) addresses.set(inode, address);
    }
  }
  const found: Listening[] = [];
  for (const file of readdirSync("/proc/self/fd")) {
    if (addresses.size === 0) break;
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(file))?.[1] ?? "";
    const address = addresses.get(inode);
    if (address !== undefined) found.push({ file: Number(file), address });
    if (!every) addresses.delete(inode);
  }
  return found;
}

/**
 * The rows of sockets that listen, which stand before all others (Linux,
 * Documentation/networking/proc_net_tcp.rst): the rest, a row for every connection of this machine,
 * is not read.
 */
function listeners(table: string): readonly (readonly string[])[] {
  const rows = headOf(`/proc/self/net/${table}`, (text) => connected.test(text)).split("\n");
  const fields = rows.map((row) => row.trim().split(/\s+/));
  return fields.filter(([, , , state]) => state === listen);
}

/**
 * What a file begins with, up to some octets after `enough` is there; nothing of one that is not
 * there.
 */
function headOf(path: string, enough: (text: string) => boolean): string {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return ""; // A system without IPv6 has no such table.
  }
  try {
    const piece = Buffer.alloc(pieceOctets);
    let text = "";
    for (let read = -1; read !== 0 && !enough(text); ) {
      read = readSync(file, piece);
      text += piece.toString("latin1", 0, read);
    }
    return text;
  } finally {
    closeSync(file);
  }
}

/** What an open file of this process is, as the kernel says; empty for one that is gone. */
export function linkOf(file: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return ""; // The descriptor of the directory itself is gone by now.
  }
}

/** The state of a socket that listens, as the kernel writes it. */
const listen = "0A";
/** A whole row in any other state: its number, both addresses, the state. */
const connected = /^\s*\d+: \S+ \S+ (?!0A)[0-9A-F]{2} /m;
const pieceOctets = 16_384;
const solSocket = 1;
const attachReusePortCbpf = 51;
/** `BPF_RET | BPF_K`. */
const returnConstant = 0x06;
