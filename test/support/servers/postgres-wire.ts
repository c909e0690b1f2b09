/**
 * A TCP path to a PostgreSQL server of the test's own that reads along what is asked: each
 * statement executed, and each text parsed.
 */

import { connect, createServer, type Socket } from "node:net";

export interface PostgresWire {
  readonly port: number;
  /** Texts as they are executed, in order, over all connections. */
  readonly executed: string[];
  /** Texts that the server was given to parse and keep. */
  readonly parsed: string[];
  /**
   * From a statement that begins so on, the server's answers are held back until one that begins so
   * has been sent: whoever waits for an answer in between waits for ever.
   */
  holdAnswers(from: string, until: string): void;
  /** From now on the server's answers are that late. */
  delayAnswers(milliseconds: number): void;
  close(): void;
}

/** Opens the path to a server on loopback, which speaks without TLS. */
export async function openWire(target: number): Promise<PostgresWire> {
  const executed: string[] = [];
  const parsed: string[] = [];
  const open = new Set<Socket>();
  const held = new Set<Socket>();
  const hold = { from: "", until: "" };
  let delay = 0;
  const begins = (text: string, start: string) => start !== "" && text.startsWith(start);
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    const reader = new FrontendReader({
      executed: (text) => {
        executed.push(text);
        if (begins(text, hold.from)) held.add(upstream.pause());
        if (begins(text, hold.until) && held.delete(upstream)) upstream.resume();
      },
      parsed: (text) => parsed.push(text),
    });
    client.on("data", (octets: Buffer) => reader.read(octets));
    client.pipe(upstream);
    upstream.on("data", (octets: Buffer) => {
      if (delay === 0) client.write(octets);
      else setTimeout(() => client.write(octets), delay);
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the path has no port");
  return {
    port: address.port,
    executed,
    parsed,
    holdAnswers: (from, until) => {
      Object.assign(hold, { from, until });
    },
    delayAnswers: (milliseconds) => {
      delay = milliseconds;
    },
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** Messages of one client (PostgreSQL documentation, "Message Formats"). */
class FrontendReader {
  readonly #tell: Record<"executed" | "parsed", (text: string) => void>;
  readonly #named = new Map<string, string>();
  #left: Buffer = Buffer.alloc(0);
  #started = false;

  constructor(tell: Record<"executed" | "parsed", (text: string) => void>) {
    this.#tell = tell;
  }

  read(octets: Buffer): void {
    this.#left = Buffer.concat([this.#left, octets]);
    for (;;) {
      // Start-up messages have no type octet.
      const at = this.#started ? 1 : 0;
      if (this.#left.length < at + 4) return;
      const end = at + this.#left.readUInt32BE(at);
      if (this.#left.length < end) return;
      const message = this.#left.subarray(at + 4, end);
      if (this.#started) this.#message(String.fromCharCode(this.#left[0] ?? 0), message);
      else this.#started = message.readUInt32BE(0) === protocolThree;
      this.#left = this.#left.subarray(end);
    }
  }

  #message(type: string, octets: Buffer): void {
    const [first = "", second = ""] = octets.toString("utf8").split("\0");
    if (type === "Q") this.#tell.executed(first);
    if (type === "P") {
      this.#named.set(first, second);
      this.#tell.parsed(second);
    }
    if (type === "B") this.#tell.executed(this.#named.get(second) ?? "");
  }
}

const protocolThree = 196_608;
