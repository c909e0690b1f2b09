/**
 * The bare server of the floor: the same bytes for every request, nothing else; they come on
 * standard input, and whether it speaks TLS.
 */

import { newTls } from "./bare-issuer.ts";

const given: { body?: string; headers?: Record<string, string>; tls?: boolean } =
  await Bun.stdin.json();
const body =
  given.body === undefined ? new Uint8Array(1600).fill(7) : Uint8Array.fromBase64(given.body);
const headers = given.headers ?? {
  "content-type": "application/ocsp-response",
  "cache-control": "public, max-age=86400, no-transform",
};
const secured = given.tls === true ? { tls: newTls() } : {};
const server = Bun.serve({
  ...secured,
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: () => new Response(body, { headers }),
});
console.log(`${given.tls === true ? "https" : "http"}://127.0.0.1:${server.port}/`);
