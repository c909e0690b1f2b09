/** Manifest and digests of an archive: what is written is read, and nothing else is. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import {
  ArchiveUnfit,
  crlMember,
  encodeDigests,
  encodeManifest,
  formatName,
  nameOfArchive,
  type Manifest,
  parseDigests,
  parseManifest,
  pieceOf,
  signedOctets,
  softwareFile,
  softwareFileOf,
  tablePiece,
} from "#core/backup/archive.ts";

test("the name of an archive says whose it is and when it was made, and leads nowhere else", () => {
  const named = "pkid-814446cb-7394-42f3-ba6c-3ac541d6e012-20261123T183152Z.tar.age";
  expect(nameOfArchive(named)).toEqual({
    instance: "814446cb-7394-42f3-ba6c-3ac541d6e012",
    stamp: "20261123T183152Z",
  });
  const part = fc.constantFrom(
    "pkid-",
    "a",
    "-",
    "/",
    "..",
    "\\",
    "\0",
    "\n",
    stamped,
    ".age",
    ".",
  );
  const composed = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(composed, fc.string()), (text) => {
      if (nameOfArchive(text) === undefined) return;
      expect(text).toMatch(/^[A-Za-z0-9-]+\.tar\.age$/);
    }),
  );
});

const stamped = "-20261123T183152Z.tar.age";
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const name = fc.string({ minLength: 1, maxLength: 40 }).filter((one) => !one.includes("\0"));
const table = fc.stringMatching(/^[a-z_]{1,20}$/);
const hex = (octets: number) =>
  fc.uint8Array({ minLength: octets, maxLength: octets }).map((one) => one.toHex());

const manifest: fc.Arbitrary<Manifest> = fc.record({
  format: fc.constant(formatName),
  version: name,
  schema_version: fc.integer({ min: 1, max: 1000 }),
  instance_id: name,
  created_at: name,
  audit: fc.record({ seq: count, hash: name }),
  ledger: fc.record({ number: count, hash: name }),
  revocation_sequence: count,
  last_ordinal: count,
  crl_numbers: fc.array(fc.record({ ca_id: name, scope: name, number: count })),
  hsm_keys: fc.array(
    fc.record({
      role: fc.constantFrom("ca" as const, "kek" as const, "responder" as const),
      provider: name,
      label: name,
      id: name,
      spki_sha256: hex(32),
    }),
  ),
  tables: fc.array(table),
});

const digests = fc.record({
  members: fc.array(fc.record({ name, size: count, sha256: hex(32), rows: count })),
  signature: fc.record({
    algorithm: fc.constant("ed25519" as const),
    value: hex(64),
    spki: hex(44),
  }),
});

const refusal = (work: () => unknown): string => {
  try {
    work();
    return "read";
  } catch (error) {
    if (error instanceof ArchiveUnfit) return error.message;
    throw error;
  }
};

test("what was written reads as it was", () => {
  fc.assert(
    fc.property(manifest, digests, (one, list) => {
      expect(parseManifest(encodeManifest(one))).toEqual(one);
      expect(parseDigests(encodeDigests(list))).toEqual(list);
    }),
  );
});

test("no octets make anything but a refusal that says what they are not", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (octets) => {
      expect(refusal(() => parseManifest(octets))).not.toBe("read");
      expect(refusal(() => parseDigests(octets))).not.toBe("read");
    }),
  );
});

test("a member of another type is refused, and named where it stands by itself", () => {
  fc.assert(
    fc.property(manifest, fc.nat(), fc.constantFrom(null, -1, "", {}, [1]), (one, at, by) => {
      const members = Object.keys(one).filter((member) => member !== "format");
      const chosen = members[at % members.length] ?? "";
      const altered = { ...one, [chosen]: by };
      fc.pre(JSON.stringify(Reflect.get(one, chosen)) !== JSON.stringify(by));
      const octets = Buffer.from(JSON.stringify(altered));
      const scalar = typeof Reflect.get(one, chosen) !== "object";
      expect(refusal(() => parseManifest(octets))).toContain(scalar ? `(${chosen})` : "not what");
    }),
  );
});

test("another format is told from what is no backup at all", () => {
  const later = Buffer.from('{"format":"pkid-backup/2"}');
  expect(refusal(() => parseManifest(later))).toBe(
    "The archive has the format pkid-backup/2, which this binary does not know.",
  );
  expect(refusal(() => parseManifest(Buffer.from('{"format":"tar"}')))).toBe(
    "This is no backup of pkid.",
  );
});

test("what is signed changes with every member", () => {
  fc.assert(
    fc.property(digests, fc.nat(), ({ members }, at) => {
      fc.pre(members.length > 0);
      const place = at % members.length;
      const other = members.map((one, n) => (n === place ? { ...one, size: one.size ^ 1 } : one));
      expect(Buffer.from(signedOctets(other)).equals(Buffer.from(signedOctets(members)))).toBe(
        false,
      );
    }),
  );
});

test("names of pieces and key files are read as they are written, and others are not", () => {
  fc.assert(
    fc.property(table, fc.integer({ min: 1, max: 99_999 }), (of, piece) => {
      expect(pieceOf(tablePiece(of, piece))).toEqual({ table: of, piece });
    }),
  );
  expect(pieceOf("database/events.1.jsonl")).toBeUndefined();
  expect(pieceOf("database/../events.jsonl")).toBeUndefined();
  expect(softwareFileOf(softwareFile("ab12.key"))).toBe("ab12.key");
  for (const bad of ["../x", "a/b", ".hidden", "", "a\0b"]) {
    expect(softwareFileOf(`keys/software/${bad}`)).toBeUndefined();
  }
  expect([crlMember("ca", "full", "base"), crlMember("ca", "full", "delta")]).toEqual([
    "crl/ca/full.der",
    "crl/ca/full.delta.der",
  ]);
});
