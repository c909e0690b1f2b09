/**
 * The bare CA of the floor, a process of its own: the least that issues a certificate durably over
 * TLS, all in one loop. No gates, no rights, no audit. Its only argument is a folder for its
 * database.
 */

import { Database } from "bun:sqlite";
import { createPublicKey, randomBytes, sign, verify } from "node:crypto";
import { join } from "node:path";

import { decodePem, encodePem } from "#core/asn1/pem.ts";
import { encodeSigned, encodeTbs, readRequest } from "./bare-certificate.ts";
import { newIssuer, newTls, selfSigned, validity } from "./bare-issuer.ts";

/** Rows wait here until the loop has read what has arrived; then they share one commit. */
class GroupCommits {
  readonly #database: Database;
  #waiting: { readonly store: () => void; readonly done: () => void }[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  /** Resolves when the row that `store` writes is on disk. */
  durable(store: () => void): Promise<void> {
    return new Promise((done) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#commit());
      this.#waiting.push({ store, done });
    });
  }

  #commit(): void {
    const batch = this.#waiting;
    this.#waiting = [];
    this.#database.run("begin immediate");
    for (const { store } of batch) store();
    this.#database.run("commit");
    for (const { done } of batch) done();
  }
}

const database = new Database(join(process.argv[2] ?? ".", "bare-ca.db"));
database.run("pragma journal_mode = wal");
database.run("pragma synchronous = full");
database.run("create table intents (id integer primary key, serial blob, tbs blob)");
database.run("create table certificates (id integer primary key, serial blob, certificate blob)");
const intend = database.prepare("insert into intents (serial, tbs) values (?, ?)");
const keep = database.prepare("insert into certificates (serial, certificate) values (?, ?)");
const commits = new GroupCommits(database);

const ca = newIssuer("Bare CA");
const issuerPem = selfSigned(ca);
const tls = newTls();
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  tls,
  fetch: async (request) => issued(await request.json()),
});
console.log(`https://127.0.0.1:${server.port}/`);

/** Numbered as pkid's own ceremony is: prove, intend, sign, verify, keep. */
async function issued({ csr }: { readonly csr: string }): Promise<Response> {
  const der = decodePem(csr, ["CERTIFICATE REQUEST"]);
  if (der === undefined) return new Response(null, { status: 400 });
  // 1. The requester holds the key.
  const request = readRequest(der);
  const requester = createPublicKey({
    key: Buffer.from(request.spki),
    format: "der",
    type: "spki",
  });
  if (!verify("sha256", request.covered, requester, request.signature)) {
    return new Response(null, { status: 400 });
  }
  // 2. What will be signed is on disk before it is.
  const serial = randomBytes(16);
  const { subject, spki } = request;
  const tbs = encodeTbs({ serial, subject, spki, issuer: ca.name, ...validity() });
  await commits.durable(() => intend.run(serial, tbs));
  // 3. Signed, and held against the public key.
  const signature = sign("sha256", tbs, ca.privateKey);
  if (!verify("sha256", tbs, ca.publicKey, signature)) throw new Error("the signature is wrong");
  // 4. The certificate is on disk before it leaves.
  const certificate = encodeSigned(tbs, signature);
  await commits.durable(() => keep.run(serial, certificate));
  const pem = encodePem("CERTIFICATE", certificate);
  const answer = { certificate: pem, chain: pem + issuerPem, serial: serial.toString("hex") };
  return Response.json(answer, { status: 201 });
}
