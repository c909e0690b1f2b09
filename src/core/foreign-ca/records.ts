/**
 * The records of programs that keep certificates in a database, one at a time, by the names their
 * columns or members have: step-ca, cfssl, Vault and OpenBao, EJBCA.
 */

import { decodePem } from "#core/asn1/pem.ts";
import { type Serial, toListedSerial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { type Instant, instant, parseTimestamp } from "#core/time.ts";
import { parseReason } from "#core/x509/reasons.ts";

import {
  type ForeignRecord,
  type ForeignRevocation,
  describeOutOfRange,
  type OutOfRange,
  reasonOfCode,
} from "./entry.ts";

/** A record by its names; nothing is known of the values. */
export type Row = Readonly<Record<string, unknown>>;

/** How each program's records are read. */
export const recordReaders = {
  "step-ca": stepCaRecord,
  cfssl: cfsslRecord,
  vault: vaultRecord,
  ejbca: ejbcaRecord,
} as const satisfies Record<string, (row: Row) => ForeignRecord>;

/** The programs. */
export type RecordSource = keyof typeof recordReaders;

/**
 * One key of step-ca's store: `bucket` names the table, `key` is the serial, `value` in base64 the
 * certificate (`x509_certs`) or a JSON document (`revoked_x509_certs`). Other buckets say nothing.
 */
function stepCaRecord(row: Row): ForeignRecord {
  const { bucket, key, value } = row;
  if (bucket !== "x509_certs" && bucket !== "revoked_x509_certs") return undefined;
  const found = readSerialNumber(key);
  if (found === undefined) return { fault: "has a key that is no serial in decimal digits" };
  if ("fault" in found) return found;
  const { serial } = found;
  const octets = base64(value);
  if (octets === undefined) return { fault: "has a value that is not base64" };
  if (bucket === "x509_certs") return { certificate: octets, serial, revoked: undefined };
  const said = jsonObject(new TextDecoder().decode(octets));
  const at = timeOf(said?.RevokedAt);
  if (said === undefined || at === undefined) return { fault: "says not when it was revoked" };
  const code = typeof said.ReasonCode === "number" ? said.ReasonCode : 0;
  return { certificate: undefined, serial, revoked: { at, reason: reasonOfCode(code) } };
}

/** A row of the table `certificates` of cfssl's certdb. */
function cfsslRecord(row: Row): ForeignRecord {
  const { pem, status, serial_number: named } = row;
  const found = readSerialNumber(named);
  if (found === undefined) return { fault: "has no serial_number in decimal digits" };
  if ("fault" in found) return found;
  const { serial } = found;
  if (status !== "good" && status !== "revoked") {
    return { fault: "has a status that is neither good nor revoked" };
  }
  // What is revoked stays so, also where its certificate is damaged.
  const certificate = typeof pem === "string" ? pemOf(pem) : undefined;
  if (status === "good") {
    if (certificate === undefined) return { fault: "has a pem that is not one certificate" };
    return { certificate, serial, revoked: undefined };
  }
  const at = timeOf(row.revoked_at);
  if (at === undefined) return { fault: "says not when it was revoked" };
  return { certificate, serial, revoked: { at, reason: reasonOfCode(wholeOf(row.reason) ?? 0) } };
}

/** An answer of `pki/cert/<serial>`, as the API and `vault read -format=json` give it. */
function vaultRecord(row: Row): ForeignRecord {
  const { data: answer = row } = row;
  if (typeof answer !== "object" || answer === null) return { fault: "has no data" };
  const { certificate: text, revocation_time: seconds = 0 } = answer as Row; // An object.
  const certificate = typeof text === "string" ? pemOf(text) : undefined;
  if (certificate === undefined) return { fault: "has no certificate in PEM" };
  const at = wholeOf(seconds);
  if (at === undefined || at < 0) return { fault: "has a revocation_time that is no time" };
  // It keeps no reasons.
  const revoked = at === 0 ? undefined : { at: instant(at * 1000), reason: "unspecified" as const };
  return { certificate, serial: undefined, revoked };
}

/**
 * A row of EJBCA's table CertificateData: `serialnumber` in decimal digits, `base64cert`,
 * `revocationdate` in milliseconds, `revocationreason` by number or name, -1 for none.
 */
function ejbcaRecord(given: Row): ForeignRecord {
  const row = lowerNames(given);
  const { base64cert: text, serialnumber: named } = row;
  const found = readSerialNumber(named);
  if (found === undefined) return { fault: "has no serialNumber in decimal digits" };
  if ("fault" in found) return found;
  const { serial } = found;
  const certificate = typeof text === "string" && text !== "" ? certificateOf(text) : undefined;
  const revoked = ejbcaRevocation(row);
  if (revoked !== undefined && "fault" in revoked) return revoked;
  if (certificate === undefined && revoked === undefined) {
    return { fault: "has a base64Cert that is not one certificate" };
  }
  return { certificate, serial, revoked };
}

function ejbcaRevocation(row: Row): ForeignRevocation | { readonly fault: string } | undefined {
  const { revocationreason: reason = "-1", status } = row;
  const isRevoked = wholeOf(status) === revokedStatus;
  const code = wholeOf(reason);
  const named = code === undefined ? reasonNamed(reason) : reasonOfCode(code);
  const none = code !== undefined && notRevoked.has(code);
  if (none && !isRevoked) return undefined;
  if (named === undefined) return { fault: "has a revocationReason nobody knows" };
  const at = timeOf(row.revocationdate);
  if (at === undefined || at <= 0) return { fault: "says not when it was revoked" };
  return { at, reason: named };
}

function reasonNamed(reason: unknown) {
  try {
    return typeof reason === "string" ? parseReason(reason) : undefined;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

const lowerNames = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value]));

/**
 * Reads decimal digits, as text or as the number that some exports contain for few digits. Returns
 * an error for a number that pkid cannot store.
 */
function readSerialNumber(given: unknown): { readonly serial: Serial } | OutOfRange | undefined {
  const small = typeof given === "number" && Number.isSafeInteger(given);
  const text = small ? String(given) : given;
  if (typeof text !== "string" || !/^-?[0-9]{1,200}$/.test(text)) return undefined;
  const number = BigInt(text);
  const serial = toListedSerial(number);
  if (serial !== undefined) return { serial };
  return describeOutOfRange(number);
}

function wholeOf(given: unknown): number | undefined {
  const number = typeof given === "string" && /^-?\d{1,16}$/.test(given) ? Number(given) : given;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined;
}

/** Epoch milliseconds, or RFC 3339, also with the blank and short offset that databases write. */
function timeOf(given: unknown): Instant | undefined {
  const milliseconds = wholeOf(given);
  if (milliseconds !== undefined) {
    return Math.abs(milliseconds) <= lastMillisecond ? instant(milliseconds) : undefined;
  }
  if (typeof given !== "string" || given.length > 40) return undefined;
  const text = given.trim().replace(/^(\d{4}-\d{2}-\d{2}) (?=\d)/, "$1T");
  const zoned = /(Z|[+-]\d{2}(:?\d{2})?)$/.test(text) ? text : `${text}Z`;
  const whole = zoned
    .replace(/([+-]\d{2})$/, "$1:00")
    .replace(/([+-]\d{2})(\d{2})$/, "$1:$2")
    .replace(/(\.\d{9})\d+/, "$1");
  return parseTimestamp(whole);
}

const pemOf = (text: string): Uint8Array | undefined =>
  decodePem(text.trim().replaceAll("\\n", "\n"), ["CERTIFICATE"]);

const certificateOf = (text: string): Uint8Array | undefined =>
  text.includes("-----") ? pemOf(text) : base64(text);

function base64(given: unknown): Uint8Array | undefined {
  if (typeof given !== "string") return undefined;
  try {
    return Uint8Array.fromBase64(given);
  } catch {
    return undefined; // The caller says what it should have been.
  }
}

function jsonObject(text: string): Row | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return value as Row; // An object; its members are looked at one by one.
  } catch {
    return undefined; // The caller says what it should have been.
  }
}

/** CERT_REVOKED of EJBCA's CertificateConstants. */
const revokedStatus = 40;
/** Not revoked, and taken off a CRL again. */
const notRevoked: ReadonlySet<number> = new Set([-1, 8]);
/** The year 9999. */
const lastMillisecond = 253_402_300_799_999;
