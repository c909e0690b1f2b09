/** Lint rules for subject and subject alternative names. */

import { oids } from "#core/asn1/oids.ts";
import { tags } from "#core/asn1/tags.ts";
import { endsInNumber, isALabel } from "#core/x509/addresses.ts";
import { hasControls } from "#core/x509/names.ts";
import { parseUri } from "#core/x509/uris.ts";
import { hostIn } from "#core/policy/host-names.ts";

import type { EncodedAttribute, Linted } from "./linted.ts";
import type { LintRule } from "./rule.ts";

// biome-ignore format: the table is read by column.
export const nameRules: readonly LintRule[] = [
  { id: "san_empty_subject_critical", severity: "error", fixed: true,  scope: "all", clause: "RFC 5280 4.1.2.6, 4.2.1.6",     check: sanCriticality },
  { id: "san_ip_length",              severity: "error", fixed: true,  scope: "all", clause: "RFC 5280 4.2.1.6",              check: ipLength },
  { id: "san_dns_syntax",             severity: "error", fixed: false, scope: "all", clause: "RFC 5280 4.2.1.6, RFC 1123",    check: dnsSyntax },
  { id: "san_dns_idn",                severity: "error", fixed: false, scope: "all", clause: "RFC 5890, RFC 9549",            check: dnsIdn },
  { id: "san_uri_syntax",             severity: "error", fixed: false, scope: "all", clause: "RFC 3986",                      check: uriSyntax },
  { id: "san_email_syntax",           severity: "error", fixed: false, scope: "all", clause: "RFC 5321, RFC 9598",            check: emailSyntax },
  { id: "san_duplicate",              severity: "warn",  fixed: false, scope: "all", clause: "hygiene",                       check: duplicates },
  { id: "subject_encoding",           severity: "error", fixed: false, scope: "all", clause: "RFC 5280 4.1.2.4, A.1",         check: encoding },
  { id: "subject_length",             severity: "error", fixed: false, scope: "all", clause: "RFC 5280 A.1",                  check: lengths },
  { id: "subject_control",            severity: "error", fixed: true,  scope: "all", clause: "X.520",                         check: control },
  { id: "subject_single_cn",          severity: "error", fixed: true,  scope: "all", clause: "RFC 6125 1.8",                  check: singleCommonName },
  { id: "cn_is_name",                 severity: "error", fixed: false, scope: "server", clause: "RFC 6125",                   check: commonNameIsName },
  { id: "subject_whitespace",         severity: "warn",  fixed: false, scope: "all", clause: "BR 7.1.2.7.4", inPublic: "error", check: whitespace },
  { id: "subject_placeholder",        severity: "warn",  fixed: false, scope: "all", clause: "BR 7.1.2.7.4", inPublic: "error", check: placeholder },
];

function sanCriticality({ subject, extension, isCa }: Linted) {
  const san = extension(oids.subjectAltName);
  if (subject.length > 0) {
    return san?.critical ? "the SAN is critical beside a subject" : undefined;
  }
  if (isCa) return "a CA has an empty subject";
  return san?.critical ? undefined : "the subject is empty and there is no critical SAN";
}

// Other lengths are not strict DER of a GeneralName and do not survive parsing; their text would be
// no address.
function ipLength({ names }: Linted) {
  const wrong = names.find(({ kind, value }) => kind === "ip" && !/^[0-9a-fA-F.:]+$/.test(value));
  return wrong === undefined ? undefined : "an address has neither 4 nor 16 octets";
}

function dnsSyntax(certificate: Linted) {
  for (const { kind, value } of certificate.names) {
    if (kind !== "dns") continue;
    const name = value.startsWith("*.") ? value.slice(2) : value;
    if (name.endsWith(".")) return `${value}: trailing dot`;
    if (endsInNumber(name)) return `${value}: a number, which is an address to some`;
    if (value.length > 253) return `${value.slice(0, 64)}…: longer than 253 octets`;
    const label = certificate.public ? strictLabel : looseLabel;
    if (!name.split(".").every((part) => label.test(part))) {
      return `${value}: not letters, digits and hyphens in labels of 1 to 63`;
    }
  }
  return undefined;
}

/** An A-label is one only when it decodes to the U-label it comes from. */
function dnsIdn({ names }: Linted) {
  for (const { kind, value } of names) {
    if (kind !== "dns") continue;
    const foreign = value.split(".").filter((label) => /^xn--/i.test(label));
    const wrong = foreign.find((label) => !isALabel(label));
    if (wrong !== undefined) return `${value}: ${wrong} does not decode`;
  }
  return undefined;
}

function uriSyntax({ names }: Linted) {
  const wrong = names.find(({ kind, value }) => kind === "uri" && parseUri(value) === undefined);
  return wrong === undefined ? undefined : `${wrong.value}: not an absolute URI`;
}

function emailSyntax({ names }: Linted) {
  const wrong = names.find(({ kind, value }) => kind === "email" && !isMailbox(value));
  return wrong === undefined ? undefined : `${wrong.value}: not a mailbox`;
}

function isMailbox(value: string): boolean {
  const at = value.lastIndexOf("@");
  if (at < 1 || at > 64 || value.length > 254) return false;
  if (
    !/^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/.test(
      value.slice(0, at),
    )
  ) {
    return false;
  }
  const host = value.slice(at + 1);
  return !endsInNumber(host) && host.split(".").every((part) => strictLabel.test(part));
}

function duplicates({ names }: Linted) {
  const seen = new Set(names.map(({ kind, value }) => `${kind}:${value}`));
  return seen.size === names.length ? undefined : "a name occurs twice";
}

function encoding({ subject }: Linted) {
  for (const { oid, tag, text } of subject) {
    const wanted = stringTypes.get(oid) ?? directoryString;
    if (!wanted.includes(tag)) return `attribute ${oid} has the wrong string type`;
    if (oid === country && !/^[A-Z]{2}$/.test(text)) return "the country is not two letters";
    if (tag === tags.printableString && !/^[A-Za-z0-9 '()+,./:=?-]*$/.test(text)) {
      return `attribute ${oid} has characters its string type does not`;
    }
  }
  return undefined;
}

function lengths({ subject }: Linted) {
  for (const { oid, text } of subject) {
    const most = upperBounds.get(oid);
    if (text === "") return `attribute ${oid} is empty`;
    // Characters, not UTF-16 units.
    if (most !== undefined && [...text].length > most) {
      return `attribute ${oid} is longer than ${most} characters`;
    }
  }
  return undefined;
}

function control({ subject }: Linted) {
  const found = subject.find(({ text }) => hasControls(text));
  return found === undefined ? undefined : `attribute ${found.oid} has control characters`;
}

/** Whoever reads one of several may read another than we judge. */
function singleCommonName({ subject }: Linted) {
  return subject.filter(({ oid }) => oid === commonName).length > 1
    ? "the subject has more than one common name"
    : undefined;
}

/**
 * What names, constraints and CAA decide is decided for the SANs; old software believes the common
 * name.
 */
function commonNameIsName({ subject, names }: Linted) {
  for (const { oid, text } of subject) {
    const host = oid === commonName ? hostIn(text) : undefined;
    if (host === undefined) continue;
    const listed = names.some(({ kind, value }) => kind === host.kind && value === host.text);
    if (!listed) return "the common name reads as a host, and is none of the names";
  }
  return undefined;
}

function whitespace({ subject }: Linted) {
  return subject.some(untidy) ? "a value has outer blanks or control characters" : undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const untidy = ({ text }: EncodedAttribute) => /^\s|\s$|[\x00-\x1f\x7f-\x9f]/.test(text);

/** Values that only fill a field. */
function placeholder({ subject }: Linted) {
  return subject.some(({ text }) => /^(?:[\s.-]+|n\/a)$/i.test(text))
    ? "a value is only a placeholder"
    : undefined;
}

const commonName = "2.5.4.3";
const country = "2.5.4.6";
const directoryString: readonly number[] = [tags.utf8String, tags.printableString];

const stringTypes: ReadonlyMap<string, readonly number[]> = new Map([
  [country, [tags.printableString]],
  ["2.5.4.5", [tags.printableString]], // serialNumber
  ["0.9.2342.19200300.100.1.25", [tags.ia5String]], // DC
  ["1.2.840.113549.1.9.1", [tags.ia5String]], // emailAddress
]);

/** RFC 5280 appendix A.1. */
const upperBounds: ReadonlyMap<string, number> = new Map([
  ["2.5.4.3", 64],
  ["2.5.4.10", 64],
  ["2.5.4.11", 64],
  ["2.5.4.6", 2], // CN, O, OU, C
  ["2.5.4.7", 128],
  ["2.5.4.8", 128],
  ["2.5.4.5", 64],
  ["2.5.4.12", 64], // L, ST, serialNumber, title
  ["1.2.840.113549.1.9.1", 255],
  ["2.5.4.17", 40], // emailAddress, postalCode
]);

const strictLabel = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const looseLabel = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/;
