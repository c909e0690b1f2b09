/**
 * Settings of client certificates: which CAs are believed, and which principal a certificate stands
 * for.
 */

import {
  existingFile,
  field,
  flag,
  items,
  list,
  listKind,
  map,
  reloadable,
  text,
} from "#config/fields.ts";
import { section } from "#config/section.ts";
import type { Kind } from "#core/shape.ts";
import { checkedText, textual } from "#core/shape/texts.ts";
import { canonicalDnsName } from "#core/x509/addresses.ts";
import { parseNameText } from "#core/x509/name-text.ts";

/** A selector may be empty, which is as good as none. */
const emptied = (kind: Kind<string>): Kind<string> => ({
  ...kind,
  schema: { type: "string" },
  read: (raw, at) => (raw === "" ? raw : kind.read(raw, at)),
});

const dn = checkedText("distinguished name", "CN=robot,O=Example,C=DE", (value) =>
  parseNameText(value) === undefined
    ? "Must be a distinguished name by RFC 4514, like CN=robot,O=Example,C=DE."
    : undefined,
);

const dns = checkedText("DNS name", "robot.example.com", (value) =>
  canonicalDnsName(value) === undefined ? "Must be a DNS name." : undefined,
);

const role = textual("role", "auditor");

/** One row of `bindings`. */
const binding = {
  name: text("Name of the entry, for people; events show it."),
  subject_cn: field(
    "Common name, letter by letter; a certificate with several meets none.",
    emptied(textual("string", "robot")),
  ),
  subject_dn: field(
    "The whole subject (RFC 4514), the most specific attribute first; types and structure are compared, and values letter by letter.",
    emptied(dn),
  ),
  san_dns: field("One of the DNS names, without case.", emptied(dns)),
  san_uri: field(
    "One of the URIs, letter by letter.",
    emptied(textual("URI", "spiffe://example.com/robot")),
  ),
  san_email: field(
    "One of the e-mail addresses; the host without case.",
    emptied(textual("e-mail address", "robot@example.com")),
  ),
  subject: text("Principal the certificate stands for."),
  roles: list("Roles given everywhere: admin, issuer, auditor, approver.", role, []),
  tenant_roles: map("Roles given in one tenant, by its id or slug.", listKind(role)),
} as const;

/** The keys under `auth.mtls`. */
export const mtls = section("Client certificates", {
  enabled: flag(
    "Ask TLS clients for a certificate, without requiring one, and let those of `bindings` in.",
    false,
  ),
  ca_file: reloadable(
    existingFile(
      "PEM file of the CAs whose certificates are believed: roots, or single issuing CAs.",
    ),
  ),
  bindings: reloadable(
    items(
      "Principals by the names in their certificates: the first entry counts whose non-empty selectors (subject_cn, subject_dn, san_dns, san_uri, san_email) are all met.",
      binding,
    ),
  ),
});
