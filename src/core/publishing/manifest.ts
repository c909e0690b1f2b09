/**
 * The manifest of a published snapshot: every artefact with its digest and how long it is good
 * (PUB-2).
 */

import { type Instant, parseTimestamp, timestamp } from "#core/time.ts";

export const artefactKinds = ["crl", "delta_crl", "chain", "ca_cert", "ocsp"] as const;
export type ArtefactKind = (typeof artefactKinds)[number];

/** One published file. */
export interface Artefact {
  /** Relative to the snapshot, segments of `[A-Za-z0-9._=-]`. */
  readonly path: string;
  readonly kind: ArtefactKind;
  /** Lower hex. */
  readonly sha256: string;
  readonly size: number;
  readonly contentType: string;
  /** nextUpdate of a list or answer, notAfter of a certificate. */
  readonly notAfter: Instant;
  /** Of a list: its CRL number, by which an older one is never put in place of a newer one. */
  readonly crlNumber?: number | undefined;
}

export interface PublishedCa {
  readonly id: string;
  readonly label: string;
  readonly ocspResponses: number;
  readonly crlShards: number;
}

export interface Manifest {
  readonly generatedAt: Instant;
  /**
   * The earliest `notAfter` of a list or answer, else of a certificate; undefined for an empty
   * snapshot.
   */
  readonly earliestExpiry: Instant | undefined;
  readonly cas: readonly PublishedCa[];
  readonly artefacts: readonly Artefact[];
}

/** What a manifest is made of; the earliest expiry follows from it. */
export function manifestOf(of: Omit<Manifest, "earliestExpiry">): Manifest {
  const timed = of.artefacts.filter(({ kind }) => kind !== "chain" && kind !== "ca_cert");
  const times = (timed.length > 0 ? timed : of.artefacts).map(({ notAfter }) => notAfter);
  const earliestExpiry = times.reduce<Instant | undefined>(
    (least, at) => (least === undefined || at < least ? at : least),
    undefined,
  );
  return { ...of, earliestExpiry };
}

/** JSON text, one artefact to a line. */
export function encodeManifest({ generatedAt, earliestExpiry, cas, artefacts }: Manifest): string {
  const head = {
    version: 1,
    generated_at: timestamp(generatedAt),
    ...(earliestExpiry === undefined ? {} : { earliest_expiry: timestamp(earliestExpiry) }),
    cas: cas.map(({ id, label, ocspResponses, crlShards }) => ({
      id,
      label,
      ocsp_responses: ocspResponses,
      crl_shards: crlShards,
    })),
  };
  const lines = artefacts.map((one) => JSON.stringify(artefactJson(one)));
  return `${JSON.stringify(head).slice(0, -1)},"artifacts":[\n${lines.join(",\n")}\n]}\n`;
}

const artefactJson = (one: Artefact) => ({
  path: one.path,
  kind: one.kind,
  sha256: one.sha256,
  size: one.size,
  content_type: one.contentType,
  not_after: timestamp(one.notAfter),
  ...(one.crlNumber === undefined ? {} : { crl_number: one.crlNumber }),
});

/** Something that is no manifest; the message says what is wrong. */
export class BadManifest extends Error {
  override readonly name = "BadManifest";
}

/** Reads a manifest strictly; members it does not know are passed over. Throws `BadManifest`. */
export function parseManifest(text: string): Manifest {
  const top = objectOf(jsonOf(text), "the manifest");
  if (top.version !== 1) throw new BadManifest("the version is not 1");
  const artefacts = listOf(top.artifacts, "artifacts").map(artefactOf);
  const paths = new Set(artefacts.map(({ path }) => path));
  if (paths.size < artefacts.length) throw new BadManifest("a path is listed twice");
  return {
    generatedAt: timeOf(top.generated_at, "generated_at"),
    earliestExpiry:
      top.earliest_expiry === undefined
        ? undefined
        : timeOf(top.earliest_expiry, "earliest_expiry"),
    cas: listOf(top.cas, "cas").map(caOf),
    artefacts,
  };
}

/**
 * True for a relative path whose segments hold nothing a file system or an address reads as more
 * than a name.
 */
export const plainPath = (path: string): boolean =>
  path.length <= 512 &&
  path
    .split("/")
    .every((segment) => /^[A-Za-z0-9._=-]{1,255}$/.test(segment) && !/^\.+$/.test(segment));

function artefactOf(value: unknown): Artefact {
  const of = objectOf(value, "an artefact");
  const path = textOf(of.path, "path");
  if (!plainPath(path)) throw new BadManifest("a path is not plain");
  const kind = artefactKinds.find((known) => known === of.kind);
  if (kind === undefined) throw new BadManifest(`${path} has an unknown kind`);
  const sha256 = textOf(of.sha256, "sha256");
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new BadManifest(`${path} has no SHA-256`);
  const crlNumber = of.crl_number === undefined ? undefined : countOf(of.crl_number, "crl_number");
  return {
    path,
    kind,
    sha256,
    size: countOf(of.size, "size"),
    contentType: textOf(of.content_type, "content_type"),
    notAfter: timeOf(of.not_after, "not_after"),
    ...(crlNumber === undefined ? {} : { crlNumber }),
  };
}

function caOf(value: unknown): PublishedCa {
  const of = objectOf(value, "a CA");
  return {
    id: textOf(of.id, "id"),
    label: textOf(of.label, "label"),
    ocspResponses: countOf(of.ocsp_responses, "ocsp_responses"),
    crlShards: countOf(of.crl_shards, "crl_shards"),
  };
}

type Members = Readonly<Record<string, unknown>>;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadManifest("it is not JSON");
  }
}

function objectOf(value: unknown, what: string): Members {
  // Each member is checked.
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw new BadManifest(`${what} is no object`);
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new BadManifest(`${what} is no list`);
}

function textOf(value: unknown, what: string): string {
  if (typeof value === "string" && value.length <= 1024) return value;
  throw new BadManifest(`${what} is no text`);
}

function countOf(value: unknown, what: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new BadManifest(`${what} is no count`);
}

function timeOf(value: unknown, what: string): Instant {
  const at = parseTimestamp(textOf(value, what));
  if (at === undefined) throw new BadManifest(`${what} is no time`);
  return at;
}
