/**
 * The bare server of the floor: the same bytes for every request, nothing else; they come on
 * standard input.
 */

const given: { body?: string; headers?: Record<string, string> } = await Bun.stdin.json();
const body =
  given.body === undefined ? new Uint8Array(1600).fill(7) : Uint8Array.fromBase64(given.body);
const headers = given.headers ?? {
  "content-type": "application/ocsp-response",
  "cache-control": "public, max-age=86400, no-transform",
};
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: () => new Response(body, { headers }),
});
console.log(`http://127.0.0.1:${server.port}/`);
