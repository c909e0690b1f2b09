/**
 * A small real transparency log: keys, a Merkle tree, RFC 6962 endpoints and the static ones over
 * the same tree.
 */

import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";

import { originOf } from "#core/transparency/heads.ts";
import { joined, numberOctets, vectorOctets } from "#core/transparency/octets.ts";
import { encodeSct, type Sct } from "#core/transparency/sct.ts";
import type { Instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { withoutPoison } from "#core/x509/precertificate.ts";
import {
  auditPath,
  consistencyPath,
  leafOf,
  tileHashes,
  treeRoot,
} from "#test/support/encodings/reference-tree.ts";

export interface CtLogOptions {
  readonly now: () => Instant;
  readonly keyType?: "ec" | "rsa";
  readonly api?: "rfc6962" | "static";
  /** Changes an SCT before it is answered. */
  readonly bend?: (sct: Sct) => Sct;
  /** Answers a submission instead of the log. */
  readonly instead?: (attempt: number) => Response | undefined | Promise<Response | undefined>;
  /** Signs SCTs with another key than the one the log is known by. */
  readonly impostor?: boolean;
  /** Signs heads with another key. */
  readonly forgedHeads?: boolean;
}

/** A running log on loopback. */
export class CtLog {
  readonly leaves: Uint8Array[] = [];
  readonly spki: Uint8Array;
  readonly logId: Uint8Array;
  submissions = 0;
  /** Of the precertificates it was shown, in the order they came. */
  readonly serials: string[] = [];
  /** Leaves shown: an SCT beyond it is never included. */
  shown: number | undefined;
  /** The log's own time. */
  clock: () => Instant;
  readonly #secret: KeyObject;
  readonly #scts: KeyObject;
  readonly #options: CtLogOptions;
  readonly #server: Bun.Server<undefined>;

  constructor(options: CtLogOptions) {
    this.#options = options;
    this.clock = options.now;
    const pair = newPair(options.keyType ?? "ec");
    this.#secret = options.forgedHeads ? newPair("ec").privateKey : pair.privateKey;
    this.#scts = options.impostor ? newPair(options.keyType ?? "ec").privateKey : pair.privateKey;
    this.spki = new Uint8Array(pair.publicKey.export({ type: "spki", format: "der" }));
    this.logId = sha256(this.spki);
    const fetch = (request: Request) => this.#answer(request);
    this.#server = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 5, fetch });
  }

  /** Submission address, which is the monitoring address too. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/log`;
  }

  get pem(): string {
    const key = createPublicKey({ key: Buffer.from(this.spki), format: "der", type: "spki" });
    return key.export({ type: "spki", format: "pem" }).toString();
  }

  /** Adds a leaf that belongs to nobody. */
  grow(by: number): void {
    for (let n = 0; n < by; n++) this.leaves.push(leafOf(numberOctets(this.leaves.length, 8)));
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const path = url.pathname.replace(/^\/log\//, "");
    if (path === "ct/v1/add-pre-chain") return await this.#submit(request);
    const { leaves } = this;
    const visible = leaves.slice(0, this.shown);
    const query = (name: string) => url.searchParams.get(name) ?? "";
    if (this.#options.api === "static") return this.#monitored(path, visible);
    switch (path) {
      case "ct/v1/get-sth":
        return this.#head(visible);
      case "ct/v1/get-proof-by-hash": {
        const tree = leaves.slice(0, Number(query("tree_size")));
        const index = tree.findIndex((leaf) => base64(leaf) === query("hash"));
        if (index < 0) return Response.json({ error_message: "not found" }, { status: 404 });
        const path = auditPath(index, tree).map(base64);
        return Response.json({ leaf_index: index, audit_path: path });
      }
      case "ct/v1/get-sth-consistency": {
        const tree = leaves.slice(0, Number(query("second")));
        const path = consistencyPath(Number(query("first")), tree).map(base64);
        return Response.json({ consistency: path });
      }
      default:
        return new Response("", { status: 404 });
    }
  }

  async #submit(request: Request): Promise<Response> {
    this.submissions++;
    const instead = await this.#options.instead?.(this.submissions);
    if (instead !== undefined) return instead;
    // The submission of RFC 6962 §4.2.
    const { chain } = (await request.json()) as { chain: string[] };
    const [precertificate, issuer] = chain.map((one) =>
      parseCertificate(Buffer.from(one, "base64")),
    );
    if (precertificate === undefined || issuer === undefined) {
      return new Response("", { status: 400 });
    }
    this.serials.push(precertificate.serial);
    const timestamp = this.clock();
    const extensions =
      this.#options.api === "static"
        ? joined(Uint8Array.of(0), vectorOctets(numberOctets(this.leaves.length, 5), 2))
        : new Uint8Array();
    const entry = joined(
      numberOctets(timestamp, 8),
      numberOctets(1, 2),
      sha256(issuer.spki),
      vectorOctets(withoutPoison(precertificate.tbs), 3),
      vectorOctets(extensions, 2),
    );
    const signature = this.#signed(joined(Uint8Array.of(0, 0), entry), this.#scts);
    this.leaves.push(leafOf(joined(Uint8Array.of(0, 0), entry)));
    const made: Sct = { logId: this.logId, timestamp, extensions, signature };
    const sct = this.#options.bend?.(made) ?? made;
    const tail = encodeSct({ ...sct, extensions: new Uint8Array() }).subarray(1 + 32 + 8 + 2);
    return Response.json({
      sct_version: 0,
      id: base64(sct.logId),
      timestamp: sct.timestamp,
      extensions: base64(sct.extensions),
      signature: base64(tail),
    });
  }

  #head(leaves: readonly Uint8Array[]): Response {
    const { timestamp, root, signature } = this.#signedHead(leaves);
    return Response.json({
      tree_size: leaves.length,
      timestamp,
      sha256_root_hash: base64(root),
      tree_head_signature: base64(digitallySigned(signature)),
    });
  }

  #monitored(path: string, leaves: readonly Uint8Array[]): Response {
    if (path === "checkpoint") return new Response(this.#checkpoint(leaves));
    const tile = /^tile\/(\d+)\/((?:x\d{3}\/)*\d{3})(?:\.p\/(\d+))?$/.exec(path);
    if (tile === null) return new Response("", { status: 404 });
    const index = Number((tile[2] ?? "").replaceAll(/[x/]/g, ""));
    const hashes = tileHashes(Number(tile[1]), index, Number(tile[3] ?? 256), this.leaves);
    return new Response(Buffer.concat(hashes));
  }

  #checkpoint(leaves: readonly Uint8Array[]): string {
    const { timestamp, root, signature } = this.#signedHead(leaves);
    const origin = originOf(this.url);
    const keyId = sha256(
      joined(new TextEncoder().encode(origin), Uint8Array.of(0x0a, 5), this.logId),
    ).subarray(0, 4);
    const note = joined(keyId, numberOctets(timestamp, 8), digitallySigned(signature));
    return `${origin}\n${leaves.length}\n${base64(root)}\n\n\u2014 witness.example ${base64(keyId)}\n\u2014 ${origin} ${base64(note)}\n`;
  }

  #signedHead(leaves: readonly Uint8Array[]) {
    const timestamp = this.clock();
    const root = treeRoot(leaves);
    const message = joined(
      Uint8Array.of(0, 1),
      numberOctets(timestamp, 8),
      numberOctets(leaves.length, 8),
      root,
    );
    return { timestamp, root, signature: this.#signed(message, this.#secret) };
  }

  #signed(message: Uint8Array, key: KeyObject): Sct["signature"] {
    const algorithm = this.#options.keyType === "rsa" ? 1 : 3;
    return { hash: 4, algorithm, signature: new Uint8Array(sign("sha256", message, key)) };
  }
}

const digitallySigned = ({ hash, algorithm, signature }: Sct["signature"]): Uint8Array =>
  joined(Uint8Array.of(hash, algorithm), vectorOctets(signature, 2));

const newPair = (type: "ec" | "rsa"): { publicKey: KeyObject; privateKey: KeyObject } =>
  type === "rsa"
    ? generateKeyPairSync("rsa", { modulusLength: 2048 })
    : generateKeyPairSync("ec", { namedCurve: "P-256" });

const base64 = (octets: Uint8Array): string => Buffer.from(octets).toString("base64");
const sha256 = (octets: Uint8Array): Uint8Array =>
  new Uint8Array(createHash("sha256").update(octets).digest());
