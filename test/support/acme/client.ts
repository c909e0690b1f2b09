/**
 * A small client of ACME (RFC 8555, RFC 9773), written after the RFCs and knowing nothing of pkid,
 * which can also say what no client should.
 */

import { createHash } from "node:crypto";

import { type CertificateFacts, factsOf, newCsr } from "./csr.ts";
import { type Message, newKey, type SigningKey, signed } from "./keys.ts";

/** RFC 8555 §7.1.1. */
export interface DirectoryObject {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  readonly newAuthz?: string;
  readonly revokeCert: string;
  readonly keyChange: string;
  readonly renewalInfo: string;
  readonly meta?: Readonly<Record<string, unknown>>;
}

export interface Identifier {
  readonly type: string;
  readonly value: string;
}

/** RFC 8555 §6.7. */
export interface ProblemObject {
  readonly type: string;
  readonly detail: string;
  readonly status: number;
  readonly subproblems?: readonly { readonly type: string; readonly identifier: Identifier }[];
  readonly algorithms?: readonly string[];
}

export interface OrderObject {
  readonly status: string;
  readonly expires: string;
  readonly identifiers: readonly Identifier[];
  readonly authorizations: readonly string[];
  readonly finalize: string;
  readonly certificate?: string;
  readonly profile?: string;
  readonly error?: ProblemObject;
}

export interface ChallengeObject {
  readonly type: string;
  readonly url: string;
  readonly status: string;
  readonly token: string;
  readonly validated?: string;
  readonly error?: ProblemObject;
}

export interface AuthorizationObject {
  readonly status: string;
  readonly expires: string;
  readonly identifier: Identifier;
  readonly wildcard?: boolean;
  readonly challenges: readonly ChallengeObject[];
}

/** An order with its address. */
export interface Order extends OrderObject {
  readonly url: string;
}

/** An answer whose body has been read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What a request says that it should not; by default it is sound. */
export interface Sending {
  /** Changes the protected header before it is signed. */
  readonly header?: (header: Record<string, unknown>) => object;
  /** Changes the message after it was signed; a text is sent as it is. */
  readonly message?: (message: Message) => object | string;
  /** Headers of HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly nonce?: string;
  /** Signs in the place of the account's key. */
  readonly key?: SigningKey;
  /** Names the account, or the key itself. */
  readonly by?: "kid" | "jwk";
}

/** What is to be shown where the type of challenge looks for it. */
export interface Proof {
  readonly type: string;
  readonly identifier: Identifier;
  readonly token: string;
  readonly keyAuthorization: string;
  /** base64url of its SHA-256, as dns-01 shows it. */
  readonly digest: string;
}

/** What became of a proof. */
export interface Tried {
  readonly order: Order;
  /** Of the authorization. */
  readonly url: string;
  /** The type of the error, without its prefix, or else the status. */
  readonly result: string;
  readonly detail: string;
}

/** How a client reaches its server. */
export interface Reaching {
  /** What the server's certificate leads to, in PEM. */
  readonly ca?: string;
  /** Milliseconds between two looks; the Retry-After of the server is for those who have time. */
  readonly pollMs?: number;
}

/** A chain as it was downloaded. */
export interface Downloaded {
  readonly pem: string;
  /** PEM of each certificate, the leaf first. */
  readonly chain: readonly string[];
  readonly leaf: CertificateFacts;
  readonly alternates: readonly string[];
}

/** One key at one directory. */
export class AcmeClient {
  readonly directory: DirectoryObject;
  readonly #reaching: Reaching;
  #key: SigningKey;
  /** URL of the account once it is known. */
  kid: string | undefined;
  #nonce: string | undefined;

  private constructor(directory: DirectoryObject, key: SigningKey, reaching: Reaching) {
    this.directory = directory;
    this.#key = key;
    this.#reaching = reaching;
  }

  /** Reads the directory at that address. */
  static async at(url: string, key = newKey(), reaching: Reaching = {}): Promise<AcmeClient> {
    const answer = await fetch(url, tlsOf(reaching));
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    return new AcmeClient(await answer.json(), key, reaching);
  }

  get key(): SigningKey {
    return this.#key;
  }

  /** The same directory with another key, of which no account is known. */
  with(key: SigningKey = newKey()): AcmeClient {
    return new AcmeClient(this.directory, key, this.#reaching);
  }

  /** A nonce nobody has used (RFC 8555 §7.2). */
  async nonce(): Promise<string> {
    const answer = await this.raw(this.directory.newNonce, { method: "HEAD" });
    return answer.headers.get("replay-nonce") ?? "";
  }

  /** Sends any request as it is. */
  async raw(url: string, init: RequestInit): Promise<Answer> {
    const answer = await fetch(url, { ...init, ...tlsOf(this.#reaching) });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  /**
   * Signs and sends; undefined as payload reads (RFC 8555 §6.3). Gives any answer; a sound request
   * whose nonce was too old is sent once more (§6.5).
   */
  async post(url: string, payload: unknown, sending: Sending = {}): Promise<Answer> {
    const answer = await this.#send(url, payload, sending);
    const { header, message, nonce } = sending;
    const isSound = header === undefined && message === undefined && nonce === undefined;
    if (!isSound || refusalOf(answer) !== "400 badNonce") return answer;
    return await this.#send(url, payload, sending);
  }

  async #send(url: string, payload: unknown, sending: Sending): Promise<Answer> {
    const message = await this.message(url, payload, sending);
    const said = sending.message?.(message) ?? message;
    const answer = await this.raw(url, {
      method: "POST",
      body: typeof said === "string" ? said : JSON.stringify(said),
      headers: { "content-type": "application/jose+json", ...sending.headers },
    });
    this.#nonce = answer.headers.get("replay-nonce") ?? undefined;
    return answer;
  }

  /** The message that `post` sends. */
  async message(url: string, payload: unknown, sending: Sending = {}): Promise<Message> {
    const key = sending.key ?? this.#key;
    const nonce = sending.nonce ?? this.#nonce ?? (await this.nonce());
    if (sending.nonce === undefined) this.#nonce = undefined;
    const by = sending.by ?? (this.kid === undefined ? "jwk" : "kid");
    const who = by === "kid" ? { kid: this.kid } : { jwk: key.jwk };
    const header = { alg: key.algorithm, ...who, nonce, url };
    return signed(key, sending.header?.(header) ?? header, payload);
  }

  /** The object at that address; throws for any answer that is none. */
  async read<T>(url: string, payload?: unknown, sending: Sending = {}): Promise<T> {
    return bodyOf<T>(await this.post(url, payload, sending), url);
  }

  /** Makes the account, or finds it (RFC 8555 §7.3). */
  async register(members: object = {}): Promise<Answer> {
    const answer = await this.post(this.directory.newAccount, members, { by: "jwk" });
    if (answer.status < 300) this.kid = answer.headers.get("location") ?? undefined;
    return answer;
  }

  /** Orders names; an address is given as `{ type: "ip", value }`. */
  async order(names: readonly (string | Identifier)[], more: object = {}): Promise<Order> {
    const answer = await this.newOrder(names, more);
    const url = answer.headers.get("location") ?? "";
    return { ...bodyOf<OrderObject>(answer, this.directory.newOrder), url };
  }

  /** The same, with whatever is answered. */
  async newOrder(
    names: readonly (string | Identifier)[],
    more: object = {},
    sending: Sending = {},
  ): Promise<Answer> {
    const identifiers = names.map((name) =>
      typeof name === "string" ? { type: "dns", value: name } : name,
    );
    return await this.post(this.directory.newOrder, { identifiers, ...more }, sending);
  }

  /** An order as it is now. */
  async refreshed(order: Order): Promise<Order> {
    return { ...(await this.read<OrderObject>(order.url)), url: order.url };
  }

  /** What one challenge wants to see (RFC 8555 §8.1). */
  proof({ type, token }: ChallengeObject, identifier: Identifier): Proof {
    const keyAuthorization = `${token}.${this.#key.thumbprint}`;
    const digest = createHash("sha256").update(keyAuthorization).digest("base64url");
    return { type, identifier, token, keyAuthorization, digest };
  }

  /** Has every open authorization of the order proved by this type, and waits for all. */
  async prove(order: Order, type: string, show: (proof: Proof) => unknown): Promise<void> {
    for (const url of order.authorizations) {
      const authorization = await this.read<AuthorizationObject>(url);
      if (authorization.status !== "pending") continue;
      const challenge = authorization.challenges.find((one) => one.type === type);
      if (challenge === undefined) throw new Error(`${url} offers no ${type}`);
      await show(this.proof(challenge, authorization.identifier));
      await this.read<ChallengeObject>(challenge.url, {});
    }
    for (const url of order.authorizations) {
      const { status, challenges } = await this.decided(url);
      if (status !== "valid") throw new Error(`${url} is ${status}: ${JSON.stringify(challenges)}`);
    }
  }

  /** Orders a name and has it proved by this type, shown or not; gives what became of it. */
  async tried(name: string, type: string, show: (proof: Proof) => unknown): Promise<Tried> {
    const order = await this.order([name]);
    const [url = ""] = order.authorizations;
    const { challenges, identifier } = await this.read<AuthorizationObject>(url);
    const challenge = challenges.find((one) => one.type === type);
    if (challenge === undefined) throw new Error(`${url} offers no ${type}`);
    await show(this.proof(challenge, identifier));
    await this.read<ChallengeObject>(challenge.url, {});
    const decided = await this.decided(url);
    const error = decided.challenges.find((one) => one.type === type)?.error;
    const why = error?.type.replace("urn:ietf:params:acme:error:", "");
    return { order, url, result: why ?? decided.status, detail: error?.detail ?? "" };
  }

  /** An authorization once it is not pending any more. */
  async decided(url: string): Promise<AuthorizationObject> {
    return await this.#until<AuthorizationObject>(url, ({ status }) => status !== "pending");
  }

  /**
   * Finalizes, and gives the order once it is decided. Comes again for as long as it is told that
   * it is too early (RFC 8555 §6.6): how many others come at the same time is not in its hands.
   */
  async finalize(order: Order, csr: Buffer): Promise<Order> {
    const body = { csr: csr.toString("base64url") };
    for (;;) {
      const answer = await this.post(order.finalize, body);
      const wait = Number(answer.headers.get("retry-after"));
      if (answer.status !== 429 || wait === 0) {
        bodyOf(answer, order.finalize);
        break;
      }
      await Bun.sleep(wait * 1000);
    }
    return await this.#until<Order>(order.url, ({ status }) => status !== "processing", order);
  }

  /** Everything from order to chain; the request has the names of the order. */
  async obtain(
    names: readonly string[],
    show: (proof: Proof) => unknown,
    { type = "http-01", more = {} }: { readonly type?: string; readonly more?: object } = {},
  ): Promise<Downloaded & { readonly order: Order }> {
    const order = await this.order(names, more);
    await this.prove(order, type, show);
    const { der } = await newCsr({ names });
    const done = await this.finalize(order, der);
    if (done.certificate === undefined) throw new Error(JSON.stringify(done));
    return { ...(await this.download(done.certificate)), order: done };
  }

  /** The chain at that address (RFC 8555 §7.4.2). */
  async download(url: string): Promise<Downloaded> {
    const answer = await this.post(url, undefined);
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${answer.text}`);
    const chain = answer.text.match(certificateText) ?? [];
    const links = answer.headers.get("link") ?? "";
    const alternates = [...links.matchAll(/<([^>]*)>;\s*rel="alternate"/g)];
    return {
      pem: answer.text,
      chain,
      leaf: factsOf(chain[0] ?? ""),
      alternates: alternates.map(([, one = ""]) => one),
    };
  }

  /** Revokes by account, or by the key of the certificate (RFC 8555 §7.6). */
  async revoke(der: Buffer, reason?: unknown, sending: Sending = {}): Promise<Answer> {
    const certificate = der.toString("base64url");
    const body = reason === undefined ? { certificate } : { certificate, reason };
    return await this.post(this.directory.revokeCert, body, sending);
  }

  /** RFC 8555 §7.3.5; the new key signs from then on where the server says so. */
  async changeKey(next: SigningKey, inner: Sending = {}, members: object = {}): Promise<Answer> {
    const url = this.directory.keyChange;
    const header = { alg: next.algorithm, jwk: next.jwk, url };
    const payload = { account: this.kid, oldKey: this.#key.jwk, ...members };
    const message = signed(inner.key ?? next, inner.header?.(header) ?? header, payload);
    const answer = await this.post(url, inner.message?.(message) ?? message);
    if (answer.status === 200) this.#key = next;
    return answer;
  }

  /** Ends the account (RFC 8555 §7.3.6). */
  async deactivate(): Promise<Answer> {
    return await this.post(this.kid ?? "", { status: "deactivated" });
  }

  /** When to renew (RFC 9773 §4.1); nobody signs. */
  async renewalInfo({ certId }: Pick<CertificateFacts, "certId">): Promise<Answer> {
    return await this.raw(`${this.directory.renewalInfo}/${certId}`, {});
  }

  async #until<T extends OrderObject | AuthorizationObject>(
    url: string,
    done: (found: T) => boolean,
    known?: T,
  ): Promise<T> {
    for (;;) {
      const found = await this.read<T>(url);
      if (done(found)) return { ...known, ...found };
      await Bun.sleep(this.#reaching.pollMs ?? 50);
    }
  }
}

/** The object of an answer; throws for a refusal. */
export function bodyOf<T>(answer: Answer, url = ""): T {
  if (answer.status >= 300) throw new Error(`${url}: ${answer.status} ${answer.text}`);
  return JSON.parse(answer.text);
}

/** What an answer refuses with: status and type without its prefix. */
export function refusalOf(answer: Answer): string {
  const type = answer.headers.get("content-type");
  if (answer.status < 300 || type !== "application/problem+json") return `${answer.status} ${type}`;
  const problem: ProblemObject = JSON.parse(answer.text);
  return `${answer.status} ${problem.type.replace("urn:ietf:params:acme:error:", "")}`;
}

const tlsOf = ({ ca }: Reaching): object => (ca === undefined ? {} : { tls: { ca } });

const certificateText = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
