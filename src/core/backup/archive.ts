/**
 * What stands in a backup archive and in which order: the manifest first, what is kept, and last
 * the digests of all that came before.
 */

import { sha256 } from "#core/crypto.ts";
import { Problem } from "#core/problems.ts";
import { type Instant, timestamp } from "#core/time.ts";
import {
  integer,
  type Kind,
  many,
  oneOf,
  optional,
  shape,
  text,
  type ValueOf,
  WrongValue,
} from "#core/shape.ts";

/** Why something is no archive to restore from; the message says what is wrong with it. */
export class ArchiveUnfit extends Error {
  override readonly name = "ArchiveUnfit";
}

/** Names of members that stand by themselves. */
export const memberNames = {
  manifest: "manifest.json",
  dataKeys: "keys/deks.json",
  masterKey: "keys/master.key",
  configuration: "config/pkid.yaml",
  digests: "digests.json",
} as const;

/**
 * The n-th piece of a table, from 1: a tar names the size of a member before its content, so that a
 * table that is not held in memory comes in pieces.
 */
export const tablePiece = (table: string, piece: number): string =>
  piece === 1 ? `database/${table}.jsonl` : `database/${table}.${piece}.jsonl`;

/** The table a member is a piece of, and which; undefined for any other member. */
export function pieceOf(
  name: string,
): { readonly table: string; readonly piece: number } | undefined {
  const found = /^database\/([a-z_]{1,63})(?:\.([1-9][0-9]{0,8}))?\.jsonl$/.exec(name);
  if (found === null || found[2] === "1") return undefined;
  return { table: found[1] ?? "", piece: Number(found[2] ?? 1) };
}

/**
 * Whose archive a name says it is, and when it was made (`20261123T133000Z`); undefined for every
 * name that is not an archive's. What is one is safe to be a file's.
 */
export function nameOfArchive(
  name: string,
): { readonly instance: string; readonly stamp: string } | undefined {
  const found = /^pkid-([A-Za-z0-9-]{1,64})-(\d{8}T\d{6}Z)\.tar\.age$/.exec(name);
  const [, instance, stamp] = found ?? [];
  return instance === undefined || stamp === undefined ? undefined : { instance, stamp };
}

/** The name of an archive of an instance; `at` is told to the second. */
export const archiveName = (instance: string, at: Instant): string =>
  `pkid-${instance}-${stampOf(timestamp(at))}.tar.age`;

/**
 * Sorts archives of one instance by the times in their names, newest first. Names count on even if
 * the clock was set back (`Backups.begin`).
 */
export const newestFirst = <A extends { readonly artifact: string }>(
  archives: readonly A[],
): readonly A[] => {
  const stamp = ({ artifact }: A) => nameOfArchive(artifact)?.stamp ?? "";
  return archives.toSorted((a, b) => (stamp(a) < stamp(b) ? 1 : stamp(a) > stamp(b) ? -1 : 0));
};

/** As names have it, `20261123T133000Z`, of RFC 3339 in UTC. */
export const stampOf = (time: string): string => time.replace(/\.\d+/, "").replaceAll(/[-:]/g, "");

const softwareFolder = "keys/software/";
/** A file of the software key store. */
export const softwareFile = (file: string): string => `${softwareFolder}${file}`;
/** Its name in the key store; undefined for any other member. */
export function softwareFileOf(name: string): string | undefined {
  const file = name.startsWith(softwareFolder) ? name.slice(softwareFolder.length) : "";
  return /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(file) ? file : undefined;
}

/** The newest list of a scope; a delta beside its base. */
export const crlMember = (ca: string, scope: string, kind: string): string =>
  `crl/${ca}/${scope}${kind === "base" ? "" : ".delta"}.der`;

const count = integer(0, Number.MAX_SAFE_INTEGER);
const name = text({ min: 1, max: 1024 });
const hex = (octets: number) => text({ pattern: new RegExp(`^[0-9a-f]{${octets * 2}}$`) });
const table = text({ pattern: /^[a-z_]{1,63}$/ });

/** The format this binary writes and reads. */
export const formatName = "pkid-backup/1";
const formatFamily = "pkid-backup/";

/** A key that is not in the archive: of a CA, a responder or a KEK that is held elsewhere. */
const expectedKey = shape({
  role: oneOf(["ca", "responder", "kek"]),
  provider: name,
  label: name,
  /** As the token has it. */
  id: name,
  /** Lower hex; absent for a symmetric key. */
  spki_sha256: optional(name),
});

/** A token that holds some of them: what finds it again, and names whose procedure restores it. */
const hsmToken = shape({
  provider: name,
  serial: name,
  label: optional(name),
  manufacturer: optional(name),
  model: optional(name),
});

const manifest = shape({
  format: oneOf([formatName]),
  /** Of pkid. */
  version: name,
  schema_version: integer(1, 1_000_000),
  instance_id: name,
  /** RFC 3339, UTC. */
  created_at: name,
  /** Where both chains ended. */
  audit: shape({ seq: count, hash: name }),
  ledger: shape({ number: count, hash: name }),
  revocation_sequence: count,
  /** The highest number a certificate was ever given. */
  last_ordinal: count,
  /** The last number given out in each scope. */
  crl_numbers: many(shape({ ca_id: name, scope: name, number: count })),
  hsm_keys: many(expectedKey),
  /** Absent in archives of releases that did not tell. */
  hsm_tokens: optional(many(hsmToken)),
  tables: many(table),
});

const digests = shape({
  members: many(shape({ name, size: count, sha256: hex(32), rows: optional(count) })),
  /** By the ledger key, over `signedOctets`. */
  signature: shape({
    algorithm: oneOf(["ed25519"]),
    value: hex(64),
    /** The SubjectPublicKeyInfo of the ledger key. */
    spki: hex(44),
  }),
});

export type Manifest = ValueOf<typeof manifest>;
export type ExpectedKey = Manifest["hsm_keys"][number];
export type HsmToken = ValueOf<typeof hsmToken>;
/** `digests.json`: everything before it, vouched for by the key of the sign ledger. */
export type Digests = ValueOf<typeof digests>;
/** One member; `rows` of a piece of a table. */
export type MemberDigest = Digests["members"][number];

/** Who can open an archive: the holders of identities, or whoever knows the passphrase. */
export type Protection =
  | { readonly recipients: readonly string[] }
  | { readonly passphrase: string };

/** What opens one. */
export type Opener = { readonly identities: readonly string[] } | { readonly passphrase: string };

/** A signature by the ledger key, and that key; both lower hex. */
export interface Vouched {
  readonly value: string;
  readonly spki: string;
}

/** What the ledger key signs of an archive: a name of its own, and the digest of the list. */
export const signedOctets = (members: readonly MemberDigest[]): Uint8Array =>
  Buffer.concat([
    Buffer.from("pkid/backup/1\n"),
    sha256(Buffer.from(JSON.stringify(members.map(memberJson)))),
  ]);

/** Octets of the manifest. */
export const encodeManifest = (of: Manifest): Uint8Array =>
  Buffer.from(`${JSON.stringify(manifest.write(of), undefined, 2)}\n`);

/** Octets of the digests, one member to a line. */
export function encodeDigests({ members, signature }: Digests): Uint8Array {
  const lines = members.map((one) => JSON.stringify(memberJson(one)));
  const signed = JSON.stringify(signature);
  return Buffer.from(`{"members":[\n${lines.join(",\n")}\n],"signature":${signed}}\n`);
}

/** Reads a manifest. Throws `ArchiveUnfit` for any other file and for another format. */
export function parseManifest(octets: Uint8Array): Manifest {
  const value = jsonIn(octets, memberNames.manifest);
  const format = typeof value === "object" && value !== null && Reflect.get(value, "format");
  if (typeof format !== "string" || !format.startsWith(formatFamily)) {
    throw new ArchiveUnfit("This is no backup of pkid.");
  }
  if (format !== formatName) {
    throw new ArchiveUnfit(
      `The archive has the format ${format.slice(0, 64)}, which this binary does not know.`,
    );
  }
  return readAs(manifest, value, memberNames.manifest);
}

/** Reads the digests. Throws `ArchiveUnfit`. */
export const parseDigests = (octets: Uint8Array): Digests =>
  readAs(digests, jsonIn(octets, memberNames.digests), memberNames.digests);

/** In the order in which it is written and signed. */
const memberJson = ({ name: called, size, sha256: digest, rows }: MemberDigest) => ({
  name: called,
  size,
  sha256: digest,
  ...(rows === undefined ? {} : { rows }),
});

function jsonIn(octets: Uint8Array, member: string): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(octets));
  } catch {
    throw new ArchiveUnfit(`${member} of the archive is not what pkid writes.`);
  }
}

function readAs<T>(kind: Kind<T>, value: unknown, member: string): T {
  try {
    return kind.read(value);
  } catch (error) {
    if (!(error instanceof Problem || error instanceof WrongValue)) throw error;
    const field = error instanceof Problem ? String(error.facts.field ?? "") : "";
    const where = field === "" ? "" : ` (${field})`;
    throw new ArchiveUnfit(`${member} of the archive is not what pkid writes${where}.`);
  }
}
