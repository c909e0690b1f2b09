/** The inventory of a million certificates on SQLite: what one question costs its caller, and everybody else. */

import { Database } from "bun:sqlite";
import { join } from "node:path";

import { sha256Hex } from "#core/crypto.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { createChain } from "#test/support/first-certificate.ts";
import { Instance } from "#test/support/instance.ts";
import { bold, row } from "./print.ts";

/** Fills the database of a stopped instance directly, then asks the started one; `rows` is the size. */
export async function inventory(rows: number): Promise<void> {
  bold(`inventory of ${rows} certificates, SQLite`);
  const config = { log: { level: "info", format: "json" } };
  const made = await Instance.start({ config });
  const chain = await createChain(made, "ecdsa-p256");
  const { certificate } = await made.admin<{ certificate: string }>(
    ...(["GET", `/api/ca/${chain.intermediateId}`] as const),
  );
  await made.stop();
  const der = decodePem(certificate, ["CERTIFICATE"]) ?? new Uint8Array();
  const filled = fill(join(made.dataDir, "pkid.db"), chain.intermediateId, der, rows);
  row("rows stored per second, 10,000 at a time", filled.perSecond.toFixed(0));
  const instance = await Instance.start({ home: made.home, config });
  try {
    row("start to ready", `${instance.readyMs.toFixed(0)} ms`);
    const before = await resident(instance.pid);
    await ask(instance, `/api/ca/${chain.intermediateId}/certificates`, filled.last);
    const grown = (await resident(instance.pid)) - before;
    row("resident memory, before and grown", `${before.toFixed(0)} MB, ${grown.toFixed(0)} MB`);
  } finally {
    await instance.dispose();
  }
}

async function ask(instance: Instance, path: string, last: Made): Promise<void> {
  const questions: readonly (readonly [string, string])[] = [
    ["first page", ""],
    ["by key", `public_key_sha256=${last.key}`],
    ["by serial prefix, 12 digits", `serial_prefix=${last.serial.slice(0, 12)}`],
    ["by serial prefix, 8 hex digits", `serial_prefix=0x${last.hex.slice(0, 8)}`],
    ["by serial prefix, 2 digits", `serial_prefix=${last.serial.slice(0, 2)}`],
    ["by whole serial", `q=${last.serial}`],
    ["by name, one match", `q=${last.name.slice(0, 14)}`],
    ["by name, no match", "q=nowhere.example"],
    ["by name, every row matches", "q=example"],
    ["by profile", "profile=server"],
    ["good ones", "status=good"],
    ["revoked ones", "status=revoked"],
    ["expiring tomorrow", `expires_before=${new Date(Date.now() + 86_400_000).toISOString()}`],
  ];
  for (const [name, query] of questions) {
    const figure = await timed(instance, `${path}?${query}`);
    row(name, figure);
  }
}

/** The median and worst of some runs, and how long somebody else's request waited meanwhile. */
async function timed(instance: Instance, target: string): Promise<string> {
  const times: number[] = [];
  let total = 0;
  let worst = 0;
  let asking = true;
  const others = (async () => {
    while (asking) {
      const begun = performance.now();
      await instance.admin("GET", "/healthz");
      worst = Math.max(worst, performance.now() - begun);
    }
  })();
  for (let n = 0; n < 9; n++) {
    const begun = performance.now();
    total = (await instance.admin<{ total: number }>("GET", target)).total;
    times.push(performance.now() - begun);
  }
  asking = false;
  await others;
  times.sort((a, b) => a - b);
  const [median = 0, slowest = 0] = [times[4], times[8]];
  return `${median.toFixed(1)} ms (worst ${slowest.toFixed(1)}), total ${total}; others waited at most ${worst.toFixed(1)} ms`;
}

interface Made {
  readonly serial: string;
  readonly hex: string;
  readonly name: string;
  readonly key: string;
}

function fill(file: string, ca: string, der: Uint8Array, rows: number) {
  const database = new Database(file);
  database.run("pragma synchronous = off");
  database.run("pragma cache_size = -262144");
  const insert = database.prepare(
    `insert into certificates (id, ca_id, tenant, serial, serial_hex, kind, subject, common_name, sans, search, profile,
      certificate, not_before, not_after, status, requested_by, created_at, spki_sha256, marker)
      values (?, ?, 'default', ?, ?, 'leaf', ?, ?, ?, ?, ?, ?, ?, ?, ?, 'bench', ?, ?, '')`,
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
      insert.run(
        ...[crypto.randomUUID(), ca, last.serial, last.hex, subject, last.name],
        ...[JSON.stringify(sans), [subject, last.name, ...sans].join("\n").toLowerCase()],
        ...[at % 3 === 0 ? "client" : "server", der, at1, at1 + 397 * 86_400_000],
        ...[at % 1000 === 0 ? "revoked" : "good", at1, last.key],
      );
    }
    database.run("commit");
  }
  database.close();
  return { perSecond: rows / ((performance.now() - begun) / 1000), last };
}

function made(at: number): Made {
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

/** Megabytes. */
async function resident(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
