/**
 * A running pkid that serves ACME over TLS, with a name server and a web server beside it: names
 * are known there and proofs shown as a test wants.
 */

import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import {
  body,
  type HttpResponder,
  startHttpResponder,
  wellKnown,
} from "#test/support/servers/acme-challenges.ts";
import { type DnsServer, startDnsServer } from "#test/support/servers/dns-server.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { addressRecord, txt } from "#test/support/worlds/validation.ts";

import { AcmeClient, type Proof } from "./client.ts";
import { newKey, type SigningKey } from "./keys.ts";

export interface AcmeWorldOptions {
  /** Members of `acme` beside those of the world. */
  readonly acme?: Readonly<Record<string, unknown>>;
  /** Other sections; members of `server` are merged. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Home of an instance that exists, and its chain; without them both are created. */
  readonly existing?: { readonly home: string; readonly chain: Chain };
}

/** The profile `careful`, whose issues ask for the CAA records of the names. */
export const asksForCaa = {
  name: "careful",
  key_usages: ["digitalSignature"],
  ext_key_usages: ["serverAuth"],
  max_validity_days: 90,
  caa: { mode: "enforce" },
};

/** A server with all that its clients need. */
export class AcmeWorld {
  private constructor(
    public instance: Instance,
    readonly chain: Chain,
    readonly dns: DnsServer,
    readonly web: HttpResponder,
    /** Base address as clients know it. */
    readonly base: string,
    readonly config: Readonly<Record<string, unknown>>,
    readonly env: Readonly<Record<string, string>>,
  ) {}

  /** Starts everything; the issuing CA is labelled `issuing-ecdsa-p256`. */
  static async start(options: AcmeWorldOptions = {}): Promise<AcmeWorld> {
    const [dns, web, port] = await Promise.all([
      startDnsServer(),
      startHttpResponder(),
      freePort(),
    ]);
    const base = `https://localhost:${port}`;
    const config = configOf(options, { base, port, dns, web });
    const { env = {}, existing } = options;
    const home = existing?.home ?? newHome();
    const instance = await Instance.start({ home, config, env });
    const chain = existing?.chain ?? (await createChain(instance, "ecdsa-p256"));
    return new AcmeWorld(instance, chain, dns, web, base, config, env);
  }

  get directoryUrl(): string {
    return `${this.base}/acme/directory`;
  }

  /** A client without account. */
  async stranger(key: SigningKey = newKey(), url = this.directoryUrl): Promise<AcmeClient> {
    return await AcmeClient.at(url, key, { ca: this.instance.servingCa() });
  }

  /** A client with an account. */
  async client(key: SigningKey = newKey(), members: object = {}): Promise<AcmeClient> {
    const client = await this.stranger(key);
    const made = await client.register({ termsOfServiceAgreed: true, ...members });
    if (made.status !== 201) throw new Error(`no account: ${made.status} ${made.text}`);
    return client;
  }

  /** A name that nobody has used, and that leads here. */
  name(word = "www"): string {
    const name = `${word}-${crypto.randomUUID().slice(0, 8)}.example.test`;
    this.dns.zone.set(name, [addressRecord("127.0.0.1")]);
    return name;
  }

  /** Shows a proof where its type of challenge looks for it. */
  readonly show = ({ type, identifier, token, keyAuthorization, digest }: Proof): void => {
    if (type === "http-01") this.web.show(token, keyAuthorization);
    else this.dns.zone.set(`_acme-challenge.${identifier.value}`, [txt(digest)]);
  };

  /** Shows something else. */
  readonly deceive = ({ token }: Proof): void => {
    this.web.answers.set(wellKnown(token), body("something else"));
  };

  /** The certificates of the issuing CA as operators see them, newest first. */
  async inventory(): Promise<readonly { serial: string; common_name: string; status: string }[]> {
    const path = `/api/ca/${this.chain.intermediateId}/certificates`;
    return (await this.instance.admin<{ items: [] }>("GET", path)).items;
  }

  /** Details of the events of an action, newest first. */
  async events(action: string): Promise<readonly Readonly<Record<string, string>>[]> {
    const path = `/api/events?action=${action}`;
    return (await this.instance.admin<{ items: [] }>("GET", path)).items;
  }

  /** Every page of a list. */
  async all<T>(list: string): Promise<readonly T[]> {
    const items: T[] = [];
    for (let cursor = ""; ; ) {
      const query = `${list.includes("?") ? "&" : "?"}limit=500${cursor && `&cursor=${cursor}`}`;
      const page = await this.instance.admin<{ items: T[]; next_cursor: string }>(
        "GET",
        list + query,
      );
      items.push(...page.items);
      cursor = encodeURIComponent(page.next_cursor);
      if (cursor === "") return items;
    }
  }

  /** The most of these certificates that were made in a second, wherever it begins. */
  async mostInASecond(serials: readonly string[]): Promise<number> {
    const wanted = new Set(serials);
    const made = (
      await this.all<{ serial: string; created_at: string }>(
        `/api/ca/${this.chain.intermediateId}/certificates`,
      )
    )
      .filter(({ serial }) => wanted.has(serial))
      .map((one) => Date.parse(one.created_at))
      .sort((a, b) => a - b);
    if (made.length !== wanted.size) throw new Error(`${wanted.size} wanted, ${made.length} there`);
    let [first, most] = [0, 0];
    for (const [last, at] of made.entries()) {
      while (at - (made[first] ?? 0) >= 1000) first++;
      most = Math.max(most, last - first + 1);
    }
    return most;
  }

  /** Starts the server again on what it left, after its end. */
  async startAgain(acme: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const known = this.config.acme as object; // What `configOf` made.
    const config = { ...this.config, acme: { ...known, ...acme } };
    const { home } = this.instance;
    this.instance = await Instance.start({ home, config, env: this.env });
  }

  async stop(): Promise<void> {
    await this.instance.dispose();
    await Promise.all([this.dns.stop(), this.web.stop()]);
  }
}

interface Places {
  readonly base: string;
  readonly port: number;
  readonly dns: DnsServer;
  readonly web: HttpResponder;
}

function configOf({ acme, config }: AcmeWorldOptions, { base, port, dns, web }: Places) {
  const { server, ...others } = config ?? {};
  const own = server as Readonly<Record<string, unknown>> | undefined; // YAML members by contract.
  return {
    ...others,
    server: { port, public_url: base, ...own },
    acme: {
      enabled: true,
      ca_label: "issuing-ecdsa-p256",
      http01_port: web.port,
      dns_resolver: `127.0.0.1:${dns.port}`,
      validation_allow_networks: ["127.0.0.0/8", "::1/128"],
      ...acme,
    },
  };
}
