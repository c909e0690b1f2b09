/**
 * Runs in a thread: reads an archive beside whoever loads it, and verifies its certificates one
 * after the other until it is told to end.
 */

import { parentPort } from "node:worker_threads";

import { decrypted } from "#adapters/age/age.ts";
import { pieceOf } from "#core/backup/archive.ts";
import { type Piece, readPiece } from "#core/backup/piece.ts";
import { certificateArtefact, nativeSignature } from "#core/audit/ledger-verification-artefacts.ts";
import { KeySet } from "#core/proofs/key-set.ts";
import { signedText, verifiedText } from "#core/proofs/pair.ts";
import { SignatureKeys } from "#core/proofs/signature-keys.ts";
import { type TarMember, tarMembers } from "#core/tar-reader.ts";
import type { AheadJob, FromAhead } from "./ahead-thread-data.ts";

/** Says what it has when it is told to end, and ends. */
export async function runAheadJob({ ahead: { archive, opener, salt } }: AheadJob): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("signatures are verified ahead in a thread of its own");
  const ended = Promise.withResolvers<void>();
  let isEnded = false;
  port.on("message", () => {
    isEnded = true;
    ended.resolve();
  });
  const verification = new Verification(salt);
  try {
    for await (const member of tarMembers(decrypted(opener, Bun.file(archive).stream()))) {
      await verification.take(member);
      // Others hear of it between two members.
      await new Promise((resolve) => setImmediate(resolve));
      if (isEnded || verification.isDone) break;
    }
  } catch {
    // Whoever loads it meets the same, and says so.
  }
  await ended.promise;
  const found: FromAhead = verification.found;
  port.postMessage(found, [found.keys.buffer]);
  port.close();
}

/** What verifies of the members that were taken. */
class Verification {
  /** True when nothing follows that it would verify. */
  isDone = false;
  readonly #verified: KeySet;
  readonly #keys = new SignatureKeys();
  /** SubjectPublicKeyInfos by CA: native, and alternative. */
  readonly #cas = new Map<string, readonly (Uint8Array | undefined)[]>();
  #begun = false;
  #pieces = 0;

  constructor(salt: Uint8Array) {
    this.#verified = new KeySet(salt);
  }

  get found(): FromAhead {
    return this.#verified.parts;
  }

  async take(member: TarMember): Promise<void> {
    const table = pieceOf(member.name)?.table;
    // Behind the certificates nothing is worth the reading.
    this.isDone = this.#begun && table !== "certificates";
    this.#begun ||= table === "certificates";
    if (table !== "cas" && table !== "certificates") return;
    const piece = readPiece(await textOf(member), member.name);
    if (table === "cas") this.#learn(piece);
    else this.#verify(piece);
    // A thread is never idle for the collector.
    if (++this.#pieces % piecesPerCollection === 0) Bun.gc(true);
  }

  #learn({ columns, rows }: Piece): void {
    const at = (name: string) => columns.indexOf(name);
    const [id, spki, alternative] = [at("id"), at("spki"), at("alt_spki")];
    for (const row of rows) {
      this.#cas.set(String(row[id]), [octetsOf(row[spki]), octetsOf(row[alternative])]);
    }
  }

  #verify({ columns, rows }: Piece): void {
    const [ca, certificate] = [columns.indexOf("ca_id"), columns.indexOf("certificate")];
    for (const row of rows) {
      const keys = this.#cas.get(String(row[ca]));
      const der = octetsOf(row[certificate]);
      if (keys !== undefined && der !== undefined && der.length > 0) this.#hold(der, keys);
    }
  }

  #hold(der: Uint8Array, keys: readonly (Uint8Array | undefined)[]): void {
    try {
      const isHybrid = keys[1] !== undefined;
      const signatures = isHybrid ? certificateArtefact(der).signatures : [nativeSignature(der)];
      for (const [at, signature] of signatures.entries()) {
        const spki = keys[at];
        if (spki === undefined || !this.#keys.verifies(spki, signature)) continue;
        const name = this.#keys.fingerprintOf(spki);
        this.#verified.add(verifiedText(name, signedText(signature)));
      }
    } catch {
      // No certificate; told where it is proven.
    }
  }
}

async function textOf({ content }: TarMember): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content()) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

const octetsOf = (value: string | number | null | undefined): Uint8Array | undefined =>
  typeof value === "string" ? Uint8Array.fromHex(value) : undefined;

const piecesPerCollection = 8;
