/**
 * Signing CAs made ready: everything about a CA that does not change, read and encoded once per CA.
 */

import { oids } from "#core/asn1/oids.ts";
import { decodePemBlocks } from "#core/asn1/pem.ts";
import type { CaId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { repeatedExtensions } from "#core/policy/certificate-extensions.ts";
import type { Issuer } from "#core/policy/plan.ts";
import { defaultSignature } from "#core/x509/algorithms.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import {
  parseBasicConstraints,
  parseExtendedKeyUsage,
  parseSubjectKeyIdentifier,
  subjectKeyId,
} from "#core/x509/extensions.ts";
import { readOrRefuse } from "#core/x509/foreign.ts";
import { indexed } from "#core/policy/subtree-index.ts";
import { type NameConstraints, parseNameConstraints } from "#core/x509/name-constraints.ts";
import { isSelfIssued } from "#core/x509/path.ts";
import { policyFactsOf } from "#core/x509/path-policies.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import type { CaReads, CaRecord } from "./store.ts";

/** A CA ready to sign. */
export interface CaSigner {
  readonly ca: Pick<CaRecord, "id" | "tenant" | "label">;
  readonly issuer: Issuer;
  readonly handle: KeyHandle;
  /** The second key of a hybrid CA; present exactly when `issuer.alternative` is. */
  readonly alternative?: KeyHandle | undefined;
  /** DER of the CA's certificate and every one above it, without the root (EXT-6). */
  readonly intermediates: readonly Uint8Array[];
  /**
   * The same with the root: what a transparency log wants above a precertificate (RFC 6962 §3.1).
   */
  readonly issuers: readonly Uint8Array[];
}

export interface CaSignersDeps {
  readonly cas: CaReads;
  readonly keys: Keys;
  readonly config: {
    readonly crl: {
      /** Base of AIA and CDP addresses; without it certificates name none. */
      readonly base_url: string | undefined;
      /** Over how many partitions leaves are spread; below 2 over none. */
      readonly shards: number;
    };
  };
}

/** The CAs that have signed since the start, ready to sign again. */
export class CaSigners {
  readonly #deps: CaSignersDeps;
  readonly #ready = new Map<CaId, Ready>();

  constructor(deps: CaSignersDeps) {
    this.#deps = deps;
  }

  /**
   * The signer of an active CA. Refuses `ca_not_active` for any other or an expired one,
   * `key_unavailable` without key.
   */
  async signer(ca: CaRecord, now: Instant): Promise<CaSigner> {
    if (ca.status !== "active") throw refuse("ca_not_active", { status: ca.status });
    return await this.unexpired(ca, now);
  }

  /**
   * The same also for superseded and retired CAs, which certify responders until their own notAfter
   * (CRL-14).
   */
  async unexpired(ca: CaRecord, now: Instant): Promise<CaSigner> {
    if (ca.notAfter === undefined || ca.notAfter < now) {
      throw refuse("ca_not_active", { status: "expired" });
    }
    const ready = this.#ready.get(ca.id);
    const own = ready?.path[0] === ca.certificate || same(ready?.path[0], ca.certificate);
    const recent = ready !== undefined && Math.abs(now - ready.checkedAt) < recheckMs;
    if (ready !== undefined && own && recent) return ready.signer;
    const path = await certificatesOf(this.#deps.cas, ca);
    // A certificate of the path may have been replaced by another one for the same key, here or on
    // another replica.
    const unchanged =
      ready?.path.length === path.length && path.every((der, n) => same(der, ready.path[n]));
    const signer = ready !== undefined && unchanged ? ready.signer : await this.#prepare(ca, path);
    this.#ready.set(ca.id, { signer, path, checkedAt: now });
    return signer;
  }

  async #prepare(ca: CaRecord, path: readonly Uint8Array[]): Promise<CaSigner> {
    const handle = await this.#pinned(ca);
    const alternative = ca.alternative && (await this.#pinned(ca.alternative));
    const certificates = path.map(parseCertificate);
    const [own] = certificates;
    if (own === undefined) throw refuse("ca_not_active", { status: ca.status });
    const found = extensionOf(own, oids.subjectKeyIdentifier);
    const keyId = found ? parseSubjectKeyIdentifier(found.value) : subjectKeyId(ca.spki, "sha1");
    const issuer: Issuer = {
      id: ca.id,
      subject: own.subject.der,
      keyId,
      spkiSha256: spkiSha256(ca.spki),
      signature: defaultSignature(ca.keyType),
      notBefore: own.notBefore,
      alternative: ca.alternative && defaultSignature(ca.alternative.keyType),
      notAfter: own.notAfter,
      maxPathLength: pathLengthOf(certificates),
      constraints: certificates
        .map(constraintsOf)
        .flatMap((value) => (value ? indexed(value) : [])),
      purposes: certificates.map(purposesOf),
      policyPath: belowRoot(certificates).map(policiesOf).toReversed(),
      repeated: repeatedExtensions({
        id: ca.id,
        keyId,
        urlBase: this.#deps.config.crl.base_url,
        shards: this.#deps.config.crl.shards,
      }),
    };
    const intermediates = withoutRoot(path);
    const { id, tenant, label } = ca;
    const issuers = certificates.map(({ der }) => der);
    return { ca: { id, tenant, label }, issuer, handle, alternative, intermediates, issuers };
  }

  /**
   * KEY-4: the record pins the key; whatever the provider holds under its name is not it when they
   * differ.
   */
  async #pinned({ key, spki }: Pick<CaRecord, "key" | "spki">): Promise<KeyHandle> {
    const handle = await this.#deps.keys.find(key);
    if (!Buffer.from(handle.spki).equals(spki)) throw refuse("key_unavailable", retry);
    return handle;
  }
}

/** The CA and its ancestors up to the root, in that order. */
export async function pathOf(cas: CaReads, ca: CaRecord): Promise<readonly CaRecord[]> {
  const path = [ca];
  for (let parent = ca.parent; parent !== undefined; ) {
    const above = await cas.byId(parent);
    if (above === undefined || path.length > depthMax) throw refuse("not_found");
    path.push(above);
    parent = above.parent;
  }
  return path;
}

/**
 * DER of the certificates from the CA's own up to the root, those above an externally signed CA
 * included. Refuses `ca_not_active` while one is missing.
 */
export async function certificatesOf(cas: CaReads, ca: CaRecord): Promise<readonly Uint8Array[]> {
  const path = await pathOf(cas, ca);
  const own = path.map(({ certificate, status }) => {
    if (certificate === undefined) throw refuse("ca_not_active", { status });
    return certificate;
  });
  return [...own, ...externalCertificates(path.at(-1))];
}

/**
 * The path up to but not including the root, which is the last one exactly when it names itself as
 * its issuer (EXT-6).
 */
export function withoutRoot(path: readonly Uint8Array[]): readonly Uint8Array[] {
  const last = path.at(-1);
  return last !== undefined && isSelfIssued(parseCertificate(last)) ? path.slice(0, -1) : path;
}

/**
 * The same of what was read: whom relying parties trust for its key, they do not ask what it says
 * (RFC 5280 §6.1.1 d).
 */
function belowRoot(path: readonly ParsedCertificate[]): readonly ParsedCertificate[] {
  const last = path.at(-1);
  return last !== undefined && isSelfIssued(last) ? path.slice(0, -1) : path;
}

/** DER of what was imported above an externally signed CA, its issuer's certificate first. */
export function externalCertificates(ca: CaRecord | undefined): readonly Uint8Array[] {
  if (ca?.externalChain === undefined) return [];
  const blocks = decodePemBlocks(ca.externalChain, "CERTIFICATE", depthMax);
  assert(blocks !== undefined, "a stored chain was read when it was imported");
  return blocks;
}

/**
 * RFC 5280 §6.1.4: the tightest of the path's limits, each less the certificates between it and the
 * CA.
 */
function pathLengthOf(certificates: readonly ParsedCertificate[]): number | undefined {
  const left = certificates.flatMap((certificate, depth) => {
    const found = extensionOf(certificate, oids.basicConstraints);
    const limit = found && parseBasicConstraints(found.value).pathLength;
    return limit === undefined ? [] : [limit - depth];
  });
  return left.length === 0 ? undefined : Math.min(...left);
}

const same = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;

interface Ready {
  readonly signer: CaSigner;
  /** DER of the path it was made from. */
  readonly path: readonly Uint8Array[];
  readonly checkedAt: Instant;
}

/** Constraints pkid cannot read it cannot keep either: such a CA signs nothing (NC-1). */
function constraintsOf(certificate: ParsedCertificate): NameConstraints | undefined {
  const found = extensionOf(certificate, oids.nameConstraints);
  return found && readOrRefuse("ca_constraint", () => parseNameConstraints(found.value));
}

/** As with constraints: what cannot be read allows nothing. */
function purposesOf(certificate: ParsedCertificate): readonly string[] | undefined {
  const found = extensionOf(certificate, oids.extKeyUsage);
  return found && readOrRefuse("ca_constraint", () => parseExtendedKeyUsage(found.value));
}

const policiesOf = (certificate: ParsedCertificate) =>
  readOrRefuse("ca_constraint", () => policyFactsOf(certificate));

/** How long a replaced certificate further up the path may go unnoticed. */
const recheckMs = 5000;
const retry = { retry_after: 2 };
const depthMax = 16;
