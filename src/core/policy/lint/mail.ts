/** Lint rules for certificates that protect mail. */

import { oids } from "#core/asn1/oids.ts";
import { attributeTypes } from "#core/x509/attribute-types.ts";
import { parseGeneralNames } from "#core/x509/general-names.ts";

import type { Linted } from "./linted.ts";
import type { LintRule } from "./rule.ts";

// biome-ignore format: the table is read by column.
export const mailRules: readonly LintRule[] = [
  { id: "mail_san",           severity: "error", fixed: false, scope: "mail", clause: "RFC 8398 3, RFC 9598", check: mailSan },
  { id: "mail_subject_match", severity: "error", fixed: false, scope: "mail", clause: "RFC 8398 3, RFC 9598", check: subjectMatch },
];

function mailSan({ names, extension }: Linted) {
  if (names.some(({ kind }) => kind === "email")) return undefined;
  const san = extension(oids.subjectAltName);
  const others = san === undefined ? [] : parseGeneralNames(san.value).unsupported;
  return others.some((text) => text.includes(smtpUtf8Mailbox))
    ? undefined
    : "there is no mailbox among the names";
}

function subjectMatch({ subject, names }: Linted) {
  const listed = new Set(names.filter(({ kind }) => kind === "email").map(({ value }) => value));
  const stray = subject.find(
    ({ oid, text }) => oid === attributeTypes.emailAddress[0] && !listed.has(text),
  );
  return stray === undefined ? undefined : "the subject's mailbox is none of the names";
}

/** RFC 9598 §3. */
const smtpUtf8Mailbox = "1.3.6.1.5.5.7.8.9";
