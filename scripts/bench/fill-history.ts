/** Gives the certificates of a filled database their history: events and entries that link. */

import { Database } from "bun:sqlite";

import { eventHash } from "#core/audit/chain.ts";
import { ledgerHash } from "#core/audit/ledger.ts";
import { foldSome } from "#adapters/db/engine/folds.ts";
import { connectionOn } from "#test/support/stores/stores.ts";
import { made } from "./fill.ts";

/** One event, and two entries of the ledger, for each of `rows` certificates of the CA. */
export async function fillHistory(file: string, ca: string, rows: number): Promise<void> {
  const database = new Database(file);
  database.run("pragma synchronous = off");
  database.run("pragma cache_size = -262144");
  const heads = database.query<Record<string, never>, []>("select * from heads").get();
  const writing = new History(database, ca, Object(heads));
  for (let at = 0; at < rows; ) {
    database.run("begin");
    for (const end = Math.min(rows, at + 10_000); at < end; at++) writing.certificate(at);
    await foldSome(connectionOn(database), 20_000);
    writing.heads();
    database.run("commit");
  }
  database.run("pragma wal_checkpoint(truncate)");
  database.close();
}

interface Ends {
  readonly event_seq: number;
  readonly event_hash: string;
  readonly ledger_number: number;
  readonly ledger_hash: string;
}

class History {
  readonly #database: Database;
  readonly #ca: string;
  #event: { seq: number; hash: string };
  #entry: { number: number; hash: string };

  constructor(database: Database, ca: string, ends: Ends) {
    this.#database = database;
    this.#ca = ca;
    this.#event = { seq: ends.event_seq, hash: ends.event_hash };
    this.#entry = { number: ends.ledger_number, hash: ends.ledger_hash };
  }

  certificate(at: number): void {
    const { serial, key } = made(at);
    const opId = crypto.randomUUID();
    const signed = { provider: "software", deviceSerial: "software:bench", keyLabel: "issuing" };
    const common = { ...signed, opId, signerFingerprint: `SHA256:${key}`, role: "ca" as const };
    const about = { ...common, operation: "sign" as const, algorithm: "ecdsa-p256-sha256" };
    const of = { ...about, digest: key, purpose: "certificate" as const, caId: this.#ca };
    this.#append({ ...of, kind: "intent", artifact: serial, result: "", signatureSha256: "" });
    const ended = { artifact: serial, result: "success", signatureSha256: key } as const;
    this.#append({ ...of, kind: "outcome", ...ended });
    this.#tell(serial, key);
  }

  heads(): void {
    this.#database.run(
      "update heads set event_seq = ?, event_hash = ?, ledger_number = ?, ledger_hash = ?",
      [this.#event.seq, this.#event.hash, this.#entry.number, this.#entry.hash],
    );
  }

  #tell(serial: string, key: string): void {
    const event = {
      seq: this.#event.seq + 1,
      id: crypto.randomUUID(),
      timestamp: "2026-11-23T12:00:00.000000Z",
      actor: "local:bench",
      actorName: "bench",
      actorRoles: "admin",
      action: "cert.issue",
      result: "success",
      tenant: "default",
      caId: this.#ca,
      serial,
      target: this.#ca,
      targetName: "issuing",
      detail: `profile=server key_type=ecdsa-p256 validity=397d sha256=${key}`,
      ip: "127.0.0.1",
      prevHash: this.#event.hash,
    };
    const hash = eventHash(event);
    this.#database
      .query(
        `insert into events (seq, id, timestamp, actor, actor_name, actor_roles, action, result,
         tenant, ca_id, serial, target, target_name, detail, ip, prev_hash, hash, request_id, at)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
      )
      .run(...Object.values(event), hash, event.id);
    this.#event = { seq: event.seq, hash };
  }

  #append(
    of: Omit<
      Parameters<typeof ledgerHash>[0],
      "number" | "timestamp" | "prevHash" | "error" | "count" | "total"
    >,
  ): void {
    const empty = { error: "", count: "", total: "" };
    const entry = {
      ...of,
      ...empty,
      number: this.#entry.number + 1,
      timestamp: "2026-11-23T12:00:00.000000Z",
      prevHash: this.#entry.hash,
    };
    const hash = ledgerHash(entry);
    this.#database
      .query(
        `insert into ledger (number, timestamp, kind, op_id, provider, device_serial, key_label,
         signer_fingerprint, role, operation, algorithm, digest, purpose, ca_id, artifact, result,
         signature_sha256, error, count, total, prev_hash, hash)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        entry.number,
        entry.timestamp,
        entry.kind,
        entry.opId,
        entry.provider,
        entry.deviceSerial,
        entry.keyLabel,
        entry.signerFingerprint,
        entry.role,
        entry.operation,
        entry.algorithm,
        entry.digest,
        entry.purpose,
        entry.caId,
        entry.artifact,
        entry.result,
        entry.signatureSha256,
        "",
        "",
        "",
        entry.prevHash,
        hash,
      );
    this.#entry = { number: entry.number, hash };
  }
}
