/** Judges what other hosts answered: name servers, and the places that certificates point to. */

import { readJsonObject } from "#core/acme/strict-json.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { verifies } from "#core/x509/ocsp-verdict.ts";

import { failed, type Finding, gathered, warned } from "./finding.ts";

/** One exchange with a name server. */
export type DnsLook =
  | { readonly answered: true; readonly elapsedMs: number; readonly authenticated: boolean }
  | { readonly answered: false; readonly failure: string };

export interface NameServerLook {
  /** Address with port. */
  readonly server: string;
  readonly udp: DnsLook;
  readonly tcp: DnsLook;
}

/** Groups of resolvers, each of which must answer for itself. */
export function judgeResolvers(groups: readonly (readonly NameServerLook[])[]): Finding {
  const findings = groups.map(judgeNameServers);
  return gathered(findings, findings.map(({ detail }) => detail).join(" "));
}

/**
 * Resolvers that CAA and ACME ask: they answer over both transports, soon, and say that they
 * validate (CAA-6).
 */
export function judgeNameServers(looks: readonly NameServerLook[]): Finding {
  const findings = looks.flatMap(({ server, udp, tcp }): readonly Finding[] => {
    if (!udp.answered) return [failed(`${server} does not answer over UDP (${udp.failure}).`)];
    if (!tcp.answered) return [failed(`${server} does not answer over TCP (${tcp.failure}).`)];
    const slow = Math.max(udp.elapsedMs, tcp.elapsedMs);
    return [
      ...(udp.authenticated ? [] : [warned(`${server} does not say that it validates DNSSEC.`)]),
      ...(slow > slowDnsMs ? [warned(`${server} took ${Math.round(slow)} ms.`)] : []),
    ];
  });
  // One server that answers is enough to be asked; that another does not is a warning then.
  const working = looks.some(({ udp, tcp }) => udp.answered && tcp.answered);
  const softened = working ? findings.map((one) => warned(one.detail)) : findings;
  const names = looks.map(({ server }) => server).join(", ");
  return gathered(softened, `${names} answer, over UDP and TCP, and validate.`);
}

/**
 * A CRL as fetched; `number` is that of the newest one pkid published, `issuer` the certificate of
 * the CA.
 */
export function judgeFetchedCrl(
  der: Uint8Array,
  issuer: Pick<ParsedCertificate, "spki" | "subject">,
  at: { readonly now: Instant; readonly number: number | undefined },
): Finding | undefined {
  const crl = readable(() => parseCrl(der));
  if (crl === undefined) return failed("it is not a CRL");
  const own =
    Buffer.from(crl.issuer).equals(issuer.subject.der) &&
    verifies(issuer.spki, crl.signatureName, crl.tbs, crl.signature);
  if (!own) return failed("it is not signed by this CA");
  const { thisUpdate, nextUpdate } = crl;
  if (nextUpdate === undefined || nextUpdate < at.now) {
    return failed(`it ended ${nextUpdate === undefined ? "at once" : timestamp(nextUpdate)}`);
  }
  if (at.number !== undefined && (crl.number ?? 0) > at.number) {
    return failed(`its number ${crl.number} is higher than any in the database`);
  }
  const stale = at.now > (thisUpdate + nextUpdate) / 2;
  return stale ? warned("it is past half of its life: a cache keeps it too long") : undefined;
}

/**
 * An ACME directory as fetched, whose addresses all lie below `base`: a proxy that writes others,
 * or another instance, is found by them. Gives the phrase of what is wrong with it.
 */
export function judgeAcmeDirectory(octets: Uint8Array, base: string): string | undefined {
  const members = readable(() => readJsonObject(octets));
  if (members === undefined) return "it is no ACME directory";
  for (const name of acmeAddresses) {
    const address = members[name];
    if (typeof address !== "string") return `it has no ${name}`;
    if (!address.startsWith(base)) return `its ${name} lies elsewhere`;
  }
  return undefined;
}

/** RFC 8555 §7.1.1: what every directory of pkid has. */
const acmeAddresses = [
  "newNonce",
  "newAccount",
  "newOrder",
  "revokeCert",
  "keyChange",
  "renewalInfo",
] as const;

/** The certificate of the issuer as fetched. */
export function judgeFetchedIssuer(
  der: Uint8Array,
  issuer: Pick<ParsedCertificate, "spki" | "subject">,
): Finding | undefined {
  const found = readable(() => parseCertificate(der));
  if (found === undefined) return failed("it is not a certificate in DER");
  const same =
    Buffer.from(found.spki).equals(issuer.spki) &&
    Buffer.from(found.subject.der).equals(issuer.subject.der);
  return same ? undefined : failed("it is not the certificate of this CA");
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError) return undefined; // Whoever serves this serves something else.
    throw error;
  }
}

const slowDnsMs = 500;
