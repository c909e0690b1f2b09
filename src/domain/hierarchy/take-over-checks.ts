/** What the certificate of a CA must be before this instance goes on under it (IMP-2). */

import { compareOctets } from "#core/asn1/der.ts";
import {
  checkImport,
  isCa,
  type ImportCheck,
  type ImportWarning,
  pathLengthOf,
  usagesOf,
} from "#core/policy/import-checks.ts";
import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { ParsedCertificate } from "#core/x509/certificate.ts";
import { refuseUnreadableCa } from "#core/x509/foreign.ts";
import { signedByAside } from "#core/x509/signed-by.ts";
import type { CaReads, CaRecord } from "#domain/authorities/store.ts";
import { readCertificate, readChain } from "./external.ts";

/** What is worth a look, and refuses nothing. */
export type TakeOverWarning = Extract<
  ImportWarning,
  "key_usage_absent" | "crl_sign_absent" | "digital_signature_absent" | "chain_without_root"
>;
export const takeOverWarnings: readonly TakeOverWarning[] = [
  "key_usage_absent",
  "crl_sign_absent",
  "digital_signature_absent",
  "chain_without_root",
];

/** A CA certificate that may be taken over. */
export interface Examined {
  readonly certificate: ParsedCertificate;
  /** The certificates above it, its issuer's first; empty for a root. */
  readonly path: readonly ParsedCertificate[];
  /**
   * `root`: it has signed itself. `below`: its issuer is a CA of this instance. `external`: its
   * issuer is somewhere else, as that of a CA certified by `import-cert`.
   */
  readonly kind: "root" | "below" | "external";
  readonly parent: CaRecord | undefined;
  readonly maxPathLength: number | undefined;
  readonly warnings: readonly TakeOverWarning[];
}

/**
 * Looks at a certificate with those above it. Refuses `bad_certificate`, and `import_refused` with
 * every check that failed; a certificate that has not signed itself must come with its issuer's.
 */
export async function examined(
  cas: Pick<CaReads, "withKey">,
  given: { readonly certificatePem: string; readonly chainPem: string | undefined },
  now: Instant,
): Promise<Examined> {
  const { certificate } = await examinedPem(given.certificatePem);
  refuseUnreadableCa(certificate);
  const maxPathLength = pathLengthOf(certificate);
  const root = await signedByAside(certificate, certificate.spki);
  const chain = root || given.chainPem === undefined ? [] : readChain(given.chainPem);
  const verdict = checkImport({
    certificate,
    chain,
    ownSpki: certificate.spki,
    subject: certificate.subject.der,
    maxPathLength,
    replaced: undefined,
    now,
  });
  const pathless = !root && verdict.path.length === 0 && !verdict.refused.includes("chain");
  const failed: readonly ImportCheck[] = [
    ...verdict.refused.filter((check) => !(root && check === "self_signed")),
    ...(pathless ? (["chain"] as const) : []),
  ];
  if (failed.length > 0) throw refuse("import_refused", { checks: failed });
  for (const one of verdict.path) refuseUnreadableCa(one);
  const parent = root ? undefined : await issuerHere(cas, verdict.path[0], now);
  return {
    certificate,
    path: verdict.path,
    kind: root ? "root" : parent === undefined ? "external" : "below",
    parent,
    maxPathLength,
    warnings: takeOverWarnings.filter((warning) => warns(warning, certificate, verdict.warnings)),
  };
}

/** One certificate in PEM. Refuses `bad_certificate`, also for one that no CA has. */
export async function examinedPem(
  pem: string,
): Promise<{ readonly certificate: ParsedCertificate }> {
  const certificate = readCertificate(pem);
  if (!isCa(certificate)) throw refuse("import_refused", { checks: ["basic_constraints"] });
  return { certificate };
}

function warns(
  warning: TakeOverWarning,
  certificate: ParsedCertificate,
  found: readonly ImportWarning[],
): boolean {
  if (warning === "key_usage_absent") return usagesOf(certificate) === undefined;
  return found.includes(warning);
}

/** The CA of this instance that has signed it and may still sign. */
async function issuerHere(
  cas: Pick<CaReads, "withKey">,
  above: ParsedCertificate | undefined,
  now: Instant,
): Promise<CaRecord | undefined> {
  if (above === undefined) return undefined;
  const found = await cas.withKey(above.spki);
  return found.find(
    ({ certificate, internal, notAfter }) =>
      !internal &&
      certificate !== undefined &&
      notAfter !== undefined &&
      notAfter >= now &&
      compareOctets(certificate, above.der) === 0,
  );
}
