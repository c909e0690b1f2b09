/** A whole combined ledger document, made and sealed here so that a test can damage any part. */

import { ledgerHash, type LedgerEntry } from "#core/audit/ledger.ts";
import { exportMessage } from "#core/audit/ledger-export.ts";
import { sha256Hex } from "#core/crypto.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { instant } from "#core/time.ts";
import { parseSerial } from "#core/ids.ts";
import {
  altSignatureAlgorithm,
  altSignatureValue,
  preTbsCertificate,
  subjectAltPublicKeyInfo,
} from "#core/x509/alternative.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import { assembleSigned, encodeTbsCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { encodeTbsCertList } from "#core/x509/crl.ts";
import { crlNumber, subjectKeyId, subjectKeyIdentifier } from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import { encodeRequestInfo } from "#core/x509/request-info.ts";

import { makeKey, rootFields, signWith, type TestKey } from "#test/support/encodings/x509.ts";

/** Members of an entry as they stand in a document. */
export type EntryJson = Record<string, unknown>;
export type OperationJson = Record<string, unknown>;

/** What a document says before it is sealed. */
export interface LedgerParts {
  entries: EntryJson[];
  operations: OperationJson[];
  openIntents: string[];
  counts: Record<string, Record<string, unknown>>;
  firstNumber: number;
}

export const ledgerId = "0b4e7a3c-0000-4000-8000-000000000001";
export const at = "2027-03-01T10:15:00.123456Z";

/** The keys and parts of a ledger: genesis, keys, signatures of every kind, a count. */
export class LedgerWorld {
  readonly ledgerKey = makeKey("ed25519");
  readonly ca = makeKey("ecdsa-p256");
  readonly pq = makeKey("ml-dsa-65");
  readonly #entries: EntryJson[] = [];
  readonly #operations: OperationJson[] = [];
  #operationsMade = 0;

  constructor() {
    this.#entries.push({ kind: "genesis", signer_fingerprint: fingerprint(this.ledgerKey.spki) });
    this.#announce("ca-key", this.ca, "ca");
    this.#announce("pq-key", this.pq, "ca");
    this.#announce("ocsp-key", this.ledgerKey, "responder");
    this.#signRoot();
    this.#signHybrid();
    this.#signList(7);
    this.#signSelfTest();
    this.#count(3, 3);
    this.#count(4, 7);
  }

  /** Pinned fingerprint, lower hex. */
  get pinned(): string {
    return sha256Hex(this.ledgerKey.spki);
  }

  /** A copy of everything, free to be damaged. */
  parts(): LedgerParts {
    const ca = { role: "ca", sign: 4, decrypt: 0, error: 0, unknown: 0 };
    return {
      entries: structuredClone(this.#entries),
      operations: structuredClone(this.#operations),
      openIntents: [],
      firstNumber: 1,
      counts: {
        [fingerprint(this.ca.spki)]: ca,
        [fingerprint(this.pq.spki)]: { role: "ca", sign: 1, decrypt: 0, error: 0, unknown: 0 },
        [fingerprint(this.ledgerKey.spki)]: {
          role: "responder",
          sign: 7,
          decrypt: 0,
          error: 0,
          unknown: 0,
        },
      },
    };
  }

  /** Numbers, links and signs the parts as the ledger key would; `signer` may be another key. */
  sealed(parts: LedgerParts, signer: TestKey = this.ledgerKey): Record<string, unknown> {
    const first = parts.firstNumber;
    const firstPrevHash = first === 1 ? "0".repeat(64) : "ab".repeat(32);
    let previous = firstPrevHash;
    const entries = parts.entries.map((entry, index) => {
      const numbered = { ...entry, number: first + index, timestamp: at, prev_hash: previous };
      previous = ledgerHash(entryOf(numbered));
      return { ...numbered, hash: previous };
    });
    const range = {
      ledgerId,
      provider: "software",
      deviceSerial: "software:1",
      firstNumber: first,
      lastNumber: first + entries.length - 1,
      firstPrevHash,
      lastHash: previous,
      exportedAt: at,
    };
    const operationsSha256 = sha256Hex(Buffer.from(JSON.stringify(parts.operations)));
    const message = exportMessage({ ...range, operationsSha256 });
    return {
      format: "pkid-ledger-1",
      ledger_id: ledgerId,
      provider: range.provider,
      device_serial: range.deviceSerial,
      first_number: range.firstNumber,
      last_number: range.lastNumber,
      first_prev_hash: firstPrevHash,
      last_hash: previous,
      hsm_entries: entries,
      sign_operations: parts.operations,
      key_attestations: { "ca-key": "" },
      open_intents: parts.openIntents,
      counts: parts.counts,
      exported_at: at,
      signature_algorithm: "ed25519",
      signature: signWith(signer, "ed25519", message).toBase64(),
      attestation_cert_pem: encodePem("CERTIFICATE", attestation(signer)),
      device_cert_pem: "",
    };
  }

  #announce(label: string, key: TestKey, role: string): void {
    const named = { key_label: label, signer_fingerprint: fingerprint(key.spki), role };
    this.#entries.push({ kind: "key", operation: "generate", provider: "software", ...named });
  }

  #signRoot(): void {
    const fields = rootFields(this.ca, "ecdsa-sha256");
    const tbs = encodeTbsCertificate(fields);
    const signature = signWith(this.ca, "ecdsa-sha256", tbs);
    const der = assembleSigned(tbs, "ecdsa-sha256", signature);
    const told = { purpose: "ca_certificate", ...certificateFacts(der) };
    this.#signed(this.ca, { label: "ca-key", algorithm: "ecdsa-sha256" }, tbs, signature, told);
  }

  #signHybrid(): void {
    const plain = rootFields(this.ca, "ecdsa-sha256");
    const serial = parseSerial("4711");
    const alternative = [subjectAltPublicKeyInfo(this.pq.spki), altSignatureAlgorithm("ml-dsa-65")];
    const extensions = plain.extensions.concat(alternative);
    const covered = preTbsCertificate(encodeTbsCertificate({ ...plain, serial, extensions }));
    const alt = signWith(this.pq, "ml-dsa-65", covered);
    const whole = extensions.concat(altSignatureValue(alt));
    const tbs = encodeTbsCertificate({ ...plain, serial, extensions: whole });
    const signature = signWith(this.ca, "ecdsa-sha256", tbs);
    const der = assembleSigned(tbs, "ecdsa-sha256", signature);
    const told = { purpose: "ca_certificate", ...certificateFacts(der) };
    this.#signed(this.pq, { label: "pq-key", algorithm: "ml-dsa-65" }, covered, alt, told);
    this.#signed(this.ca, { label: "ca-key", algorithm: "ecdsa-sha256" }, tbs, signature, told);
  }

  #signList(number: number): void {
    const [thisUpdate, nextUpdate] = [instant(Date.UTC(2027, 0, 1)), instant(Date.UTC(2027, 0, 8))];
    const { issuer } = rootFields(this.ca, "ecdsa-sha256");
    const extensions = [crlNumber(number)];
    const algorithm = "ecdsa-sha256" as const;
    const dates = { thisUpdate, nextUpdate };
    const tbs = encodeTbsCertList({
      signature: algorithm,
      issuer,
      entries: [],
      extensions,
      ...dates,
    });
    const signature = signWith(this.ca, algorithm, tbs);
    const der = assembleSigned(tbs, algorithm, signature);
    const scope = { crl_scope: "full", crl_number: number, artifact_der: der.toBase64() };
    const told = { purpose: "crl", cert_format: "crl", artifact: `full#${number}`, ...scope };
    this.#signed(this.ca, { label: "ca-key", algorithm }, tbs, signature, told);
  }

  #signSelfTest(): void {
    const { subject } = rootFields(this.ca, "ecdsa-sha256");
    const extensions = [subjectKeyIdentifier(subjectKeyId(this.ca.spki, "rfc7093"))];
    const message = encodeRequestInfo({ subject, spki: this.ca.spki, extensions });
    const signature = signWith(this.ca, "ecdsa-sha256", message);
    const artifact = assembleSigned(message, "ecdsa-sha256", signature).toBase64();
    const told = { purpose: "self_test", cert_format: "self_test", artifact };
    const key = { label: "ca-key", algorithm: "ecdsa-sha256" } as const;
    this.#signed(this.ca, key, message, signature, { ...told, artifact_der: artifact });
  }

  #signed(
    key: TestKey,
    named: { readonly label: string; readonly algorithm: SignatureName },
    message: Uint8Array,
    signature: Uint8Array,
    told: Readonly<Record<string, unknown>>,
  ): void {
    this.#operationsMade += 1;
    const opId = `0b4e7a3c-0000-4000-8000-${String(this.#operationsMade).padStart(12, "0")}`;
    const { artifact, purpose, ...body } = told;
    const facts = { key_label: named.label, signer_fingerprint: fingerprint(key.spki), purpose };
    const digest = sha256Hex(message);
    const signed = { digest, signature_sha256: sha256Hex(signature) };
    const entry = {
      op_id: opId,
      provider: "software",
      role: "ca",
      operation: "sign",
      algorithm: named.algorithm,
      digest,
      ca_id: "ca-1",
      artifact,
      ...facts,
    };
    const outcome = { result: "success", signature_sha256: signed.signature_sha256 };
    this.#entries.push({ kind: "intent", ...entry });
    this.#entries.push({ kind: "outcome", ...entry, ...outcome, sign_audit_id: opId });
    const operation = { id: opId, timestamp: at, user_sub: "local:admin", ca_id: "ca-1" };
    this.#operations.push({ ...operation, ca_label: "root", ...facts, ...signed, ...body });
  }

  #count(count: number, total: number): void {
    const signer = { key_label: "ocsp-key", signer_fingerprint: fingerprint(this.ledgerKey.spki) };
    const facts = { role: "responder", operation: "sign", count, total };
    this.#entries.push({ kind: "count", provider: "software", ...signer, ...facts });
  }
}

/** UTF-8 of the JSON of a document. */
export const documentOctets = (document: unknown): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(document));

function certificateFacts(der: Uint8Array): Readonly<Record<string, unknown>> {
  const { serial } = parseCertificate(der);
  const certificate = encodePem("CERTIFICATE", der);
  return { cert_format: "x509", artifact: serial, serial, certificate };
}

function attestation(key: TestKey): Uint8Array {
  const name = encodeName([{ type: "CN", value: `pkid ledger ${ledgerId}` }]).der;
  const fields = { ...rootFields(key, "ed25519"), issuer: name, subject: name };
  const tbs = encodeTbsCertificate(fields);
  return assembleSigned(tbs, "ed25519", signWith(key, "ed25519", tbs));
}

function entryOf(json: EntryJson): Omit<LedgerEntry, "hash"> {
  const text = (name: string) => (json[name] === undefined ? "" : String(json[name]));
  return {
    number: Number(json.number),
    timestamp: text("timestamp"),
    // The tests write words of the ledger, or wrong ones on purpose.
    kind: text("kind") as LedgerEntry["kind"],
    opId: text("op_id"),
    provider: text("provider"),
    deviceSerial: text("device_serial"),
    keyLabel: text("key_label"),
    signerFingerprint: text("signer_fingerprint"),
    role: text("role") as LedgerEntry["role"],
    operation: text("operation") as LedgerEntry["operation"],
    algorithm: text("algorithm"),
    digest: text("digest"),
    purpose: text("purpose") as LedgerEntry["purpose"],
    caId: text("ca_id"),
    artifact: text("artifact"),
    result: text("result") as LedgerEntry["result"],
    signatureSha256: text("signature_sha256"),
    error: text("error"),
    count: text("count"),
    total: text("total"),
    prevHash: text("prev_hash"),
  };
}
