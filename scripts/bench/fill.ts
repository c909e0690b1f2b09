/**
 * An instance on SQLite whose inventory was filled behind its back, at the size a benchmark asks
 * for.
 */

import { Database } from "bun:sqlite";
import { join } from "node:path";

import { sha256Hex } from "#core/crypto.ts";
import { foldSome } from "#adapters/db/engine/folds.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { connectionOn } from "#test/support/stores/stores.ts";

/** What such an instance runs with. */
export const filledConfig = {
  log: { level: "info", format: "json" },
  server: { public_http: { enabled: true, address: "127.0.0.1:0" } },
};

/** Starts one, stops it, fills the database of its issuing CA directly, and starts it again. */
export async function filledInstance(
  binary: string,
  rows: number,
  revokedEvery = 1000,
  more: Readonly<Record<string, unknown>> = {},
) {
  const config = { ...filledConfig, ...more };
  const first = await Instance.start({ binary, config });
  const chain = await createChain(first, "ecdsa-p256");
  const { certificate } = await first.admin<{ certificate: string }>(
    "GET",
    `/api/ca/${chain.intermediateId}`,
  );
  await first.stop();
  const der = decodePem(certificate, ["CERTIFICATE"]) ?? new Uint8Array();
  const filled = await fill(join(first.dataDir, "pkid.db"), {
    ca: chain.intermediateId,
    der,
    rows,
    revokedEvery,
  });
  const instance = await Instance.start({ binary, home: first.home, config });
  return { instance, ca: chain.intermediateId, certificate, ...filled };
}

/** One of the rows. */
export interface Made {
  readonly serial: string;
  readonly hex: string;
  readonly name: string;
  readonly key: string;
}

interface Filling {
  readonly ca: string;
  readonly der: Uint8Array;
  readonly rows: number;
  /** Every so many are revoked, from the first. */
  readonly revokedEvery: number;
}

async function fill(file: string, { ca, der, rows, revokedEvery }: Filling) {
  const database = new Database(file);
  const connection = connectionOn(database);
  database.run("pragma synchronous = off");
  database.run("pragma cache_size = -262144");
  const insert = database.prepare(
    `insert into certificates (id, ca_id, tenant, serial, serial_hex, kind, subject, common_name, sans, search, profile,
      certificate, not_before, not_after, status, requested_by, created_at, spki_sha256, marker)
      values (?, ?, 'default', ?, ?, 'leaf', ?, ?, ?, ?, ?, ?, ?, ?, ?, 'bench', ?, ?, '')`,
  );
  const revoke = database.prepare(
    `insert into revocations (ca_id, serial, revoked_at, reason, known, expires_at, sequence)
      values (?, ?, ?, 'superseded', 1, ?, ?)`,
  );
  const start = Date.now() - rows * 1000;
  const begun = performance.now();
  let last: Made = { serial: "", hex: "", name: "", key: "" };
  for (let at = 0; at < rows; ) {
    database.run("begin");
    for (const end = Math.min(rows, at + 10_000); at < end; at++) {
      last = made(at);
      const subject = `CN=${last.name},O=Example GmbH,C=DE`;
      const sans = [`dns:${last.name}`, `dns:www.${last.name}`];
      const at1 = start + at * 1000;
      const revoked = at % revokedEvery === 0;
      const sequence = at / revokedEvery + 1;
      insert.run(
        crypto.randomUUID(),
        ca,
        last.serial,
        last.hex,
        subject,
        last.name,
        JSON.stringify(sans),
        [subject, last.name, ...sans].join("\n").toLowerCase(),
        at % 3 === 0 ? "client" : "server",
        der,
        at1,
        at1 + 397 * 86_400_000,
        revoked ? "revoked" : "good",
        at1,
        last.key,
      );
      if (revoked) revoke.run(ca, last.serial, at1, at1 + 397 * 86_400_000, sequence);
    }
    await foldSome(connection, 20_000);
    database.run("commit");
  }
  const revocations = Math.ceil(rows / revokedEvery);
  database.run("update heads set revocation_sequence = max(revocation_sequence, ?)", [revocations]);
  database.close();
  return { perSecond: rows / ((performance.now() - begun) / 1000), last };
}

/** The row of a number, which is the same in every run. */
export function made(at: number): Made {
  const hex = sha256Hex(Buffer.from(`serial ${at}`))
    .slice(0, 32)
    .replace(/^./, "5");
  const name = `h${sha256Hex(Buffer.from(`name ${at}`)).slice(0, 10)}-${at}.example.test`;
  return {
    hex,
    serial: String(BigInt(`0x${hex}`)),
    name,
    key: sha256Hex(Buffer.from(`key ${at}`)),
  };
}
