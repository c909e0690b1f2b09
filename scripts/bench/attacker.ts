/**
 * Attackers in a process of their own. It reads a plan from standard input and prints a line when
 * ready. It attacks until the next line of input, and prints its responses by status.
 */

import { crlNumber } from "#core/x509/extensions.ts";
import { assembleSigned, parseCertificate } from "#core/x509/certificate.ts";
import { encodeCrlEntry, encodeTbsCertList } from "#core/x509/crl.ts";
import { parseSerial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { parseCsr } from "#core/x509/csr.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import { newKey, type SigningKey, signed } from "#test/support/acme/keys.ts";
import type { AttackName } from "./attack-names.ts";

/** Addresses and credentials of one attack. */
export interface AttackPlan {
  readonly attack: AttackName;
  /** Base address of the main listener, and of the cleartext listener. */
  readonly base: string;
  readonly publicUrl: string;
  readonly ca: string;
  /** PEM of the CA. */
  readonly certificate: string;
  readonly issuer: string;
  readonly administrator: string;
  readonly readers: readonly string[];
}

/** One attack: its clients, requests per second of all, and one request of a client. */
interface Attack {
  readonly clients: number;
  readonly perSecond: number;
  readonly send: (client: number, count: number) => Promise<Response>;
}

const costlyCsr = new URL("../../test/support/keys/costly-modulus.csr", import.meta.url);
/** Address of the attackers, as a trusted proxy reports it. */
const origin = { "x-forwarded-for": "198.51.100.7" };
const tls = { rejectUnauthorized: false };
const nonces: string[] = [];

async function main(): Promise<void> {
  const lines = console[Symbol.asyncIterator]();
  const plan: AttackPlan = JSON.parse((await lines.next()).value ?? "");
  const attack = await attackTable[plan.attack](plan);
  console.log("ready");
  const running = { ended: false };
  const statuses = new Map<string, number>();
  const work = async (client: number) => {
    const everyMs = (1000 * attack.clients) / attack.perSecond;
    for (let count = 0; !running.ended; count++) {
      const started = performance.now();
      const status = await attack.send(client, count).then(
        (response) => String(response.status),
        () => "failed",
      );
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await Bun.sleep(Math.max(1, everyMs - (performance.now() - started)));
    }
  };
  for (let client = 0; client < attack.clients; client++) void work(client);
  await lines.next();
  running.ended = true;
  const counts = [...statuses].map(([status, count]) => `${count} × ${status}`);
  console.log(`attackers got ${counts.join(", ") || "no response"}`);
  process.exit(0);
}

const attackTable: Readonly<Record<AttackName, (plan: AttackPlan) => Attack | Promise<Attack>>> = {
  keys: async ({ base }) => {
    const jwk = await readCostlyJwk();
    const signature = Buffer.alloc(1024, 1).toString("base64url");
    return {
      clients: 8,
      perSecond: 100,
      send: async (_client, count) => {
        const url = `${base}/acme/${count % 2 === 0 ? "revoke-cert" : "new-account"}`;
        const header = { alg: "RS256", jwk, nonce: await takeNonce(base), url };
        const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
        return post(url, { protected: encode(header), payload: encode({}), signature });
      },
    };
  },
  csr: async ({ base, ca, issuer }) => {
    const csr = await Bun.file(costlyCsr).text();
    const body = JSON.stringify({ dry_run: true, items: Array(60).fill({ csr }) });
    return {
      clients: 2,
      perSecond: 2,
      send: () => call(`${base}/api/ca/${ca}/certificates:bulk`, issuer, body),
    };
  },
  orders: async ({ base }) => {
    const accounts = await createAccounts(base, 8);
    const name = (at: number) => `n${at}${crypto.randomUUID()}.example.test`;
    const identifiers = () =>
      Array.from({ length: 20 }, (_, at) => ({ type: "dns", value: name(at) }));
    const send = (client: number) =>
      postMessage(base, accounts[client], "new-order", { identifiers: identifiers() });
    return { clients: 8, perSecond: 50, send };
  },
  names: async ({ base }) => {
    const accounts = await createAccounts(base, 8);
    const identifiers = [{ type: "dns", value: `${"a.".repeat(100)}not_valid` }];
    const send = (client: number) =>
      postMessage(base, accounts[client], "new-order", { identifiers });
    return { clients: 8, perSecond: 100, send };
  },
  proofs: async ({ base }) => {
    const accounts = await createAccounts(base, 100);
    const send = async (client: number) => {
      const value = `p${crypto.randomUUID()}.example.test`;
      const identifiers = [{ type: "dns", value }];
      const response = await postMessage(base, accounts[client], "new-order", { identifiers });
      if (!response.ok) return response;
      const order = (await response.json()) as { authorizations: string[] };
      const shown = await postMessage(
        base,
        accounts[client],
        order.authorizations[0] ?? "",
        undefined,
      );
      const { challenges } = (await shown.json()) as { challenges?: { url: string }[] };
      return await postMessage(base, accounts[client], challenges?.[0]?.url ?? "", {});
    };
    return { clients: 100, perSecond: 50, send };
  },
  cleartext: ({ publicUrl, ca }) => ({
    clients: 16,
    perSecond: 300,
    send: (client, count) =>
      Bun.fetch(`${publicUrl}/api/ca/${ca}/ocsp/${client}-${count}${"x".repeat(400)}`, {
        headers: origin,
      }),
  }),
  feed: ({ base, readers }) => ({
    clients: 1000,
    perSecond: 500,
    send: async (client) => {
      const authorization = `Token ${readers[client % readers.length]}`;
      const response = await Bun.fetch(`${base}/api/events/stream`, {
        headers: { ...origin, authorization },
        tls,
      });
      // A reader stays connected until the server ends the response.
      if (response.ok) await response.text();
      return response;
    },
  }),
  import: ({ base, ca, certificate, administrator }) => {
    const body = JSON.stringify({ crl: encodeLongCrl(certificate).toBase64() });
    return {
      clients: 1,
      perSecond: 1,
      send: () => call(`${base}/api/ca/${ca}/crl:import`, administrator, body),
    };
  },
  metrics: ({ base }) => ({
    clients: 16,
    perSecond: 300,
    send: () => Bun.fetch(`${base}/metrics`, { headers: origin, tls }),
  }),
};

async function readCostlyJwk() {
  const key = parsePublicKey(parseCsr(await Bun.file(costlyCsr).text()).spki);
  if (key.family !== "rsa") throw new Error("the CSR has no RSA key");
  const n = Uint8Array.fromHex(key.modulus.toString(16)).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });
  return { e: "AQAB", kty: "RSA", n };
}

/** Encodes a list that the CA did not sign, of about 24 MB, which is 32 MB in base64. */
function encodeLongCrl(certificate: string): Uint8Array {
  const at = instant(Date.UTC(2026, 0, 1));
  const superseded = { revokedAt: at, reason: "superseded" } as const;
  const entry = encodeCrlEntry({ ...superseded, serial: parseSerial(String(2n ** 100n)) });
  const count = Math.floor(23_000_000 / entry.length);
  const issuer = decodePem(certificate, ["CERTIFICATE"]) ?? new Uint8Array();
  const tbs = encodeTbsCertList({
    signature: "ecdsa-sha256",
    issuer: parseCertificate(issuer).subject.der,
    thisUpdate: at,
    nextUpdate: at,
    entries: Array<Uint8Array>(count).fill(entry),
    extensions: [crlNumber(1)],
  });
  return assembleSigned(tbs, "ecdsa-sha256", new Uint8Array(70));
}

interface AttackAccount {
  readonly key: SigningKey;
  readonly kid: string;
}

async function createAccounts(base: string, count: number): Promise<readonly AttackAccount[]> {
  const accounts: AttackAccount[] = [];
  while (accounts.length < count) {
    const key = newKey();
    const url = `${base}/acme/new-account`;
    const header = { alg: "ES256", jwk: key.jwk, nonce: await takeNonce(base), url };
    const response = await post(url, signed(key, header, { termsOfServiceAgreed: true }));
    const kid = response.headers.get("location");
    if (kid === null) throw new Error(`no account: ${response.status} ${await response.text()}`);
    accounts.push({ key, kid });
  }
  return accounts;
}

async function postMessage(
  base: string,
  account: AttackAccount | undefined,
  path: string,
  payload: unknown,
): Promise<Response> {
  if (account === undefined) throw new Error("no account");
  const url = path.startsWith("https:") ? path : `${base}/acme/${path}`;
  const header = { alg: "ES256", kid: account.kid, nonce: await takeNonce(base), url };
  return post(url, signed(account.key, header, payload));
}

async function takeNonce(base: string): Promise<string> {
  const nonce = nonces.pop();
  if (nonce !== undefined) return nonce;
  const response = await Bun.fetch(`${base}/acme/new-nonce`, {
    method: "HEAD",
    headers: origin,
    tls,
  });
  return response.headers.get("replay-nonce") ?? "";
}

async function post(url: string, message: object): Promise<Response> {
  const headers = { ...origin, "content-type": "application/jose+json" };
  const response = await Bun.fetch(url, {
    method: "POST",
    headers,
    body: JSON.stringify(message),
    tls,
  });
  const nonce = response.headers.get("replay-nonce");
  if (nonce !== null) nonces.push(nonce);
  return response;
}

const call = (url: string, secret: string, body: string): Promise<Response> =>
  Bun.fetch(url, {
    method: "POST",
    headers: { ...origin, authorization: `Token ${secret}`, "content-type": "application/json" },
    body,
    tls,
  });

if (import.meta.main) await main();
