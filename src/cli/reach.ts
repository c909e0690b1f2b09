/**
 * Where a command runs: a remote server, the running server of this data directory, or this process
 * (RUN-1).
 */

import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";

import { decodePemBlocks } from "#core/asn1/pem.ts";

import type { Config } from "#config/schema.ts";

import type { ClientIdentity } from "./client-identity.ts";
import { Failure, UsageError } from "./failure.ts";
import { networkFault } from "./network-faults.ts";

/** The application opened in this process under the lock of its data directory. */
export interface LocalApp {
  fetch(request: Request, origin: { readonly local: string }): Promise<Response>;
  close(): Promise<void>;
}

/** One way to an instance; requests go to rows of the operations table, whichever way. */
export interface Reach {
  readonly way: "remote" | "socket" | "process";
  /**
   * `path` starts with a slash and may carry a query. What is `long` has no limit in time: its
   * answer comes piece by piece.
   */
  send(
    method: string,
    path: string,
    body?: RequestBody,
    headers?: MoreHeaders,
    long?: boolean,
  ): Promise<Response>;
  close(): Promise<void>;
}
/** Headers beside those of the way itself, by lower-case name. */
export type MoreHeaders = Readonly<Record<string, string>>;
export interface RequestBody {
  readonly type: string;
  readonly content: string | Uint8Array;
}

/**
 * A remote server, with a token or a certificate as credential when there is one. Refuses addresses
 * that would show it in clear text.
 */
export function remoteReach(of: {
  readonly url: string;
  readonly apiToken: string | undefined;
  readonly identity: ClientIdentity | undefined;
  readonly caFile: string | undefined;
  readonly timeoutMs: number;
}): Reach {
  const ca = of.caFile === undefined ? undefined : trustedCas(of.caFile);
  const headers: Record<string, string> =
    of.apiToken === undefined ? {} : { authorization: `Token ${of.apiToken}` };
  const base = of.url.replace(/\/+$/, "");
  return {
    way: "remote",
    send: (method, path, body, more, long) =>
      reaching(base, () =>
        fetch(base + path, {
          ...request(method, body, { ...headers, ...more }, long ? undefined : of.timeoutMs),
          tls: { ...(ca === undefined ? {} : { ca }), ...of.identity },
        }),
      ),
    close: async () => undefined,
  };
}

/**
 * The admin socket of a running server; undefined when nobody answers there. Fails on a socket of
 * somebody else, who would be told what is meant for the server; `user` is the number of the
 * caller, root's is trusted with everybody's.
 */
export async function socketReach(
  config: Config,
  timeoutMs: number,
  user: number | undefined = process.getuid?.(),
): Promise<Reach | undefined> {
  const { enabled, path: unix } = config.server.admin_socket;
  if (!enabled || !existsSync(unix)) return undefined;
  const owner = statSync(unix).uid;
  if (user !== undefined && ![owner, 0].includes(user) && owner !== 0) {
    throw new Failure(
      `The admin socket ${unix} belongs to another user (${owner}).`,
      "unreachable",
    );
  }
  const send: Reach["send"] = (method, path, body, more = {}, long = false) => {
    const asked = request(method, body, { ...more }, long ? undefined : timeoutMs);
    return reaching(unix, () => fetch(`http://localhost${path}`, { ...asked, unix }));
  };
  try {
    await (
      await fetch("http://localhost/healthz", { unix, signal: AbortSignal.timeout(timeoutMs) })
    ).text();
  } catch {
    // A socket nobody listens on is what a killed server leaves; the lock decides who may go on.
    return undefined;
  }
  return { way: "socket", send, close: async () => undefined };
}

/** The application in this process; it is opened now and closed by `close`. */
export async function processReach(open: () => Promise<LocalApp>, osUser: string): Promise<Reach> {
  const app = await open();
  return {
    way: "process",
    send: (method, path, body, more = {}) => {
      const init = {
        method,
        ...(body === undefined ? { headers: { ...more } } : payload(body, { ...more })),
      };
      return app.fetch(new Request(`http://localhost${path}`, init), { local: osUser });
    },
    close: () => app.close(),
  };
}

/** Posts to an address outside any instance, as a relying party would. */
export async function postTo(
  url: string,
  body: RequestBody,
  tls: BunFetchRequestInitTLS = {},
): Promise<Response> {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new UsageError(`${url} is not an http or https address.`);
  }
  const response = await reaching(url, () =>
    fetch(url, { ...request("POST", body, {}, 30_000), tls }),
  );
  if (response.ok) return response;
  throw new Failure(`${url} answered ${response.status}.`, "unreachable");
}

function request(
  method: string,
  body: RequestBody | undefined,
  headers: Record<string, string>,
  timeoutMs: number | undefined,
) {
  const content = body === undefined ? { headers } : payload(body, headers);
  const limit = timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(timeoutMs) };
  // A redirect would carry the token to an address nobody named.
  return { method, ...content, redirect: "error" as const, ...limit };
}

const payload = (body: RequestBody, headers: Record<string, string> = {}) => ({
  body: typeof body.content === "string" ? body.content : new Uint8Array(body.content),
  headers: { ...headers, "content-type": body.type },
});

async function reaching(where: string, send: () => Promise<Response>): Promise<Response> {
  try {
    return await send();
  } catch (error) {
    throw new Failure(`${where} cannot be reached: ${networkFault(error)}.`, "unreachable");
  }
}

/**
 * Text of a PEM file of CAs; fails for one that cannot be read or holds no certificate that can.
 */
export function trustedCas(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new Failure(`${file} cannot be read.`);
  }
  const found = decodePemBlocks(text, "CERTIFICATE", casMax);
  // The runtime would say of it that the address has a typing error.
  if (!found || found.length === 0 || !found.every(isCertificate)) {
    throw new Failure(`${file} holds no PEM certificates that can be read.`);
  }
  return text;
}

function isCertificate(der: Uint8Array): boolean {
  try {
    return new X509Certificate(der).raw.length > 0;
  } catch {
    return false; // Its complaint is the caller's sentence.
  }
}

const casMax = 1000;
