/** A client of ACME that costs the machine as little as it can, and what its orders took. */

import { sign } from "node:crypto";

import { element, integer, oid, sequence, setOf, bitString } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { encodeExtensions, subjectAltName } from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";
import { newKey, type SigningKey, signed } from "#test/support/acme/keys.ts";
import type { BenchWorld } from "./acme-world.ts";
import type { IssueRequest } from "./issue-request.ts";

/** One account, which sends one request after the other. */
export class BenchClient {
  readonly #world: BenchWorld;
  readonly #key: SigningKey = newKey();
  readonly #subscriber: SigningKey = newKey();
  #kid: string | undefined;
  #nonce: string | undefined;

  private constructor(world: BenchWorld) {
    this.#world = world;
  }

  /** With an account of its own. */
  static async start(world: BenchWorld): Promise<BenchClient> {
    const client = new BenchClient(world);
    const { location } = await client.#post("/new-account", {});
    client.#kid = location;
    return client;
  }

  /** The URL of its account. */
  get account(): string {
    return this.#kid ?? "";
  }

  /**
   * An order from beginning to end, looked at so long after its proof was fetched; gives the
   * milliseconds it took.
   */
  async order(lookAfterMs: number): Promise<number> {
    const world = this.#world;
    const name = world.name();
    const csr = this.#csr(name).toString("base64url");
    const begun = performance.now();
    const identifiers = [{ type: "dns", value: name }];
    const { body: order, location } = await this.#post("/new-order", { identifiers });
    await this.#prove(String(order.authorizations?.[0]));
    await Bun.sleep(lookAfterMs);
    await this.#settled(location);
    const { body: done } = await this.#post(String(order.finalize), { csr });
    await this.#post(String(done.certificate), undefined);
    const took = performance.now() - begun;
    world.forget(name);
    return took;
  }

  /** A plain issue for a request of its own, as an issuer asks for it; gives its milliseconds. */
  async issue({ url, headers }: Pick<IssueRequest, "url" | "headers">): Promise<number> {
    const name = this.#world.name();
    const text = this.#csr(name).toString("base64");
    const lines = text.match(/.{1,64}/g) ?? [];
    const csr = `-----BEGIN CERTIFICATE REQUEST-----\n${lines.join("\n")}\n-----END CERTIFICATE REQUEST-----\n`;
    const begun = performance.now();
    const answer = await Bun.fetch(url, {
      method: "POST",
      headers,
      body: JSON.stringify({ csr, profile: "server" }),
      tls: { rejectUnauthorized: false },
    });
    const told = await answer.text();
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${told}`);
    this.#world.forget(name);
    return performance.now() - begun;
  }

  async #prove(authorization: string): Promise<void> {
    const { body } = await this.#post(authorization, undefined);
    const [challenge] = body.challenges ?? [];
    if (challenge === undefined) throw new Error(`${authorization} has no challenge`);
    const { token, url } = challenge;
    const fetched = this.#world.shown(token, `${token}.${this.#key.thumbprint}`);
    await this.#post(url, {});
    await fetched;
  }

  /** Until the order is ready: the proof was fetched, so it is a matter of milliseconds. */
  async #settled(order: string): Promise<void> {
    for (;;) {
      const { body } = await this.#post(order, undefined);
      if (body.status === "ready") return;
      if (body.status !== "pending") throw new Error(JSON.stringify(body));
      await Bun.sleep(lookMs);
    }
  }

  async #post(path: string, payload: unknown): Promise<{ body: Told; location: string }> {
    const url = path.startsWith("https:") ? path : `${this.#world.base}/acme${path}`;
    const who = this.#kid === undefined ? { jwk: this.#key.jwk } : { kid: this.#kid };
    const nonce = this.#nonce ?? (await this.#fresh());
    const message = signed(this.#key, { alg: "ES256", ...who, nonce, url }, payload);
    const answer = await Bun.fetch(url, {
      method: "POST",
      body: JSON.stringify(message),
      headers: { "content-type": "application/jose+json" },
      tls: { rejectUnauthorized: false },
    });
    const text = await answer.text();
    // A refusal uses up the nonce as well.
    this.#nonce = answer.headers.get("replay-nonce") ?? undefined;
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`);
    // As RFC 8555 §7.1 describes it.
    const body = text.startsWith("{") ? (JSON.parse(text) as Told) : {};
    return { body, location: answer.headers.get("location") ?? "" };
  }

  async #fresh(): Promise<string> {
    const tls = { rejectUnauthorized: false };
    const answer = await Bun.fetch(`${this.#world.base}/acme/new-nonce`, { tls });
    return answer.headers.get("replay-nonce") ?? "";
  }

  /** RFC 2986. */
  #csr(name: string): Buffer {
    const { publicKey, privateKey } = this.#subscriber.pair;
    const extensions = [subjectAltName([{ kind: "dns", value: name }], false)];
    const wanted = sequence(oid(oids.extensionRequest), setOf([encodeExtensions(extensions)]));
    const spki = new Uint8Array(publicKey.export({ format: "der", type: "spki" }));
    const request = sequence(integer(0), encodeName([]).der, spki, element(0xa0, wanted));
    const algorithm = sequence(oid(ecdsaWithSha256));
    const signature = new Uint8Array(sign("sha256", request, privateKey));
    return Buffer.from(sequence(request, algorithm, bitString(signature)));
  }
}

/** What clients asked for at the same time. */
export interface Asked {
  readonly perSecond: number;
  /** Milliseconds of each. */
  readonly took: readonly number[];
}

/**
 * So many clients order for some seconds, one order after the other each, and look at each so long
 * after its proof was fetched.
 */
export const ordering = (
  clients: readonly BenchClient[],
  seconds: number,
  lookAfterMs: number,
): Promise<Asked> => asking(clients, seconds, (client) => client.order(lookAfterMs));

/** The same clients have plain certificates issued, one after the other each. */
export const issuing = (
  clients: readonly BenchClient[],
  seconds: number,
  request: IssueRequest,
): Promise<Asked> => asking(clients, seconds, (client) => client.issue(request));

async function asking(
  clients: readonly BenchClient[],
  seconds: number,
  ask: (client: BenchClient) => Promise<number>,
): Promise<Asked> {
  const took: number[] = [];
  const begun = performance.now();
  const end = begun + seconds * 1000;
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < end) took.push(await ask(client));
    }),
  );
  return { perSecond: took.length / ((performance.now() - begun) / 1000), took };
}

/** Members of any resource. */
interface Told {
  readonly status?: string;
  readonly authorizations?: readonly string[];
  readonly finalize?: string;
  readonly certificate?: string;
  readonly challenges?: readonly { readonly token: string; readonly url: string }[];
}

const ecdsaWithSha256 = "1.2.840.10045.4.3.2";
const lookMs = 5;
