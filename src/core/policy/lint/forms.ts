/**
 * Lint rules for the form of extensions, and for what only the maker of a certificate knows about
 * it.
 */

import { oids } from "#core/asn1/oids.ts";
import { parseTlsFeatures } from "#core/x509/extensions.ts";
import { parseNameConstraints } from "#core/x509/name-constraints.ts";

import { derFault } from "./der-walk.ts";
import type { Linted } from "./linted.ts";
import { type LintRule, sameOctets } from "./rule.ts";

// biome-ignore format: the table is read by column.
export const formRules: readonly LintRule[] = [
  { id: "serial_entropy",        severity: "error", fixed: true,  scope: "all",  clause: "BR 7.1.2.7",            check: serialDrawn },
  { id: "extension_der",         severity: "error", fixed: true,  scope: "all",  clause: "X.690",                 check: extensionDer },
  { id: "name_constraints_form", severity: "error", fixed: true,  scope: "ca",   clause: "RFC 5280 4.2.1.10",     check: nameConstraintsForm },
  { id: "cdp_stamp",             severity: "error", fixed: true,  scope: "all",  clause: "EXT-3",                 check: cdpAsRecorded },
  { id: "policy_unique",         severity: "error", fixed: false, scope: "all",  clause: "RFC 5280 4.2.1.4",      check: policyUnique },
  { id: "policy_cps_uri",        severity: "error", fixed: false, scope: "all",  clause: "RFC 5280 4.2.1.4",      check: policyCps },
  { id: "tls_feature_form",      severity: "error", fixed: false, scope: "all",  clause: "RFC 7633 4",            check: tlsFeatureForm },
  { id: "must_staple",           severity: "warn",  fixed: false, scope: "leaf", clause: "RFC 7633",              check: mustStaple },
];

/** Where the serial comes from, and not how it looks: bits prove no entropy. */
function serialDrawn({ made }: Linted) {
  return made === undefined || made.serialDrawn
    ? undefined
    : "the serial was not drawn for this certificate";
}

function extensionDer({ certificate }: Linted) {
  for (const { oid, value } of certificate.extensions) {
    const fault = derFault(value);
    if (fault !== undefined) return `extension ${oid}: ${fault}`;
  }
  return undefined;
}

function nameConstraintsForm({ extension }: Linted) {
  const found = extension(oids.nameConstraints);
  if (found !== undefined) parseNameConstraints(found.value);
  return undefined;
}

function cdpAsRecorded({ made, extension }: Linted) {
  if (made === undefined) return undefined;
  const written = extension(oids.crlDistributionPoints)?.value;
  const recorded = made.distributionPoints;
  const same =
    written === undefined || recorded === undefined
      ? written === recorded
      : sameOctets(written, recorded);
  return same ? undefined : "the CRL pointer is not the one recorded for the serial";
}

function policyUnique({ policies }: Linted) {
  return new Set(policies.map(({ oid }) => oid)).size === policies.length
    ? undefined
    : "a policy occurs twice";
}

function policyCps({ policies }: Linted) {
  const wrong = policies.flatMap(({ cps }) => cps).find((uri) => !isHttpUrl(uri));
  return wrong === undefined ? undefined : "a CPS pointer is not an absolute http or https URL";
}

function tlsFeatureForm({ extension }: Linted) {
  const found = extension(oids.tlsFeature);
  if (found !== undefined) parseTlsFeatures(found.value);
  return undefined;
}

function mustStaple({ requireMustStaple, extension }: Linted) {
  if (!requireMustStaple) return undefined;
  const found = extension(oids.tlsFeature);
  return found !== undefined && parseTlsFeatures(found.value).includes(statusRequest)
    ? undefined
    : "the certificate is without must-staple";
}

const isHttpUrl = (uri: string) => /^https?:\/\/[^\s/?#]+(?:[/?#]\S*)?$/.test(uri);

/** RFC 7633 §4.2.1: status_request, which is must-staple. */
const statusRequest = 5;
