/** A balancer of TCP connections that goes by `/readyz` alone, as those in front of replicas do. */

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Where one replica is reached: the port that connections go to, and how it says it is ready. */
export interface Target {
  readonly port: number;
  readonly ready: () => Promise<boolean>;
}

/** One port before several replicas. */
export class Balancer {
  readonly #server: Server;
  readonly #targets = new Map<string, Target>();
  readonly #ready = new Set<string>();
  readonly #sockets = new Set<Socket>();
  #closed = false;
  #turn = 0;

  static open(lookMs: number): Promise<Balancer> {
    return new Promise((opened) => {
      const balancer = new Balancer(lookMs, () => opened(balancer));
    });
  }

  private constructor(lookMs: number, listening: () => void) {
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#pass(socket));
    this.#server.listen(0, "127.0.0.1", listening);
    void this.#watch(lookMs);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // A TCP listener has a port.
  }

  /** Puts another process in the place of one; it gets connections once it has said it is ready. */
  async put(name: string, target: Target): Promise<void> {
    this.#ready.delete(name);
    this.#targets.set(name, target);
    while (!this.#ready.has(name)) await Bun.sleep(10);
  }

  close(): void {
    this.#closed = true;
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** One look after the other: what an earlier one has seen is not told after a later one. */
  async #watch(lookMs: number): Promise<void> {
    while (!this.#closed) {
      await this.#look();
      await Bun.sleep(lookMs);
    }
  }

  async #look(): Promise<void> {
    const looks = [...this.#targets].map(async ([name, target]) => {
      const ready = await target.ready().catch(() => false);
      if (this.#targets.get(name) !== target) return;
      if (ready) this.#ready.add(name);
      else this.#ready.delete(name);
    });
    await Promise.all(looks);
  }

  #pass(client: Socket): void {
    const ready = [...this.#ready];
    const name = ready[this.#turn++ % Math.max(1, ready.length)] ?? "";
    const target = this.#targets.get(name);
    if (target === undefined) {
      client.destroy();
      return;
    }
    const server = connect({ port: target.port, host: "127.0.0.1", allowHalfOpen: true });
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      const other = socket === client ? server : client;
      socket.on("error", () => other.destroy());
      socket.on("close", () => this.#sockets.delete(socket));
    }
    client.pipe(server);
    server.pipe(client);
  }
}
