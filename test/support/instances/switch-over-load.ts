/** Issues, revokes and queries on replicas, and collects contradictory responses. */

import { decodePem } from "#core/asn1/pem.ts";
import { createHash } from "#core/crypto.ts";
import { parseSerial, type Serial } from "#core/ids.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { openCrl } from "#core/x509/crl.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import type { Instance } from "./instance.ts";

export interface LoadedCa {
  readonly id: string;
  /** CA certificate, PEM. */
  readonly certificate: string;
  readonly csr: string;
  /** Secret of an API token with the role issuer. */
  readonly token: string;
}

/** Acknowledged state of one CA on all replicas. */
export class SwitchOverLoad {
  readonly #ca: LoadedCa;
  readonly #issuer: { readonly issuerName: Uint8Array; readonly issuerSpki: Uint8Array };
  readonly #serials = new Map<Serial, "good" | "pending" | "revoked">();
  readonly #issued = new Set<Serial>();
  /** Number of times that acknowledged changes were given up. */
  #losses = 0;
  readonly #lists = new Map<string, string>();
  #isStopped = false;
  #workers: Promise<void>[] = [];
  /** Contradictions found. */
  readonly violations: string[] = [];
  /** Number of OCSP responses with each status. */
  readonly counts = { good: 0, revoked: 0, error: 0, issued: 0, lists: 0 };

  constructor(ca: LoadedCa) {
    this.#ca = ca;
    const der = decodePem(ca.certificate, ["CERTIFICATE"]) ?? new Uint8Array(0);
    const { subject, spki } = parseCertificate(der);
    this.#issuer = { issuerName: subject.der, issuerSpki: spki };
  }

  /** Starts the load on the replicas. */
  start(replicas: readonly Instance[]): void {
    const publish = (replica: Instance) => this.publish(replica);
    const steps = [this.#issueAndRevoke, this.#queryAny, this.#queryAny, publish];
    this.#workers = replicas.flatMap((replica) =>
      steps.map(async (step) => {
        while (!this.#isStopped) await step(replica).catch(() => Bun.sleep(50));
      }),
    );
  }

  /** Ends the load after the requests in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#workers);
  }

  /** Issues a certificate; throws if the replica refuses. */
  async issue(replica: Instance): Promise<Serial> {
    const { serial } = await this.#post<{ serial: string }>(replica, "issue", {
      csr: this.#ca.csr,
    });
    const parsed = parseSerial(serial);
    if (this.#issued.has(parsed)) this.violations.push(`serial ${serial} was issued twice`);
    this.#issued.add(parsed);
    this.#serials.set(parsed, "good");
    this.counts.issued += 1;
    return parsed;
  }

  /** Revokes a certificate; throws if the replica refuses. */
  async revoke(replica: Instance, serial: Serial): Promise<void> {
    this.#serials.set(serial, "pending");
    await this.#post(replica, "revoke", { serial, reason: "superseded" });
    this.#serials.set(serial, "revoked");
  }

  /** Drops every status: an operator is about to accept the loss of acknowledged changes. */
  acceptLoss(): void {
    this.#losses += 1;
    this.#serials.clear();
  }

  /** Returns the OCSP status of a certificate, with a nonce or from caches; checks it. */
  async query(replica: Instance, serial: Serial, hasNonce: boolean): Promise<string> {
    const before = this.#serials.get(serial);
    const losses = this.#losses;
    const nonce = hasNonce ? crypto.getRandomValues(new Uint8Array(16)) : undefined;
    const request = encodeOcspRequest({ ...this.#issuer, serial, hash: "sha256", nonce });
    const path = `/api/ca/${this.#ca.id}/ocsp/${encodeURIComponent(Buffer.from(request).toString("base64"))}`;
    const response = await replica.fetch(path);
    const { basic, status: code } = parseOcspResponse(await response.bytes());
    const status = basic?.answers[0]?.status.status;
    this.counts[status === "good" || status === "revoked" ? status : "error"] += 1;
    if (status === "good" && before === "revoked" && losses === this.#losses) {
      this.violations.push(`OCSP was good for ${serial} after its revocation`);
    }
    return status ?? code;
  }

  readonly #issueAndRevoke = async (replica: Instance): Promise<void> => {
    const serial = await this.issue(replica);
    await this.query(replica, serial, false);
    await this.revoke(replica, serial);
  };

  readonly #queryAny = async (replica: Instance): Promise<void> => {
    const serials = [...this.#serials.keys()].slice(-50);
    const serial = serials[Math.floor(Math.random() * serials.length)];
    if (serial === undefined) await Bun.sleep(10);
    else await this.query(replica, serial, Math.random() < 0.5);
  };

  /** Publishes a new CRL and reads it; throws if the replica refuses. */
  async publish(replica: Instance): Promise<void> {
    await this.#post(replica, "crl:publish", {});
    await this.readCrl(replica);
  }

  /** Reads the CRL of a replica; throws if it serves none. */
  async readCrl(replica: Instance): Promise<number> {
    const response = await replica.fetch(`/api/ca/${this.#ca.id}/crl`);
    if (!response.ok) throw new Error(`no CRL: ${response.status}`);
    const der = await response.bytes();
    const number = Number(openCrl(der).number);
    const sha256 = createHash("sha256").update(der).digest("hex");
    const earlier = this.#lists.get(String(number));
    if (earlier !== undefined && earlier !== sha256) {
      this.violations.push(`CRL number ${number} was used twice`);
    }
    this.#lists.set(String(number), sha256);
    this.counts.lists += 1;
    return number;
  }

  async #post<T>(replica: Instance, verb: string, body: object): Promise<T> {
    const response = await replica.fetch(`/api/ca/${this.#ca.id}/${verb}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: {
        authorization: `Token ${this.#ca.token}`,
        "content-type": "application/json",
      },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${verb}: ${response.status} ${text}`);
    return JSON.parse(text);
  }
}
