/**
 * What answers challenges: web servers that show what a test says, well or badly, and servers that
 * show certificates for the protocol of ACME (RFC 8555 §8.3, RFC 8737).
 */

import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

import { openssl, scratchDirectory } from "#test/support/encodings/openssl.ts";

/** Writes an answer; `request` is the head that was asked with. */
export type Answer = (socket: Socket, request: string) => void;

/** A running web server that hears one request of each connection. */
export interface HttpResponder {
  readonly address: string;
  readonly port: number;
  /** Heads as they came, without the empty line. */
  readonly heard: string[];
  /** By path; changes count at once. What has none is answered 404. */
  readonly answers: Map<string, Answer>;
  /** Puts the key authorization where http-01 looks for it. */
  show(token: string, keyAuthorization: string): void;
  /** Connections that are open. */
  open(): number;
  stop(): Promise<void>;
}

/** Starts one, with TLS when given a key and certificate. */
export async function startHttpResponder(
  address = "127.0.0.1",
  port = 0,
  tls?: { readonly key: Buffer; readonly cert: Buffer },
): Promise<HttpResponder> {
  const heard: string[] = [];
  const answers = new Map<string, Answer>();
  const sockets = new Set<Socket>();
  const serve = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    let received = "";
    socket.on("data", (octets: Buffer) => {
      const before = received;
      received += octets.toString("latin1");
      if (before.includes("\r\n\r\n") || !received.includes("\r\n\r\n")) return;
      const head = received.slice(0, received.indexOf("\r\n\r\n"));
      heard.push(head);
      (answers.get(head.split(" ")[1] ?? "") ?? body("nothing here", 404))(socket, head);
    });
  };
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  const listening = await listen(server, address, port);
  return {
    address,
    port: listening,
    heard,
    answers,
    show: (token, text) => answers.set(wellKnown(token), body(text)),
    open: () => sockets.size,
    stop: () => stopped(server, sockets),
  };
}

/** Where http-01 looks. */
export const wellKnown = (token: string): string => `/.well-known/acme-challenge/${token}`;

/** A whole answer with its length. */
export const body = (text: string, status = 200): Answer =>
  raw(`HTTP/1.1 ${status} Said\r\nContent-Length: ${text.length}\r\n\r\n${text}`);

/** Elsewhere. */
export const redirect = (location: string, status = 302): Answer =>
  raw(`HTTP/1.1 ${status} Said\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`);

/** These octets, and the end. */
export const raw =
  (octets: string): Answer =>
  (socket) => {
    socket.end(octets, "latin1");
  };

/** The first octets, then the others again and again, a few milliseconds apart, without end. */
export const endless =
  (first: string, others: string): Answer =>
  (socket) => {
    socket.write(first, "latin1");
    const timer = setInterval(() => socket.write(others, "latin1"), 5);
    socket.on("close", () => clearInterval(timer));
  };

/** What stands in a certificate for tls-alpn-01; by default what RFC 8737 §3 asks for. */
export interface AlpnCertificate {
  /** `DNS:name` or `IP:address`, more than one after commas. */
  readonly names: string;
  /** SHA-256 of the key authorization. */
  readonly digest: Uint8Array;
  readonly critical?: boolean;
  readonly key?: "ec" | "rsa";
  /** Of the key; without it, it is for everything. */
  readonly keyUsage?: string;
}

/** A self-signed certificate with its key, in PEM. */
export function alpnCertificate({
  names,
  digest,
  critical = true,
  key = "ec",
  keyUsage,
}: AlpnCertificate) {
  using directory = scratchDirectory();
  const at = (name: string) => `${directory.path}/${name}`;
  const kind = key === "ec" ? ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] : ["rsa:2048"];
  const value = `DER:0420${Buffer.from(digest).toString("hex")}`;
  const extension = `1.3.6.1.5.5.7.1.31=${critical ? "critical," : ""}${value}`;
  const files = ["-keyout", at("key.pem"), "-out", at("cert.pem")];
  const subject = ["-days", "2", "-subj", "/CN=challenge", "-addext", `subjectAltName=${names}`];
  openssl([
    "req",
    "-x509",
    "-newkey",
    ...kind,
    "-nodes",
    ...files,
    ...subject,
    "-addext",
    extension,
    ...(keyUsage === undefined ? [] : ["-addext", `keyUsage=critical,${keyUsage}`]),
  ]);
  return { key: directory.read("key.pem"), cert: directory.read("cert.pem") };
}

/** A running TLS server that shows one certificate. */
export interface AlpnResponder {
  readonly port: number;
  /** Names it was asked for. */
  readonly asked: (string | false)[];
  stop(): Promise<void>;
}

/** Starts one; without protocols it agrees on none. */
export async function startAlpnResponder(
  shown: { readonly key: Buffer; readonly cert: Buffer },
  { address = "127.0.0.1", port = 0, protocols = ["acme-tls/1"] as readonly string[] } = {},
): Promise<AlpnResponder> {
  const asked: (string | false)[] = [];
  const sockets = new Set<Socket>();
  const protocolsOffered = protocols.length === 0 ? {} : { ALPNProtocols: [...protocols] };
  const server = createTlsServer({ ...shown, ...protocolsOffered }, (socket) => {
    asked.push(socket.servername ?? false);
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    socket.resume();
  });
  // A client that hangs up in the handshake is what some tests want.
  server.on("tlsClientError", () => {});
  return { port: await listen(server, address, port), asked, stop: () => stopped(server, sockets) };
}

async function listen(server: Server, address: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, resolve);
  });
  // A server on a host and port has an address with both.
  return (server.address() as AddressInfo).port;
}

async function stopped(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy();
  await new Promise<void>((done) => server.close(() => done()));
}
