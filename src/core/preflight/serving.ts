/**
 * Judges the serving certificate: how long it lives, for which names, and whether what is shown is
 * what is kept.
 */

import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { type Instant, secondsPerDay, timestamp } from "#core/time.ts";
import { canonicalDnsName, ipText, parseIpAddress } from "#core/x509/addresses.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { parseGeneralNames } from "#core/x509/general-names.ts";
import { signedBy } from "#core/x509/signed-by.ts";

import { failed, type Finding, gathered, skipped, warned } from "./finding.ts";

/** What a listener showed. */
export interface ServedCertificate {
  readonly der: Uint8Array;
  /** Like `TLSv1.3`. */
  readonly protocol: string;
}

/** What is known about the certificate to serve with. */
export interface ServingFacts {
  /**
   * DER of the path that is configured or kept, the listener's own first; undefined where none can
   * be read.
   */
  readonly kept: readonly Uint8Array[] | undefined;
  /** Undefined while nobody serves, or no handshake came about. */
  readonly shown: ServedCertificate | undefined;
  /** Whether key and certificate belong together. */
  readonly keyFits: boolean;
  /** pkid renews it by itself. */
  readonly selfIssued: boolean;
  /** Host of `server.public_url`. */
  readonly publicHost: string | undefined;
  readonly now: Instant;
}

/** `certs.serving_expiry`: the certificate that clients really get. */
export function judgeServed(facts: ServingFacts & { readonly shown: ServedCertificate }): Finding {
  const { kept, shown, publicHost, now, selfIssued } = facts;
  const certificate = readable(shown.der);
  if (certificate === undefined) return failed("What the listener shows cannot be read.");
  const { notBefore, notAfter } = certificate;
  const told = `It expires ${timestamp(notAfter)}`;
  const findings: Finding[] = [];
  const remaining = notAfter - now;
  // What renews itself may be short-lived on purpose; it is renewed when a third of its life is
  // left.
  const few = selfIssued ? Math.min(fewMs, (notAfter - notBefore) / 4) : fewMs;
  if (remaining <= 0) findings.push(failed(`${told}, and is served all the same.`));
  else if (remaining < few) findings.push(warned(`${told}.`));
  if (publicHost !== undefined && !isFor(certificate, publicHost)) {
    findings.push(failed(`It is not for ${publicHost}, the host of server.public_url.`));
  }
  if (kept?.[0] !== undefined && !same(kept[0], shown.der)) {
    findings.push(warned("It is not the one in the files; SIGHUP takes those up."));
  }
  return gathered(findings, `${told}, and is for the names it is reached by.`);
}

/** `listener.tls`: the files, and the handshake when there is a server. */
export function judgeListener(facts: ServingFacts, served: boolean): Finding {
  const { kept, keyFits, shown, selfIssued } = facts;
  if (kept === undefined || kept.length === 0) {
    if (selfIssued && !served) return skipped("The first start makes a serving certificate.");
    return failed("There is no serving certificate that can be read.");
  }
  const path = kept.map(readable);
  const findings: Finding[] = [];
  if (path.some((one) => one === undefined)) findings.push(failed("A certificate cannot be read."));
  if (!keyFits) findings.push(failed("Key and certificate do not belong together."));
  if (served && shown === undefined) findings.push(failed("No TLS handshake comes about."));
  if (shown !== undefined && kept[0] !== undefined && !same(kept[0], shown.der)) {
    findings.push(warned("The live certificate is not the one in the files."));
  }
  // The CA pkid makes for this is a root, and roots are not sent.
  const gap = selfIssued ? undefined : gapIn(path.filter((one) => one !== undefined));
  if (gap !== undefined) findings.push(warned(gap));
  const live = shown === undefined ? "" : ` ${shown.protocol} comes about.`;
  return gathered(findings, `Key, certificate and path belong together.${live}`);
}

/**
 * A path that breaks off before a certificate that signed itself, or whose members did not sign
 * each other.
 */
function gapIn(path: readonly ParsedCertificate[]): string | undefined {
  for (const [index, certificate] of path.entries()) {
    if (selfSigned(certificate)) return undefined;
    const issuer = path[index + 1];
    if (issuer === undefined) {
      // One above the leaf is what servers send; the root is what clients have.
      return index > 0 ? undefined : "The path ends with the certificate itself.";
    }
    if (!signedBy(certificate, issuer.spki)) return "The certificates do not make up one path.";
  }
  return undefined;
}

function isFor(certificate: ParsedCertificate, host: string): boolean {
  const found = extensionOf(certificate, oids.subjectAltName);
  const names = found === undefined ? [] : parseGeneralNames(found.value).names;
  const octets = parseIpAddress(host.replace(/^\[|\]$/g, ""));
  if (octets !== undefined) {
    const address = ipText(octets);
    return names.some(({ kind, value }) => kind === "ip" && value === address);
  }
  const name = canonicalDnsName(host) ?? host;
  const parent = name.slice(name.indexOf("."));
  return names.some(
    ({ kind, value }) => kind === "dns" && (value === name || value === `*${parent}`),
  );
}

const selfSigned = (certificate: ParsedCertificate): boolean =>
  same(certificate.issuer.der, certificate.subject.der);

function readable(der: Uint8Array): ParsedCertificate | undefined {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (error instanceof DerError) return undefined; // The caller says that it cannot be read.
    throw error;
  }
}

const same = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((octet, index) => octet === b[index]);

const fewMs = 14 * secondsPerDay * 1000;
