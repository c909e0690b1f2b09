/** Proof by http-01: what a web server shows for a token, redirects followed (RFC 8555 §8.3). */

import type { Socket } from "node:net";

import { httpBodyMatches } from "#core/acme/challenges.ts";
import { parseIpAddress } from "#core/x509/addresses.ts";

import type { AttemptAddresses } from "./addresses.ts";
import { openConnection, startTls } from "./connection.ts";
import type { Deadline } from "./deadline.ts";
import { excerpt, timeUp, ValidationFault } from "./fault.ts";
import { HttpFault, type HttpResponse, ResponseReader } from "./http-response.ts";

export interface HttpProof {
  /** A name or an address literal. */
  readonly host: string;
  readonly token: string;
  readonly keyAuthorization: string;
}

export interface HttpDeps {
  readonly addresses: AttemptAddresses;
  readonly deadline: Deadline;
  readonly httpPort: number;
  /** Where redirects to https may lead. */
  readonly httpsPort: number;
}

/**
 * The addresses that were connected to, in order, when the last of them shows the key
 * authorization. Throws ValidationFault.
 */
export async function proveByHttp(proof: HttpProof, deps: HttpDeps): Promise<readonly string[]> {
  const { host, token, keyAuthorization } = proof;
  const connected: string[] = [];
  let target: Target = {
    secure: false,
    host,
    port: deps.httpPort,
    path: `/.well-known/acme-challenge/${token}`,
  };
  for (let redirects = 0; ; redirects++) {
    const { response, address } = await ask(target, deps);
    connected.push(address);
    if (!redirectStatuses.has(response.status)) {
      judge(response, keyAuthorization, redirects === 0);
      return connected;
    }
    if (redirects === redirectsMax) {
      throw wrong(`The server redirects more than ${redirectsMax} times.`);
    }
    target = redirected(target, response.location, deps);
  }
}

interface Target {
  readonly secure: boolean;
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

/** What another host than the named one shows, and with which status, is nobody's business. */
function judge({ status, body }: HttpResponse, keyAuthorization: string, named: boolean): void {
  if (status !== 200) {
    const what = named ? `status ${status}` : "a status other than 200 after a redirect";
    throw new ValidationFault("unauthorized", `The server answered with ${what}, not with 200.`);
  }
  if (httpBodyMatches(body, keyAuthorization)) return;
  const what = named ? `: ${excerpt(body)}` : " after a redirect";
  throw wrong(`The server does not show the key authorization, but something else${what}.`);
}

/** P-10: only where http itself was asked, or https at its own port, and nobody's password. */
function redirected(from: Target, location: string | undefined, deps: HttpDeps): Target {
  if (location === undefined) throw wrong("The server redirects, but not to one place.");
  if (location.length > locationMax) {
    throw wrong(`The server redirects to an address of more than ${locationMax} characters.`);
  }
  const base = `${from.secure ? "https" : "http"}://${authority(from)}${from.path}`;
  if (!URL.canParse(location, base)) throw wrong("The server redirects to what is no address.");
  const url = new URL(location, base);
  const secure = url.protocol === "https:";
  if (!secure && url.protocol !== "http:") {
    throw wrong("The server redirects to another protocol than http and https.");
  }
  if (url.username !== "" || url.password !== "") {
    throw wrong("The server redirects to an address with a user name or password.");
  }
  const port = url.port === "" ? (secure ? 443 : 80) : Number(url.port);
  if (port !== (secure ? deps.httpsPort : deps.httpPort)) {
    const ports = `http at port ${deps.httpPort} or https at port ${deps.httpsPort}`;
    throw wrong(`The server redirects to port ${port}, and only ${ports} is followed.`);
  }
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (parseIpAddress(host) === undefined && !hostName.test(host)) {
    throw wrong("The server redirects to a host without a name.");
  }
  return { secure, host, port, path: url.pathname + url.search };
}

async function ask(
  target: Target,
  { addresses, deadline }: HttpDeps,
): Promise<{ response: HttpResponse; address: string }> {
  const destination = await addresses.destination(target.host, target.port);
  const connection = await openConnection(destination, deadline.signal);
  try {
    const named = parseIpAddress(target.host) === undefined ? target.host : undefined;
    const socket = target.secure
      ? await startTls(connection, { name: named, protocol: "http/1.1" }, deadline.signal)
      : connection.socket;
    const response = await exchange(socket, requestOf(target), deadline.signal);
    return { response, address: connection.address };
  } finally {
    connection.socket.destroy();
  }
}

/** Path and host come from the URL parser, which lets through neither blanks nor line ends. */
const requestOf = (target: Target): string =>
  [
    `GET ${target.path} HTTP/1.1`,
    `Host: ${authority(target)}`,
    "User-Agent: pkid",
    "Accept: */*",
    "Connection: close",
    "\r\n",
  ].join("\r\n");

function authority({ secure, host, port }: Target): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return port === (secure ? 443 : 80) ? name : `${name}:${port}`;
}

/** Sends the request and reads until the response is whole or cannot be one; then hangs up. */
function exchange(socket: Socket, request: string, signal: AbortSignal): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const reader = new ResponseReader();
    const settle = (outcome: HttpResponse | Error) => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const onAbort = () => settle(timeUp("the server had answered"));
    const onEnd = () => settle(reader.end() ?? new ValidationFault("connection", cutOff));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort);
    socket.on("error", () => settle(new ValidationFault("connection", cutOff)));
    socket.on("end", onEnd);
    socket.on("close", onEnd);
    socket.on("data", (octets: Buffer) => {
      try {
        const response = reader.push(octets);
        if (response !== undefined) settle(response);
      } catch (error) {
        // Nothing may be thrown here: nobody would catch it.
        const fault = error instanceof HttpFault ? wrong(`The server ${error.message}.`) : error;
        settle(fault instanceof Error ? fault : new Error(String(fault)));
      }
    });
    socket.write(request);
  });
}

const wrong = (detail: string): ValidationFault => new ValidationFault("incorrectResponse", detail);

const cutOff = "The server closed the connection before its answer was whole.";
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const redirectsMax = 5;
const locationMax = 2048;
/** What the DNS can be asked for. */
const hostName = /^(?=.{1,253}$)[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
