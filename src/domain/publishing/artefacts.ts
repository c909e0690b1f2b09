/**
 * What is published of a CA: its certificate and chain, every list, and the OCSP answers signed
 * ahead (PUB-1).
 */

import { encodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import type { CaId, Serial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import type { Artefact } from "#core/publishing/manifest.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { chainBundle } from "#domain/authorities/bundle.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { CrlPublisher } from "#domain/revocation/crl.ts";
import { issuerOf } from "#domain/revocation/issuers.ts";
import {
  type PresignedRecord,
  type PresignHash,
  presignHashes,
} from "#domain/revocation/presign-store.ts";
import { type CrlScopes, partitionNumber } from "#domain/revocation/scopes.ts";
import { type CrlHead, crlKinds } from "#domain/revocation/store.ts";
import type { Store } from "#domain/store.ts";
import type { Octets } from "./target.ts";

/** An artefact and how its octets are had, when they are wanted. */
export interface Publishable {
  readonly artefact: Artefact;
  readonly octets: () => Octets;
}

export interface ArtefactDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly publisher: Pick<CrlPublisher, "current" | "pieces" | "published">;
  readonly scopes: Pick<CrlScopes, "all">;
}

/** Certificate and chain, the same octets as the public endpoints serve. */
export async function certificatesOf(
  { store }: ArtefactDeps,
  ca: CaRecord,
): Promise<readonly Publishable[]> {
  const { certificate, notAfter } = ca;
  if (certificate === undefined || notAfter === undefined) return [];
  const pem = Buffer.from(encodePem("CERTIFICATE", certificate));
  const chain = Buffer.from(await chainOf(store, ca));
  const of = (path: string, contentType: string, octets: Uint8Array, kind: "ca_cert" | "chain") =>
    whole({ path: `${ca.id}/${path}`, kind, contentType, notAfter }, octets);
  return [
    of("ca.der", "application/pkix-cert", certificate, "ca_cert"),
    of("ca.pem", pemType, pem, "ca_cert"),
    // A retired CA is in no bundle any more.
    ...(chain.length === 0 ? [] : [of("chain.pem", pemType, chain, "chain")]),
  ];
}

/**
 * Empty where no member of the lineage is in a bundle; a read that failed says nothing about that.
 */
async function chainOf({ read }: ArtefactDeps["store"], ca: CaRecord): Promise<string> {
  try {
    return await chainBundle(read.cas, ca);
  } catch (error) {
    if (error instanceof Problem && error.code === "not_found") return "";
    throw error;
  }
}

/**
 * The published base and delta of every scope; what is absent or expired is signed first. Refuses
 * `crl_unavailable` when that cannot be.
 */
export async function listsOf(deps: ArtefactDeps, ca: CaRecord): Promise<readonly Publishable[]> {
  const { publisher, scopes } = deps;
  const lists: Publishable[] = [];
  for (const scope of await scopes.all(ca.id)) {
    for (const kind of crlKinds) {
      const head = await publisher.current(ca, scope, kind);
      lists.push({ artefact: listArtefact(head), octets: () => publisher.pieces(head) });
    }
  }
  return lists;
}

/** The SHA-256 digests of all lists that are published now, by path, without signing any. */
export async function publishedLists(
  deps: ArtefactDeps,
  ca: CaRecord,
): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>();
  for (const scope of await deps.scopes.all(ca.id)) {
    for (const kind of crlKinds) {
      const head = await deps.publisher.published(ca.id, scope, kind);
      if (head !== undefined) digests.set(listArtefact(head).path, head.sha256);
    }
  }
  return digests;
}

/** Answers of a CA that are good now, a page of serials at a time. */
export async function* answersOf(
  { store, clock }: ArtefactDeps,
  ca: CaRecord,
): AsyncGenerator<readonly Publishable[]> {
  const paths = answerPaths(ca);
  for (let after: readonly [Serial, PresignHash] | undefined; ; ) {
    const page = await store.read.presigned.page(ca.id, pageRows, after);
    yield page
      .filter(({ nextUpdate }) => nextUpdate > clock.now())
      .flatMap((row) => files(paths, row));
    const last = page.at(-1);
    if (last === undefined || page.length < pageRows) return;
    after = [last.serial, last.hash];
  }
}

/** The answers about one serial that are good now. */
export async function answersAbout(
  { store, clock }: ArtefactDeps,
  ca: CaRecord,
  serial: Serial,
): Promise<readonly Publishable[]> {
  const found = await Promise.all(
    presignHashes.map((hash) => store.read.presigned.find(ca.id, serial, hash)),
  );
  const rows = found.flatMap(({ presigned }) => (presigned === undefined ? [] : [presigned]));
  const good = rows.filter(({ nextUpdate }) => nextUpdate > clock.now());
  const paths = answerPaths(ca);
  return good.flatMap((row) => files(paths, row));
}

/**
 * Where answers about a serial are published: by the request in both hashes, and by the serial
 * itself.
 */
export function answerPaths(ca: CaRecord): (serial: Serial) => AnswerPaths {
  const { subject } = issuerOf(ca);
  const folder = `${ca.id}/ocsp`;
  const byRequest = (serial: Serial, hash: PresignHash) => {
    const question = { issuerName: subject.der, issuerSpki: ca.spki, serial, hash };
    const request = encodeOcspRequest(question);
    const name = request.toBase64({ alphabet: "base64url", omitPadding: true });
    return `${folder}/by-request/${name}.der`;
  };
  return (serial) => ({
    sha1: byRequest(serial, "sha1"),
    sha256: byRequest(serial, "sha256"),
    bySerial: answerPath(ca.id, serial),
  });
}

/** Where the answer about a serial is published by that serial. */
export const answerPath = (ca: CaId, serial: Serial): string =>
  `${ca}/ocsp/by-serial/${serial}.der`;

export interface AnswerPaths {
  readonly sha1: string;
  readonly sha256: string;
  /** With SHA-1 in its certID, as the lightweight profile has it (RFC 5019 §2.1.1). */
  readonly bySerial: string;
}

/** True while a CA's artefacts are worth publishing: certified, and not past its end (CRL-14). */
export const publishes = (ca: CaRecord, now: Instant): boolean =>
  !ca.internal && ca.certificate !== undefined && now <= (ca.notAfter ?? 0);

function files(
  pathsOf: (serial: Serial) => AnswerPaths,
  row: PresignedRecord,
): readonly Publishable[] {
  const { serial, hash, response, nextUpdate: notAfter } = row;
  const paths = pathsOf(serial);
  const facts = { kind: "ocsp", contentType: "application/ocsp-response", notAfter } as const;
  const named = hash === "sha1" ? [paths.sha1, paths.bySerial] : [paths.sha256];
  return named.map((path) => whole({ ...facts, path }, response));
}

function listArtefact(head: CrlHead): Artefact {
  const partition = partitionNumber(head.scope);
  const name = partition === undefined ? "crl" : `crl-partition-${partition}`;
  const delta = head.base !== undefined;
  return {
    path: `${head.caId}/${name}${delta ? "-delta" : ""}.der`,
    kind: delta ? "delta_crl" : "crl",
    sha256: head.sha256,
    size: head.size,
    contentType: "application/pkix-crl",
    notAfter: head.nextUpdate,
    crlNumber: head.number,
  };
}

const whole = (of: Omit<Artefact, "sha256" | "size">, octets: Uint8Array): Publishable => ({
  artefact: { ...of, sha256: sha256Hex(octets), size: octets.length },
  octets: () => [octets],
});

/** A serial whose revocation state changed, and whose answers have to follow. */
export interface ChangedSerial {
  readonly ca: CaId;
  readonly serial: Serial;
}

export const keyOf = ({ ca, serial }: ChangedSerial): string => `${ca}/${serial}`;

/** True for an artefact of the CA. */
export const isOf = (ca: CaRecord, { path }: Artefact): boolean => path.startsWith(`${ca.id}/`);

/** Snapshot names that sort by time. */
export const timeName = (at: Instant): string => timestamp(at).replaceAll(/[-:.]/g, "");

const pemType = "application/x-pem-file";
const pageRows = 500;
