/** Fetches what certificates point to, as relying parties do, and judges it as they must. */

import { failed, type Finding, gathered, skipped, warned } from "#core/preflight/finding.ts";
import { judgeFetchedCrl, judgeFetchedIssuer } from "#core/preflight/network.ts";
import type { Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { judgeAnswer } from "#core/x509/ocsp-verdict.ts";
import { type Pointers, pointersOf } from "#core/x509/pointers.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Clock } from "#domain/ports.ts";
import { fullScope, partitionScope } from "#domain/revocation/scopes.ts";
import type { Store } from "#domain/store.ts";
import type { Fetched, Outside } from "./outside.ts";

export interface PointerDeps {
  readonly store: Pick<Store, "read">;
  readonly clock: Clock;
  readonly outside: Pick<Outside, "ask">;
  /** For one exchange. */
  readonly timeoutSeconds: number;
}

/**
 * The URLs in the newest certificate of each CA, all CAs at once: a place that hangs hides no
 * other.
 */
export async function pointersAnswer(deps: PointerDeps): Promise<Finding> {
  const cas = (await deps.store.read.cas.signing()).filter(({ internal }) => !internal);
  const looked = await Promise.all(cas.slice(0, casMax).map((ca) => lookedAt(deps, ca)));
  const findings = looked.flatMap((one) => one?.findings ?? []);
  const urls = looked.reduce((sum, one) => sum + (one?.urls ?? 0), 0);
  if (looked.every((one) => one === undefined))
    return skipped("No CA has a certificate to look at.");
  if (urls === 0) return warned("The newest certificates name no places; set `crl.base_url`.");
  return gathered(findings, `${urls} places answer with what belongs there.`);
}

/** Undefined for a CA that has issued nothing, or that nobody needs to check any more. */
async function lookedAt(deps: PointerDeps, ca: CaRecord) {
  const now = deps.clock.now();
  if (ca.certificate === undefined || ca.notAfter === undefined || ca.notAfter < now) return;
  const newest = await newestOf(deps.store, { caId: ca.id, now });
  if (newest === undefined) return;
  const issuer = parseCertificate(ca.certificate);
  const pointers = pointersOf(parseCertificate(newest.certificate));
  const found = await Promise.all([
    ...pointers.crls.map((url) => crlAt(deps, newest, issuer, url)),
    ...pointers.ocsp.map((url) => ocspAt(deps, ca, issuer, newest.serial, url)),
    ...pointers.caIssuers.map((url) => issuerAt(deps, issuer, url)),
  ]);
  const urls = pointers.crls.length + pointers.ocsp.length + pointers.caIssuers.length;
  return { urls, findings: [...found.flat(), ...schemeFindings(ca, pointers)] };
}

/** What retention has left of one is no certificate any more; what is valid it leaves (RET-1). */
async function newestOf(
  { read }: PointerDeps["store"],
  filter: { readonly caId: CaRecord["id"]; readonly now: Instant },
): Promise<CertificateRecord | undefined> {
  const [newest] = (await read.certificates.page(filter, 1)).items;
  if (newest === undefined || newest.certificate.length > 0) return newest;
  return (await read.certificates.page({ ...filter, status: "good" }, 1)).items[0];
}

/** Fetching a CRL over https may need the very CRL (RFC 5280 §8). */
function schemeFindings({ label }: CaRecord, { crls }: Pointers): readonly Finding[] {
  const secured = crls.length > 0 && crls.every((url) => url.startsWith("https:"));
  return secured ? [warned(`The CRL of ${label} is named by https addresses only.`)] : [];
}

async function crlAt(
  deps: PointerDeps,
  { caId, crlPartition }: CertificateRecord,
  issuer: ParsedCertificate,
  url: string,
): Promise<readonly Finding[]> {
  const fetched = await deps.outside.ask(url, undefined, deps.timeoutSeconds);
  const scope = crlPartition === undefined ? fullScope : partitionScope(crlPartition);
  // Read after the answer: another one may have been published meanwhile.
  const head = await deps.store.read.revocations.crlHead(caId, scope, "base");
  const at = { now: deps.clock.now(), number: head?.number };
  return judged(url, fetched, (octets) => judgeFetchedCrl(octets, issuer, at));
}

async function issuerAt(
  deps: PointerDeps,
  issuer: ParsedCertificate,
  url: string,
): Promise<readonly Finding[]> {
  const fetched = await deps.outside.ask(url, undefined, deps.timeoutSeconds);
  return judged(url, fetched, (octets) => judgeFetchedIssuer(octets, issuer));
}

async function ocspAt(
  deps: PointerDeps,
  { id }: CaRecord,
  issuer: ParsedCertificate,
  serial: Serial,
  url: string,
): Promise<readonly Finding[]> {
  const content = encodeOcspRequest({
    issuerName: issuer.subject.der,
    issuerSpki: issuer.spki,
    serial,
    hash: "sha1", // RFC 5019 §2.1.1: every responder knows it, and it protects nothing here.
  });
  const send = { type: "application/ocsp-request", content };
  const fetched = await deps.outside.ask(url, send, deps.timeoutSeconds);
  const certStatus = await deps.store.read.revocations.certStatus(id, serial);
  return judged(url, fetched, (octets) => {
    const now = deps.clock.now();
    const verdict = judgeAnswer(octets, { issuer, serial, nonce: undefined, now });
    if (!verdict.trusted) return failed(`${verdict.fault}`.replace(/\.$/, ""));
    if (verdict.status === certStatus.status) return undefined;
    return failed(`it says ${verdict.status} of a certificate that is ${certStatus.status}`);
  });
}

/** What is wrong with one place, with its address. */
function judged(
  url: string,
  fetched: Fetched,
  judge: (octets: Uint8Array) => Finding | undefined,
): readonly Finding[] {
  if (!fetched.answered) return [failed(`${url}: ${fetched.why}.`)];
  const { status, octets, elapsedMs } = fetched;
  if (status >= 300 && status < 400) return [failed(`${url}: redirects (${status}).`)];
  if (status !== 200) return [failed(`${url}: answers ${status}.`)];
  const wrong = judge(octets);
  if (wrong !== undefined) return [{ ...wrong, detail: `${url}: ${wrong.detail}.` }];
  return elapsedMs > slowMs ? [warned(`${url}: took ${Math.round(elapsedMs)} ms.`)] : [];
}

const casMax = 100;
const slowMs = 1000;
