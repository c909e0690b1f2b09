/**
 * Removes listening sockets from the event loop of the runtime, adds them again, and limits open
 * files; Linux only. The runtime itself can neither pause a server nor limit its connections.
 */

import { dlopen, ptr } from "bun:ffi";
import { readdirSync, statSync } from "node:fs";

import type { Acceptance } from "./connection-gate.ts";
import { findRegistration, type Registration } from "./inherited-sockets.ts";
import { linkOf, listeningOn } from "./listening-sockets.ts";

/**
 * Returns control over the sockets that listen on TCP ports; undefined where the system has no such
 * control.
 *
 * @param ports the ports, read again with every `refresh`
 * @param backlog length of the queue that each socket gets; undefined leaves it as it is
 */
export function openAcceptance(
  ports: () => readonly number[],
  backlog: number | undefined,
): Acceptance | undefined {
  const library = openLibc();
  return library && new KernelAcceptance(library, ports, backlog);
}

/** Returns the number of open files; Infinity when not even they can be counted. */
export function countOpenFiles(): number {
  try {
    // Since Linux 6.2 the size is the number; before, it is 0.
    const { size } = statSync(files);
    return size > 0 ? size : readdirSync(files).length;
  } catch {
    return Number.POSITIVE_INFINITY; // No descriptor is left to open the directory.
  }
}

/** A listening socket, known again by its inode. */
interface Socket {
  readonly file: number;
  readonly link: string;
  readonly registration: Registration;
}

class KernelAcceptance implements Acceptance {
  readonly #library: Libc;
  readonly #ports: () => readonly number[];
  readonly #backlog: number | undefined;
  #sockets: readonly Socket[] = [];

  constructor(library: Libc, ports: () => readonly number[], backlog: number | undefined) {
    this.#library = library;
    this.#ports = ports;
    this.#backlog = backlog;
  }

  refresh(): void {
    const found = this.#ports().flatMap((port) => listeningOn(port, true));
    this.#sockets = found.flatMap(({ file }) => {
      const registration = findRegistration(file) ?? this.#findSavedRegistration(file);
      const link = linkOf(String(file));
      return registration === undefined ? [] : [{ file, link, registration }];
    });
    const backlog = this.#backlog;
    if (backlog === undefined) return;
    for (const { file } of this.#sockets) this.#library.listen(file, backlog);
  }

  pause(): void {
    for (const { file, registration } of this.#present()) {
      this.#library.epoll_ctl(registration.epoll, controlDelete, file, ptr(registration.event));
    }
  }

  shed(max: number): number {
    let shed = 0;
    for (const { file } of this.#present()) {
      for (let n = 0; n < max; n++) {
        const connection = this.#library.accept4(file, null, null, closeOnExec);
        if (connection < 0) break;
        // A reset frees the address on both sides immediately.
        const linger = new Int32Array([1, 0]);
        const { byteLength } = linger;
        this.#library.setsockopt(connection, solSocket, lingerOption, ptr(linger), byteLength);
        this.#library.close(connection);
        shed += 1;
      }
    }
    return shed;
  }

  resume(): void {
    for (const { file, registration } of this.#present()) {
      this.#library.epoll_ctl(registration.epoll, controlAdd, file, ptr(registration.event));
    }
  }

  limitOpenFiles(max: number): void {
    const limits = new BigUint64Array(2);
    if (this.#library.getrlimit(openFilesLimit, ptr(limits)) !== 0) return;
    const [, hard = 0n] = limits;
    // The soft limit binds; the hard limit is how far it can be raised again.
    limits[0] = BigInt(max) < hard ? BigInt(max) : hard;
    this.#library.setrlimit(openFilesLimit, ptr(limits));
  }

  /** A paused socket is not registered with the event loop, so its registration is kept. */
  #findSavedRegistration(file: number): Registration | undefined {
    const link = linkOf(String(file));
    return this.#sockets.find((socket) => socket.file === file && socket.link === link)
      ?.registration;
  }

  /** Sockets that are still open: the number of a closed one may now be another file. */
  #present(): readonly Socket[] {
    return this.#sockets.filter(({ file, link }) => linkOf(String(file)) === link);
  }
}

type Libc = NonNullable<ReturnType<typeof openLibc>>;

function openLibc() {
  if (process.platform !== "linux") return undefined;
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  for (const name of ["libc.so.6", musl]) {
    try {
      return dlopen(name, {
        accept4: { args: ["i32", "ptr", "ptr", "i32"], returns: "i32" },
        close: { args: ["i32"], returns: "i32" },
        epoll_ctl: { args: ["i32", "i32", "i32", "ptr"], returns: "i32" },
        getrlimit: { args: ["i32", "ptr"], returns: "i32" },
        listen: { args: ["i32", "i32"], returns: "i32" },
        setrlimit: { args: ["i32", "ptr"], returns: "i32" },
        setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
      }).symbols;
    } catch {
      // Another C library has another name.
    }
  }
  return undefined;
}

const files = "/proc/self/fd";
/** RLIMIT_NOFILE. */
const openFilesLimit = 7;
const controlAdd = 1;
const controlDelete = 2;
const solSocket = 1;
const lingerOption = 13;
/** SOCK_CLOEXEC. */
const closeOnExec = 0o2000000;
