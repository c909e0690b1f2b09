/**
 * An instance whose inventory was filled behind its back with certificates that its CA has signed,
 * their events and their entries in the ledger: every proof of `pkid verify` holds.
 */

import { Database, type SQLQueryBindings, type Statement } from "bun:sqlite";
import { createHash, type KeyObject, sign } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";

import { digestHeadOf } from "#adapters/db/tables/digest-head.ts";
import { foldSome } from "#adapters/db/engine/folds.ts";
import { type AuditEvent, eventHash } from "#core/audit/chain.ts";
import { type LedgerEntry, ledgerHash } from "#core/audit/ledger.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { backedUp, identityIn } from "#test/support/instances/backed-up.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { membersOf, privateKeyIn } from "#test/support/instances/rewritten-archive.ts";
import { connectionOn } from "#test/support/stores/stores.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { filledConfig } from "./fill.ts";

/**
 * Starts one, has it issue and revoke a certificate, and stores `rows` more of its kind, every
 * `revokedEvery`-th of them revoked; gives its home, with nobody at work in it.
 */
export async function provenHome(
  binary: string,
  rows: number,
  revokedEvery: number,
): Promise<string> {
  const instance = await Instance.start({ binary, config: filledConfig });
  const { intermediateId: ca } = await createChain(instance, "ecdsa-p256");
  const request = csr({ dns: [model], subject: [{ type: "CN", value: model }] });
  const path = `/api/ca/${ca}`;
  const { serial } = await instance.admin<{ serial: string }>("POST", `${path}/issue`, {
    csr: request,
  });
  await instance.admin("POST", `${path}/revoke`, { serial, reason: "superseded" });
  const { archive, identity } = await backedUp(instance);
  const members = await membersOf(archive, identityIn(identity));
  await instance.stop();
  const key = privateKeyIn(members, `issuing-ecdsa-p256-${ca}`);
  rmSync(join(instance.home, "archives"), { recursive: true });
  await fill(join(instance.dataDir, "pkid.db"), { ca, serial, key, rows, revokedEvery });
  return instance.home;
}

interface Filling {
  readonly ca: string;
  /** Of the certificate that others are like. */
  readonly serial: string;
  readonly key: KeyObject;
  readonly rows: number;
  readonly revokedEvery: number;
}

async function fill(file: string, filling: Filling): Promise<void> {
  const database = new Database(file);
  database.run("pragma synchronous = off");
  database.run("pragma cache_size = -262144");
  const copies = new Copies(database, filling);
  for (let at = 0; at < filling.rows; ) {
    database.run("begin");
    for (const end = Math.min(filling.rows, at + 10_000); at < end; at++) copies.add(at);
    await foldSome(connectionOn(database), 30_000);
    copies.end();
    database.run("commit");
  }
  while (await foldSome(connectionOn(database), 30_000));
  database.run("pragma wal_checkpoint(truncate)");
  database.close();
}

type Row = Readonly<Record<string, SQLQueryBindings>>;

/** Certificates like one that is there, with all that tells of them. */
class Copies {
  readonly #database: Database;
  readonly #filling: Filling;
  readonly #certificate: Row;
  readonly #revocation: Row;
  readonly #entries: readonly Row[];
  readonly #issued: Row;
  readonly #revoked: Row;
  readonly #tbs: Buffer;
  readonly #algorithm: Buffer;
  readonly #serialOctets: number;
  readonly #inserts = new Map<string, Statement>();
  readonly #heads: { event: AuditEnd; entry: AuditEnd; sequence: number };

  constructor(database: Database, filling: Filling) {
    this.#database = database;
    this.#filling = filling;
    const { serial } = filling;
    const rows = (text: string) => database.query<Row, []>(text).all();
    const one = (text: string) => rows(text)[0] ?? {};
    const its = `where serial = '${serial}'`;
    this.#certificate = one(`select * from certificates ${its}`);
    this.#revocation = one(`select * from revocations ${its}`);
    this.#entries = rows(`select * from ledger where artifact = '${serial}' order by number`);
    this.#issued = one(`select * from events ${its} and action = 'cert.issue'`);
    this.#revoked = one(`select * from events ${its} and action = 'cert.revoke'`);
    const der = this.#certificate.certificate as Uint8Array; // A column of octets.
    const { tbs } = parseCertificate(der);
    this.#tbs = Buffer.from(tbs);
    // The algorithm stands behind what is signed as it stands in it, behind the serial.
    const outer = Buffer.from(der);
    const behind = outer.indexOf(this.#tbs) + this.#tbs.length;
    this.#algorithm = outer.subarray(behind, behind + 2 + (outer[behind + 1] ?? 0));
    this.#serialOctets = this.#tbs[serialAt - 1] ?? 0;
    const heads = one("select * from heads");
    this.#heads = {
      event: { at: Number(heads.event_seq), hash: String(heads.event_hash) },
      entry: { at: Number(heads.ledger_number), hash: String(heads.ledger_hash) },
      sequence: Number(heads.revocation_sequence),
    };
  }

  add(number: number): void {
    const { key, revokedEvery } = this.#filling;
    const digits = createHash("sha256").update(`${number}`).digest();
    const name = `${digits.toString("hex").slice(0, 12)}.example.test`;
    // Positive, and of as many octets as the serial in whose place it stands.
    const octets = Buffer.from(digits.subarray(0, this.#serialOctets));
    octets[0] = 0x40 | ((octets[0] ?? 0) & 0x3f);
    const serial = String(BigInt(`0x${octets.toString("hex")}`));
    const tbs = Buffer.from(this.#tbs);
    octets.copy(tbs, serialAt);
    for (let at = tbs.indexOf(model); at >= 0; at = tbs.indexOf(model))
      tbs.write(name, at, "latin1");
    const signature = sign("sha256", tbs, key);
    const der = sequence([tbs, this.#algorithm, bitString(signature)]);
    const revoked = number % revokedEvery === 0;
    const named = (text: unknown) => String(text).replaceAll(model, name);
    const { ordinal: _o, folded: _f, ...certificate } = this.#certificate;
    this.#insert("certificates", {
      ...certificate,
      id: crypto.randomUUID(),
      serial,
      serial_hex: BigInt(serial).toString(16),
      subject: named(certificate.subject),
      common_name: name,
      sans: named(certificate.sans),
      search: named(certificate.search),
      identity: digits.subarray(0, 16).toString("base64url"),
      certificate: der,
      digest_head: digestHeadOf(der),
      ...(!revoked && { status: "good", revoked_at: null, reason: null }),
    });
    this.#enter({ tbs, signature, serial });
    const sha256 = hex(der);
    const detail = String(this.#issued.detail).replace(/sha256=\w+/, `sha256=${sha256}`);
    this.#tell(this.#issued, { serial, detail });
    if (revoked) this.#revoke(serial);
  }

  end(): void {
    const { event, entry, sequence: last } = this.#heads;
    this.#database.run(
      "update heads set event_seq = ?, event_hash = ?, ledger_number = ?, ledger_hash = ?, revocation_sequence = ?",
      [event.at, event.hash, entry.at, entry.hash, last],
    );
    this.#database.run("update revocation_changes set sequence = ? where ca_id = ?", [
      last,
      this.#filling.ca,
    ]);
  }

  #revoke(serial: string): void {
    const last = ++this.#heads.sequence;
    this.#insert("revocations", { ...this.#revocation, serial, sequence: last });
    this.#tell(this.#revoked, { serial, detail: `reason=superseded sequence=${last}` });
  }

  #enter({ tbs, signature, serial }: { tbs: Buffer; signature: Buffer; serial: string }): void {
    const op_id = crypto.randomUUID();
    for (const row of this.#entries) {
      const { at, hash: prev_hash } = this.#heads.entry;
      const of = { op_id, artifact: serial, digest: hex(tbs), prev_hash, number: at + 1 };
      const ended = row.kind === "outcome" ? { signature_sha256: hex(signature) } : {};
      const entry: Row = { ...row, ...of, ...ended };
      const hash = ledgerHash(camel(entry) as unknown as LedgerEntry); // A row of the ledger.
      this.#insert("ledger", { ...entry, hash });
      this.#heads.entry = { at: at + 1, hash };
    }
  }

  #tell(model: Row, of: { readonly serial: string; readonly detail: string }): void {
    const { at: seq, hash: prev_hash } = this.#heads.event;
    const { folded: _f, certificate_ordinal: _c, ...row } = model;
    const known = { id: crypto.randomUUID(), target_name: of.serial, seq: seq + 1, prev_hash };
    const event: Row = { ...row, ...of, ...known };
    const hash = eventHash(camel(event) as unknown as AuditEvent); // A row of the events.
    this.#insert("events", { ...event, hash });
    this.#heads.event = { at: seq + 1, hash };
  }

  #insert(table: string, row: Row): void {
    const names = Object.keys(row);
    const text = `insert into "${table}" (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
    const insert = this.#inserts.get(text) ?? this.#database.prepare(text);
    this.#inserts.set(text, insert);
    insert.run(...Object.values(row));
  }
}

interface AuditEnd {
  readonly at: number;
  readonly hash: string;
}

const hex = (octets: Uint8Array) => createHash("sha256").update(octets).digest("hex");

/** Members as the domain names them. */
const camel = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );

const sequence = (parts: readonly Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts));
const bitString = (octets: Buffer): Buffer => tagged(0x03, Buffer.concat([Buffer.of(0), octets]));

/** Of fewer than 65,536 octets. */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head =
    length < 128
      ? [tag, length]
      : length < 256
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from(head), content]);
}

/** As long as the names that come into its place. */
const model = "0123456789ab.example.test";
/** In the octets that are signed: behind their header, the version, and the header of a number. */
const serialAt = 4 + 5 + 2;
