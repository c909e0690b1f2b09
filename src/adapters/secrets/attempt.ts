/**
 * One attempt at a secret: exchanges over verified TLS within one span of time, told without what
 * was sent.
 */

import { isIP } from "node:net";

import { isSafeAddress } from "#config/secret.ts";
import type { Instant } from "#core/time.ts";

import { type Environment, readMounted } from "./local.ts";
import { SourceFault } from "./unavailable.ts";

/** Certificates trusted beside those of the system, or instead of them; PEM. */
export type Trust = readonly string[] | { readonly only: readonly string[] };

/**
 * The port: one exchange with another server, its certificate verified, no redirect followed,
 * bounded in time and size. Gives the answer, whatever its status, or words that say why there is
 * none and call the other side `the server`.
 */
export type Ask = (request: {
  readonly url: string;
  readonly init: BunFetchRequestInit;
  readonly timeoutSeconds: number;
  readonly bytesMax: number;
  readonly trust: Trust;
}) => Promise<Asked>;

export type Asked =
  | { readonly status: number; readonly octets: Uint8Array }
  | { readonly fault: string };

/** What sources are reached with. */
export interface AttemptDeps {
  readonly env: Environment;
  readonly ask: Ask;
  readonly now: () => Instant;
  /** Trusted beside the system's certificates, for sources without a CA of their own. */
  readonly trust: () => readonly string[];
}

/** What one exchange sends. */
export interface Exchange {
  /** As messages name the other side: `the server`. */
  readonly who: string;
  readonly url: string;
  readonly method?: "GET" | "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * Says that this is a metadata service of the platform: a link-local address, in clear, and never
   * through a proxy.
   */
  readonly metadata?: boolean;
  /** The word for what went wrong in an answer that is a refusal. */
  readonly word?: (answer: unknown) => unknown;
  /**
   * The sentences such an answer has for people, and what was sent and must not come back in them.
   */
  readonly said?: {
    readonly texts: (answer: unknown) => readonly string[];
    readonly never: readonly string[];
  };
}

/** Exchanges of one attempt share its time. */
export class Attempt {
  readonly now: () => Instant;
  readonly #deps: AttemptDeps;
  readonly #trust: Trust;
  readonly #endsAt: number;

  constructor(deps: AttemptDeps, trust: Trust, seconds: number) {
    this.now = deps.now;
    this.#deps = deps;
    this.#trust = trust;
    this.#endsAt = performance.now() + seconds * 1000;
  }

  /** The value of a variable; undefined when it is not set or empty. */
  variable(name: string): string | undefined {
    return this.#deps.env[name] || undefined;
  }

  /**
   * The text of a file that a variable names, as platforms mount tokens; undefined when the
   * variable is not set.
   */
  mounted(name: string): string | undefined {
    const path = this.variable(name);
    if (path === undefined) return undefined;
    const text = readMounted(path)?.trim();
    if (text) return text;
    throw new SourceFault(`the file ${path}, which ${name} names, is empty or cannot be read`);
  }

  /**
   * Sends one exchange and gives the text of its answer; throws `SourceFault` for every status but
   * 2xx.
   */
  async text(exchange: Exchange): Promise<string> {
    const { who, url, method = "GET", headers = {}, body, metadata = false } = exchange;
    checkAddress(url, who, metadata);
    const timeoutSeconds = (this.#endsAt - performance.now()) / 1000;
    if (timeoutSeconds <= 0) throw new SourceFault(`${who} did not answer in time`, true);
    const asked = await this.#deps.ask({
      url,
      timeoutSeconds,
      bytesMax,
      trust: this.#trust,
      init: {
        // Asked rarely: a connection kept would only be one more that may have died.
        method,
        headers: { ...headers },
        keepalive: false,
        ...(body === undefined ? {} : { body }),
        // What goes in clear is for this host alone, whatever proxy its environment names.
        ...(metadata || url.startsWith("http:") ? { proxy: false } : {}),
      },
    });
    if ("fault" in asked) throw new SourceFault(asked.fault.replace("the server", who), true);
    const answer = new TextDecoder().decode(asked.octets);
    if (asked.status >= 200 && asked.status < 300) return answer;
    throw refusalOf(exchange, asked.status, answer);
  }

  /** The same for an answer that is a JSON object. */
  async json(exchange: Exchange): Promise<Json> {
    const answer = objectIn(await this.text(exchange));
    if (answer !== undefined) return answer;
    throw new SourceFault(`the answer of ${exchange.who} is no JSON object`);
  }
}

export type Json = Readonly<Record<string, unknown>>;

/** The JSON object a text is; undefined for every other text. */
export function objectIn(text: string): Json | undefined {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return undefined; // No JSON at all: the caller says what it wanted.
  }
}

/** The value, when it is an object. */
export const objectOf = (value: unknown): Json | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : undefined;

/** Text under a key of an answer; throws `SourceFault` when it is anything else. */
export function textAt(of: Json | undefined, key: string, who: string): string {
  const value = of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined;
  if (typeof value === "string" && value !== "") return value;
  throw new SourceFault(`the answer of ${who} has no ${key}`);
}

/**
 * The secret, or the member of it that is wanted; a JSON object without a member asked for is
 * refused, for it is never the secret.
 */
export function memberOf(secret: string, field: string | undefined): string {
  const members = objectIn(secret);
  if (field === undefined) {
    if (members === undefined) return secret;
    throw new SourceFault("it is a JSON object, so field must name the member that is wanted");
  }
  if (members === undefined)
    throw new SourceFault(`it is no JSON object and so has no field ${field}`);
  return fieldOf(members, field);
}

/** Text under the wanted field of a secret. */
export function fieldOf(members: Json, field: string): string {
  if (!Object.hasOwn(members, field)) throw new SourceFault(`it has no field ${field}`);
  const value = members[field];
  if (typeof value === "string") return value;
  throw new SourceFault(`its field ${field} is no text`);
}

/** Headers carry one line each; a token with more would be a second header. */
export function headerText(text: string, what: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new SourceFault(`${what} has characters that no header takes`);
}

/** Metadata services speak in clear on the host's own link; everybody else over TLS. */
function checkAddress(text: string, who: string, metadata: boolean): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const credentials = url !== undefined && (url.username !== "" || url.password !== "");
  if (url !== undefined && !credentials) {
    if (isSafeAddress(url) || (metadata && isLinkLocal(url))) return;
  }
  throw new SourceFault(`the address of ${who} is none that may be asked; it must be https`);
}

function isLinkLocal({ protocol, hostname }: URL): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const link = isIP(host) === 4 ? host.startsWith("169.254.") : /^(fe80:|fd00:ec2:)/.test(host);
  return protocol === "http:" && isIP(host) !== 0 && link;
}

function refusalOf({ who, word, said }: Exchange, status: number, answer: string): SourceFault {
  if (status >= 300 && status < 400) {
    return new SourceFault(`${who} answered ${status}, and redirects are not followed`);
  }
  const named = word?.(objectIn(answer) ?? answer);
  // Only a word: more of an answer could repeat what was sent.
  const told = typeof named === "string" && /^[A-Za-z_]{1,64}$/.test(named) ? ` (${named})` : "";
  const hint = hints[status] ?? "";
  const own = said === undefined ? "" : ownWords(said.texts(objectIn(answer)), said.never);
  return new SourceFault(
    `${who} answered ${status}${told}${hint}${own === "" ? "" : ` (${own})`}`,
    status === 429 || status >= 500,
  );
}

/**
 * On one line, without what could draw on a terminal, and nothing at all where it repeats what was
 * sent.
 */
function ownWords(texts: readonly string[], never: readonly string[]): string {
  const whole = texts.join("; ");
  const line = whole.replace(/[^\x20-\x7e]+/g, " ").trim();
  const repeats = never.some(
    (sent) => sent !== "" && [whole, line].some((text) => text.includes(sent)),
  );
  return repeats ? "" : line.slice(0, ownWordsMax);
}

const ownWordsMax = 300;
const hints: Readonly<Record<number, string>> = {
  401: ": it does not accept us",
  403: ": it does not let us",
  404: ": there is none of this name",
};
/** A secret of 64 KiB, escaped as badly as JSON can. */
const bytesMax = 512 * 1024;
