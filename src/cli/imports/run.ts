/** One import from its beginning to its end: the CA, what it signed and revoked, and its lists. */

import { closeSync, openSync, writeSync } from "node:fs";

import { encodePem } from "#core/asn1/pem.ts";
import { timestamp } from "#core/time.ts";
import { type ParsedCertificate, readSerialNumber } from "#core/x509/certificate.ts";
import type { Client } from "#cli/client.ts";
import type { CliDeps } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import type { Io } from "#cli/io.ts";
import { watched } from "#cli/progress.ts";
import { type Row, rowAt, rowsAt, textAt } from "#cli/rows.ts";

import { type Placed, unreadable } from "./pieces.ts";
import type { CaKey } from "./private-key.ts";

/** What is imported. */
export interface ImportPlan {
  readonly label: string;
  readonly tenant: string | undefined;
  readonly certificate: ParsedCertificate;
  /** PEM of the certificates above it; empty for a root. */
  readonly chain: string;
  readonly key: CaKey | { readonly label: string } | undefined;
  readonly profile: string | undefined;
  /** The highest number a list of the CA has had. */
  readonly crlNumber: number;
  readonly entries: Iterable<Placed>;
}

/** How it is done. */
export interface ImportWays {
  readonly dryRun: boolean;
  readonly skipRefused: boolean;
  /** File that is told what became of each entry, a JSON object a line. */
  readonly report: string | undefined;
  readonly quiet: boolean;
}

interface Tools {
  readonly client: Client;
  readonly io: Io;
  readonly deps: Pick<CliDeps, "sealFor">;
  readonly note: (sentence: string) => void;
}

/** What came of it. */
export type Imported = ReturnType<Import["document"]>;

/** Runs it, and gives what came of it; a second run adds what is new and nothing else. */
export async function runImport(
  tools: Tools,
  plan: ImportPlan,
  ways: ImportWays,
): Promise<Imported> {
  return await new Import(tools, plan, ways).run();
}

class Import {
  readonly #tools: Tools;
  readonly #plan: ImportPlan;
  readonly #ways: ImportWays;
  readonly #client: Client;
  readonly #counts = { read: 0, imported: 0, present: 0, revoked: 0, entered: 0, refused: 0 };
  readonly #refusals: Refusal[] = [];
  /** Of a dry run: what it would have taken in by now, and whether as revoked. */
  readonly #foreseen = new Map<string, boolean>();
  #report: number | undefined;
  #id = "";
  #status = "";

  constructor(tools: Tools, plan: ImportPlan, ways: ImportWays) {
    this.#tools = tools;
    this.#plan = plan;
    this.#ways = ways;
    // It tells by itself how far it has come.
    this.#client = tools.client.untold();
  }

  async run(): Promise<Imported> {
    this.#openReport();
    try {
      await this.#begin();
      const work = this.#entries();
      const line = async () => `${this.#counts.read} entries`;
      await (this.#ways.quiet ? work : watched(this.#tools.io, work, line));
      if (!this.#ways.dryRun) await this.#finish();
      return this.document();
    } finally {
      if (this.#report !== undefined) closeSync(this.#report);
    }
  }

  document() {
    const { label, crlNumber } = this.#plan;
    const { dryRun } = this.#ways;
    return {
      ca: { id: this.#id, label, status: this.#status },
      dry_run: dryRun,
      crl_number: crlNumber,
      ...this.#counts,
      refusals: this.#refusals,
    };
  }

  async #begin(): Promise<void> {
    const { label, tenant, certificate, chain } = this.#plan;
    const { dryRun } = this.#ways;
    const members = {
      label,
      tenant_id: tenant,
      certificate_pem: encodePem("CERTIFICATE", certificate.der),
      chain_pem: chain === "" ? undefined : chain,
      dry_run: dryRun,
    };
    // A look first: who goes on with an import needs no key any more.
    const looked = await this.#client.ask("ca.import", { ...members, dry_run: true });
    const here = textAt(rowAt(looked, "ca"), "id") !== "";
    const key = here ? undefined : await this.#offeredKey(dryRun);
    const begun =
      here || (dryRun && key === undefined)
        ? looked
        : await this.#client.ask("ca.import", { ...members, key });
    const ca = rowAt(begun, "ca");
    this.#id = textAt(ca, "id");
    this.#status = textAt(ca, "status");
    const warnings = textAt(begun, "warnings");
    if (warnings !== "") this.#tools.note(`Worth a look: ${warnings.replaceAll(",", ", ")}.`);
    const named = textAt(ca, "label");
    if (here && named !== label) this.#tools.note(`The CA is here as ${named}.`);
  }

  /** The key as the server takes it; held against the certificate before it goes anywhere. */
  async #offeredKey(dryRun: boolean) {
    const { key, certificate } = this.#plan;
    if (key === undefined) {
      throw new Failure("The CA is not here yet: give its key by --ca-key or --key-label.");
    }
    if ("label" in key) return { provider: "pkcs11", label: key.label };
    if (!Buffer.from(key.spki).equals(certificate.spki)) {
      key.pkcs8.fill(0);
      throw new Failure("The private key is not that of the CA certificate.");
    }
    if (dryRun) {
      key.pkcs8.fill(0);
      return undefined;
    }
    const { address } = await this.#client.ask("import.address");
    const box = this.#tools.deps.sealFor(Uint8Array.fromBase64(String(address)), key.pkcs8);
    key.pkcs8.fill(0);
    return { provider: "software", box: box.toBase64() };
  }

  async #entries(): Promise<void> {
    let batch: Extract<Placed, { entry: unknown }>[] = [];
    let octets = 0;
    for (const found of this.#plan.entries) {
      this.#counts.read += 1;
      if ("fault" in found) {
        this.#refuse({ place: found.place, serial: found.serial ?? "", reason: found.fault });
        continue;
      }
      batch.push(found);
      octets += found.entry.certificate?.length ?? 0;
      if (batch.length < batchEntries && octets < batchOctets) continue;
      await this.#send(batch);
      [batch, octets] = [[], 0];
    }
    if (batch.length > 0) await this.#send(batch);
  }

  async #send(batch: readonly Extract<Placed, { entry: unknown }>[]): Promise<void> {
    const { profile, tenant, certificate } = this.#plan;
    const entries = batch.map(({ entry: { certificate: der, serial, revoked } }) => ({
      certificate: der?.toBase64(),
      serial,
      revoked_at: revoked && timestamp(revoked.at),
      reason: revoked?.reason,
    }));
    const certificate_pem = encodePem("CERTIFICATE", certificate.der);
    const answer = this.#ways.dryRun
      ? await this.#client.ask("import.check", {
          tenant_id: tenant,
          certificate_pem,
          profile,
          entries,
        })
      : await this.#client.ask("cert.import", { id: this.#id, profile, entries });
    const results = rowsAt(answer, "results");
    for (const [at, one] of batch.entries()) this.#told(one, results[at] ?? {});
  }

  #told(one: Extract<Placed, { entry: unknown }>, row: Row): void {
    const { serial: listed, certificate } = one.entry;
    const serial = textAt(row, "serial") || (listed ?? readNumber(certificate));
    const { place } = one;
    const said = textAt(row, "result");
    if (said === "refused") {
      const fault = textAt(row, "fault");
      this.#refuse({ place, serial, reason: faultTexts.get(fault) ?? fault });
      return;
    }
    const result = this.#foretold(said, serial, one);
    if (isCounted(result)) this.#counts[result] += 1;
    this.#reported({ place, serial, result });
  }

  /** A dry run takes nothing in, so what it has seen of earlier batches it remembers itself. */
  #foretold(result: string, serial: string, one: Extract<Placed, { entry: unknown }>): string {
    if (!this.#ways.dryRun) return result;
    const revoked = one.entry.revoked !== undefined;
    const before = this.#foreseen.get(serial);
    this.#foreseen.set(serial, revoked || before === true);
    if (before === undefined || result === "present") return result;
    if (one.entry.certificate !== undefined) return result === "imported" ? "present" : result;
    return before ? "present" : "revoked";
  }

  #refuse(refusal: Refusal): void {
    this.#counts.refused += 1;
    if (this.#refusals.length < refusalsMax) this.#refusals.push(refusal);
    this.#reported({ ...refusal, result: "refused" });
  }

  async #finish(): Promise<void> {
    const { refused } = this.#counts;
    if (refused > 0 && !this.#ways.skipRefused) return;
    const done = await this.#client.ask("ca.import_finish", {
      id: this.#id,
      crl_number: this.#plan.crlNumber,
    });
    this.#status = textAt(done, "status");
    // The first list goes out now; what keeps it from that is tried again by itself.
    await this.#client.ask("crl.publish", { id: this.#id }).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      this.#tools.note(`No CRL is signed yet, which is tried again: ${why}`);
    });
  }

  #openReport(): void {
    const { report } = this.#ways;
    if (report === undefined) return;
    try {
      this.#report = openSync(report, "wx", 0o600);
    } catch (error) {
      throw unreadable(report, error);
    }
  }

  #reported(line: object): void {
    if (this.#report !== undefined) writeSync(this.#report, `${JSON.stringify(line)}\n`);
  }
}

/** Returns the serial of a certificate in decimal, of any range; empty if it has none. */
function readNumber(certificate: Uint8Array | undefined): string {
  return (certificate && readSerialNumber(certificate)?.toString(10)) ?? "";
}

/** What was not taken, and why. */
export interface Refusal {
  readonly place: string;
  readonly serial: string;
  readonly reason: string;
}

const counted = ["imported", "present", "revoked", "entered"] as const;
const isCounted = (result: string): result is (typeof counted)[number] =>
  counted.some((one) => one === result);

const faultTexts: ReadonlyMap<string, string> = new Map([
  ["unreadable", "the certificate cannot be read"],
  ["too_large", "the certificate is larger than 64 KiB"],
  ["other_issuer", "the certificate names another issuer"],
  ["signature_algorithm", "the signature algorithm of the certificate is not known"],
  ["signature", "the signature does not verify with the key of the CA"],
  ["other_serial", "the certificate has another serial than its record"],
  ["nothing_offered", "the record has neither certificate nor serial"],
  ["not_revoked", "the record has no certificate, and is not revoked"],
  ["serial_range", "the serial of the certificate is not from 1 to 2^160-1"],
  ["differs", "another certificate has this serial here"],
  ["serial_taken", "the serial was used here for what came to nothing"],
]);
const batchEntries = 200;
const batchOctets = 4_194_304;
const refusalsMax = 1000;
