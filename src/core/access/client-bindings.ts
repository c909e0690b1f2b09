/**
 * Which principal a client certificate stands for, by the names in it (interface "Mutual-TLS
 * binding").
 */

import { oids } from "#core/asn1/oids.ts";
import { extensionOf, type ParsedCertificate } from "#core/x509/certificate.ts";
import { parseGeneralNames } from "#core/x509/general-names.ts";
import { type NameKey, nameKey } from "#core/x509/name-text.ts";
import type { Role } from "./roles.ts";

/** What a certificate must be called; at least one is given, and all that are given must be met. */
export interface Selectors {
  readonly subjectCn?: string;
  readonly subjectDn?: NameKey;
  /** In canonical form, so that case is none. */
  readonly sanDns?: string;
  readonly sanUri?: string;
  readonly sanEmail?: string;
}

/** Whoever comes with a certificate of these names is this principal. */
export interface Binding {
  /** For people: the operator's word for the entry. */
  readonly name: string | undefined;
  readonly selectors: Selectors;
  readonly subject: string;
  readonly roles: readonly Role[];
  /** By id or slug of the tenant. */
  readonly tenantRoles: Readonly<Record<string, readonly Role[]>>;
}

/** The names of a certificate that selectors look at. */
export interface ClientNames {
  readonly commonNames: readonly string[];
  readonly subject: NameKey;
  readonly dns: readonly string[];
  readonly uris: readonly string[];
  readonly emails: readonly string[];
}

/** The names in a certificate; throws DerError where they cannot be read. */
export function clientNames(certificate: ParsedCertificate): ClientNames {
  const extension = extensionOf(certificate, oids.subjectAltName);
  const { names } = extension ? parseGeneralNames(extension.value) : { names: [] };
  const of = (wanted: "dns" | "uri" | "email") =>
    names.filter(({ kind }) => kind === wanted).map(({ value }) => value);
  return {
    commonNames: certificate.subject.attributes
      .filter(({ type }) => type === "CN")
      .map(({ value }) => value),
    subject: nameKey(certificate.subject),
    dns: of("dns"),
    uris: of("uri"),
    emails: of("email").map(canonicalMailbox),
  };
}

/** The first binding whose selectors are all met; undefined when there is none. */
export const bindingFor = (names: ClientNames, bindings: readonly Binding[]): Binding | undefined =>
  bindings.find(({ selectors }) => meets(names, selectors));

/**
 * The first binding that names one of several common names. It is met by none of them: software
 * that reads the first and software that reads the last see different people, and whoever asks its
 * issuer for a certificate may add one.
 */
export function ambiguousFor(
  { commonNames }: ClientNames,
  bindings: readonly Binding[],
): Binding | undefined {
  if (commonNames.length < 2) return undefined;
  return bindings.find(
    ({ selectors: { subjectCn } }) => subjectCn !== undefined && commonNames.includes(subjectCn),
  );
}

/** True when at least one selector is given: a binding of everybody is none. */
export const selects = (selectors: Selectors): boolean =>
  Object.values(selectors).some((given) => given !== undefined);

/**
 * RFC 5280 §7.5: the host of a mailbox is compared without case, what stands before it as it is.
 */
export function canonicalMailbox(mailbox: string): string {
  const at = mailbox.lastIndexOf("@") + 1;
  return mailbox.slice(0, at) + mailbox.slice(at).toLowerCase();
}

function meets(names: ClientNames, selectors: Selectors): boolean {
  const { subjectCn, subjectDn, sanDns, sanUri, sanEmail } = selectors;
  return (
    selects(selectors) &&
    (subjectCn === undefined || isOnly(names.commonNames, subjectCn)) &&
    (subjectDn === undefined || names.subject === subjectDn) &&
    (sanDns === undefined || names.dns.includes(sanDns)) &&
    (sanUri === undefined || names.uris.includes(sanUri)) &&
    (sanEmail === undefined || names.emails.includes(sanEmail))
  );
}

const isOnly = (values: readonly string[], wanted: string): boolean =>
  values.length === 1 && values[0] === wanted;
