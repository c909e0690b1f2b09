/**
 * The long fuzz: calls of every operation, damaged DER and protobuf, and raw HTTP against a running
 * server that is watched meanwhile.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { pkiMethods, pkiSchema } from "#api/rpc/messages.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { encodeMessage } from "#core/protobuf/wire.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { rawOverTls } from "#test/support/tls/raw-tls.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

import { Dice, printable } from "./dice.ts";
import { anyCall, type CallShape, callShapes } from "./fuzz-calls.ts";

export interface FuzzPlan {
  readonly calls: number;
  readonly inputs: number;
  readonly raw: number;
  readonly seed: number;
  /** Requests under way at a time. */
  readonly clients: number;
  readonly minutesMax: number;
  readonly progress?: (line: string) => void;
}

export interface FuzzReport {
  /** Requests made, by kind. */
  readonly made: Readonly<Record<string, number>>;
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Milliseconds that /healthz took, seen by another process. */
  readonly healthz: { readonly p50: number; readonly p99: number; readonly longest: number };
  /** Lines of the server's own watch: who held the thread for how long. */
  readonly holds: readonly {
    readonly held_ms: number;
    readonly cpu_ms: number;
    readonly operations: readonly string[];
  }[];
  readonly residentMegabytes: number;
  /**
   * Every 5xx, every answer that is no refusal by name, every hang, and the end of the process.
   * Empty when all went well.
   */
  readonly broken: readonly string[];
}

/** Starts an instance, does what the plan says, and gives the report; nothing stays behind. */
export async function fuzz(plan: FuzzPlan): Promise<FuzzReport> {
  const instance = await Instance.start();
  try {
    const run = new Run(plan, instance, await stock(instance));
    return await run.go();
  } finally {
    await instance.dispose();
  }
}

/** What there is to damage. */
interface Stock {
  readonly chain: Chain;
  readonly secret: string;
  readonly csr: string;
  readonly shapes: readonly CallShape[];
  readonly der: Readonly<Record<"csr" | "certificate" | "crl" | "ocsp", Uint8Array>>;
}

async function stock(instance: Instance): Promise<Stock> {
  const chain = await createChain(instance, "ecdsa-p256");
  const secret = await instance.token(["admin"], { scope: "platform" });
  const csr = await newCsr(instance.home, "fuzz.example.test");
  const pem = readFileSync(chain.intermediate, "utf8");
  const certificate = decodePem(pem, ["CERTIFICATE"]) ?? new Uint8Array();
  const { subject, spki, serial } = parseCertificate(certificate);
  const list = await instance.fetch(`/api/ca/${chain.intermediateId}/crl`);
  const described = await (await instance.fetch("/openapi.json")).json();
  return {
    chain,
    secret,
    csr,
    shapes: callShapes(described),
    der: {
      csr: decodePem(csr, ["CERTIFICATE REQUEST"]) ?? new Uint8Array(),
      certificate,
      crl: new Uint8Array(await list.arrayBuffer()),
      ocsp: encodeOcspRequest({
        issuerName: subject.der,
        issuerSpki: spki,
        serial,
        hash: "sha256",
      }),
    },
  };
}

class Run {
  readonly #plan: FuzzPlan;
  readonly #instance: Instance;
  readonly #stock: Stock;
  readonly #ca: string;
  readonly #deadline: number;
  readonly #made: Record<string, number> = {};
  readonly #statuses = new Map<number, number>();
  readonly #broken: string[] = [];

  constructor(plan: FuzzPlan, instance: Instance, given: Stock) {
    this.#plan = plan;
    this.#instance = instance;
    this.#stock = given;
    this.#ca = instance.servingCa();
    this.#deadline = performance.now() + plan.minutesMax * 60_000;
  }

  async go(): Promise<FuzzReport> {
    const { calls, inputs, raw } = this.#plan;
    const seen = this.#instance.logs.length - 1;
    const poller = pollHealth(this.#instance);
    await this.#phase("API calls", calls, (dice) => this.#call(dice));
    await this.#phase("damaged inputs", inputs, (dice) => this.#input(dice));
    await this.#phase("raw HTTP", raw, (dice) => this.#raw(dice));
    const healthz = await poller.stop();
    await this.#stillWell();
    const lines = this.#instance.logs.slice(seen);
    this.#readLog(lines);
    return {
      made: this.#made,
      statuses: this.#statuses,
      healthz,
      holds: lines
        .filter((line) => line.includes('"event_loop_held"'))
        .map((line) => JSON.parse(line)),
      residentMegabytes: residentMegabytes(this.#instance.pid),
      broken: this.#broken,
    };
  }

  /** So many attacks, some at a time, until all are made or the time is over. */
  async #phase(name: string, count: number, attack: (dice: Dice) => Promise<void>): Promise<void> {
    let next = 0;
    const client = async () => {
      while (next < count && performance.now() < this.#deadline && this.#alive) {
        const number = next++;
        await attack(new Dice(this.#plan.seed + number + 1));
        if (number % 5000 === 4999) this.#plan.progress?.(`${name}: ${number + 1}`);
      }
    };
    await Promise.all(Array.from({ length: this.#plan.clients }, client));
    this.#made[name] = next;
    this.#plan.progress?.(`${name}: ${next} of ${count} made, ${this.#broken.length} findings`);
  }

  get #alive(): boolean {
    return this.#instance.running;
  }

  async #call(dice: Dice): Promise<void> {
    const { shapes, csr, chain } = this.#stock;
    const shape = dice.of(shapes);
    const made = anyCall(shape, dice, { csr, ca: chain.intermediateId });
    const authorization =
      dice.below(20) === 0 ? printable(dice.octets(60)) : `Token ${this.#stock.secret}`;
    const headers: Record<string, string> = { authorization };
    if (made.body !== undefined) headers["content-type"] = "application/json";
    await this.#send(shape.name, made.path, {
      method: shape.method,
      headers,
      body: made.body ?? null,
    });
  }

  /** Damaged octets where octets of that kind are read. */
  async #input(dice: Dice): Promise<void> {
    const { der, chain, secret } = this.#stock;
    const ca = `/api/ca/${chain.intermediateId}`;
    const json = (body: object) => ({
      method: "POST",
      body: JSON.stringify(body),
      headers: { authorization: `Token ${secret}`, "content-type": "application/json" },
    });
    const certificate = () => pem("CERTIFICATE", dice.damaged(der.certificate));
    switch (dice.below(9)) {
      case 0:
        return this.#send(
          "csr.parse",
          "/api/parse-csr",
          json({ csr: pem("CERTIFICATE REQUEST", dice.damaged(der.csr)) }),
        );
      case 1:
        return this.#send(
          "cert.preview",
          `${ca}/certificates:preview`,
          json({ csr: pem("CERTIFICATE REQUEST", dice.damaged(der.csr)) }),
        );
      case 2:
        return this.#send("cert.lint", "/api/lint", json({ certificate: certificate() }));
      case 3:
        return this.#send(
          "cert.validate",
          "/api/validate",
          json({ ca: chain.intermediateId, certificate: certificate() }),
        );
      case 4:
        return this.#send(
          "ca.cross_sign",
          `${ca}/cross-signs`,
          json({ label: "x", certificate_pem: certificate() }),
        );
      case 5:
        return this.#send(
          "crl.import",
          `${ca}/crl:import`,
          json({ crl: dice.damaged(der.crl).toBase64() }),
        );
      case 6:
        return this.#remote(dice);
      default:
        return this.#send("ocsp.post", `${ca}/ocsp`, {
          method: "POST",
          body: dice.damaged(der.ocsp),
          headers: { "content-type": "application/ocsp-request" },
        });
    }
  }

  /** A remote call whose message is damaged, as binary Connect or in a frame of gRPC-Web. */
  async #remote(dice: Dice): Promise<void> {
    const [name, [request]] = dice.of(Object.entries(pkiMethods));
    const known = { ca_id: this.#stock.chain.intermediateId, serial: "1", profile: "server" };
    const fields = new Set(pkiSchema.type(request).fields.map((field) => field.name));
    const given = Object.entries(known).filter(([member]) => fields.has(member));
    const message = encodeMessage(pkiSchema, request, Object.fromEntries(given));
    const octets = dice.damaged(message);
    const framed = dice.below(2) === 0;
    const head = Buffer.alloc(5);
    head.writeUInt32BE(octets.length, 1);
    await this.#send(name, `/pki.v1.PKIService/${name}`, {
      method: "POST",
      body: framed ? Uint8Array.from(Buffer.concat([head, octets])) : octets,
      headers: {
        authorization: `Token ${this.#stock.secret}`,
        "content-type": framed ? "application/grpc-web+proto" : "application/proto",
      },
    });
  }

  /** What no client library would send; an answer, or the end of the connection. */
  async #raw(dice: Dice): Promise<void> {
    const path = printable(dice.octets(300)).replaceAll(/[ #]/g, "");
    const lines = [
      `Host: x\r\n`,
      `Content-Length: ${dice.of(["0", "5", "-1", "1, 1", "99999999999999999999", "0x5", ""])}\r\n`,
      `Transfer-Encoding: ${dice.of(["chunked", "gzip, chunked", "xchunked", ""])}\r\n`,
      `${printable(dice.octets(40))}: ${printable(dice.octets(200))}\r\n`,
      `Authorization: ${printable(dice.octets(100))}\r\n`,
      `Range: bytes=${dice.below(9)}-${dice.below(9)}\r\n`,
    ].filter(() => dice.below(2) === 0);
    const method = dice.of([
      "GET",
      "POST",
      "HEAD",
      "OPTIONS",
      "TRACE",
      "PRI",
      printable(dice.octets(9)),
    ]);
    const whole = `${method} /${path} HTTP/1.${dice.below(3)}\r\n${lines.join("")}Connection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;
    const octets = dice.below(4) === 0 ? dice.damaged(Buffer.from(whole)) : whole;
    const late = Bun.sleep(rawMs).then(() => "");
    const answer = await Promise.race([rawOverTls(this.#instance, octets).catch(() => ""), late]);
    const [, status = "0"] = /^HTTP\/1\.1 (\d{3})/.exec(answer) ?? [];
    this.#count(Number(status));
    if (/^5(?!05)/.test(status))
      this.#broken.push(`raw ${JSON.stringify(whole.slice(0, 200))}: ${status}`);
  }

  async #send(name: string, path: string, init: RequestInit): Promise<void> {
    try {
      const answer = await fetch(`${this.#instance.url}${path}`, {
        ...init,
        redirect: "manual" as const,
        signal: AbortSignal.timeout(hangMs),
        tls: { ca: this.#ca },
      });
      const text = await wholeText(answer);
      this.#count(answer.status);
      if (answer.status >= 500 && !text.includes(`"code":"${refusals.get(answer.status)}"`)) {
        this.#broken.push(
          `${name} ${path}: ${answer.status} ${text.slice(0, 200)} for ${shown(init.body)}`,
        );
      }
    } catch (error) {
      const why = error instanceof Error ? `${error.name} ${error.message}` : String(error);
      // Our own client refuses some addresses and header values; the server never saw those.
      if (/invalid|must be|Invalid/i.test(why)) return;
      this.#broken.push(`${name} ${path}: no answer, ${why} for ${shown(init.body)}`);
    }
  }

  #count(status: number): void {
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
  }

  async #stillWell(): Promise<void> {
    if (!this.#alive) {
      this.#broken.push("the process has ended");
      return;
    }
    const ready = await this.#instance.fetch("/readyz");
    if (ready.status !== 200) this.#broken.push(`readyz: ${await ready.text()}`);
    const verified = await this.#instance.cli("audit", "verify");
    if (verified.code !== 0) this.#broken.push(`audit verify: ${verified.stderr}`);
  }

  #readLog(lines: readonly string[]): void {
    for (const line of lines) {
      if (line.includes('"request_failed"') || line.includes('"crash"'))
        this.#broken.push(line.slice(0, 600));
    }
  }
}

/** Nothing of what never ends. */
async function wholeText(answer: Response): Promise<string> {
  if (answer.headers.get("content-type") !== "text/event-stream") return await answer.text();
  await answer.body?.cancel();
  return "";
}

/** Asks /healthz from another process until it is stopped, which gives the milliseconds it took. */
export function pollHealth(instance: Instance): { stop(): Promise<FuzzReport["healthz"]> } {
  const poller = join(import.meta.dir, "health-poller.ts");
  const ca = join(instance.dataDir, "serving-ca.pem");
  const child = Bun.spawn([process.execPath, poller, instance.url, ca], {
    stdout: "pipe",
    stderr: "inherit",
  });
  return {
    stop: async () => {
      child.kill("SIGTERM");
      const said = (await new Response(child.stdout).text()).trim().split("\n");
      return percentiles(JSON.parse(said.at(-1) ?? "[]"));
    },
  };
}

const pem = (label: string, der: Uint8Array): string =>
  `-----BEGIN ${label}-----\n${der.toBase64()}\n-----END ${label}-----`;

const shown = (body: unknown): string =>
  body instanceof Uint8Array ? body.toHex().slice(0, 400) : String(body).slice(0, 400);

function percentiles(samples: readonly number[]) {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (part: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), longest: at(1) };
}

/** Resident memory of a process. */
export function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

const hangMs = 20_000;
/** A server may wait for the rest of what will never come. */
/**
 * What a server says with a status of its own fault though it works as it should: it is full, or
 * its keys cannot do that.
 */
const refusals: ReadonlyMap<number, string> = new Map([
  [501, "not_supported"],
  [503, "overloaded"],
]);
const rawMs = 1500;
