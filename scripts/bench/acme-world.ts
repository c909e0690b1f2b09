/** An instance that serves ACME, and what proves names to it at once: a name and a web server. */

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import {
  body,
  type HttpResponder,
  startHttpResponder,
  wellKnown,
} from "#test/support/servers/acme-challenges.ts";
import { type DnsServer, startDnsServer } from "#test/support/servers/dns-server.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { addressRecord } from "#test/support/worlds/validation.ts";

/** All of it; names lead to the web server. */
export class BenchWorld {
  private constructor(
    readonly instance: Instance,
    readonly ca: string,
    readonly base: string,
    private readonly config: Readonly<Record<string, unknown>>,
    private readonly dns: DnsServer,
    private readonly web: HttpResponder,
  ) {}

  /** Starts it on a new data directory, with further settings of `server`. */
  static async start(
    binary: string,
    server: Readonly<Record<string, unknown>> = {},
  ): Promise<BenchWorld> {
    const [dns, web, port] = await Promise.all([
      startDnsServer(),
      startHttpResponder(),
      freePort(),
    ]);
    const base = `https://localhost:${port}`;
    const config = {
      log: { level: "info", format: "json" },
      server: {
        port,
        public_url: base,
        public_http: { enabled: true, address: "127.0.0.1:0" },
        ...server,
      },
      acme: {
        enabled: true,
        ca_label: "issuing-ecdsa-p256",
        challenge_types: ["http-01"],
        http01_port: web.port,
        dns_resolver: `127.0.0.1:${dns.port}`,
        validation_allow_networks: ["127.0.0.0/8"],
      },
    };
    const instance = await Instance.start({ binary, config });
    const chain = await createChain(instance, "ecdsa-p256");
    return new BenchWorld(instance, chain.intermediateId, base, config, dns, web);
  }

  /** The same again after `between`, which may change what lies in the data directory. */
  async restarted(binary: string, between: (home: string) => Promise<void>): Promise<BenchWorld> {
    const { home, dataDir } = this.instance;
    await this.instance.stop();
    await between(dataDir);
    const instance = await Instance.start({ binary, home, config: this.config });
    return new BenchWorld(instance, this.ca, this.base, this.config, this.dns, this.web);
  }

  /** A name that leads here. */
  name(): string {
    const name = `h${crypto.randomUUID().slice(0, 18)}.example.test`;
    this.dns.zone.set(name, [addressRecord("127.0.0.1")]);
    return name;
  }

  /** Shows a proof; resolves when it has been fetched. */
  shown(token: string, keyAuthorization: string): Promise<void> {
    const path = wellKnown(token);
    const answer = body(keyAuthorization);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.web.answers.set(path, (socket, request) => {
      answer(socket, request);
      this.web.answers.delete(path);
      resolve();
    });
    return promise;
  }

  /** What servers remember of names that are done with. */
  forget(name: string): void {
    this.dns.zone.delete(name);
    this.dns.heard.length = 0;
    this.web.heard.length = 0;
  }

  async stop(): Promise<void> {
    await this.instance.dispose();
    await Promise.all([this.dns.stop(), this.web.stop()]);
  }
}
