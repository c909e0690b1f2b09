/**
 * What is in an archive, and one with other members than were written, whole in every respect:
 * whoever can open an archive finds the ledger key in it, and signs its digests anew.
 */

import { type KeyObject, sign } from "node:crypto";

import { decrypted, encrypted, recipientOf } from "#adapters/age/age.ts";
import { contextOf, isEnveloped, parseKeyFile } from "#adapters/keys/software/key-file.ts";
import { importSecret } from "#adapters/keys/software/secrets.ts";
import { encodeDigests, memberNames, parseDigests, signedOctets } from "#core/backup/archive.ts";
import { parseDataKeys } from "#core/backup/data-keys.ts";
import { sha256Hex } from "#core/crypto.ts";
import { openEnvelope } from "#core/envelope.ts";
import { tarEnd, tarHeader, tarPadding } from "#core/tar.ts";
import { tarMembers } from "#core/tar-reader.ts";

/** What is in an archive, by the names of its members and in their order. */
export type Members = Map<string, Buffer>;

/** What is in the archive in `file`, which `identity` opens. */
export async function membersOf(file: string, identity: string): Promise<Members> {
  const members: Members = new Map();
  const plain = decrypted({ identities: [identity] }, Bun.file(file).stream());
  for await (const member of tarMembers(plain)) {
    members.set(member.name, await whole(member.content()));
  }
  return members;
}

/**
 * The archive in `file` after `change`, signed and encrypted again; `identity` opens both. The
 * ledger key is looked for before.
 */
export async function rewrittenArchive(
  file: string,
  identity: string,
  change: (members: Members) => void,
): Promise<Buffer> {
  const members = await membersOf(file, identity);
  const ledgerKey = privateKeyIn(members, "ledger-");
  change(members);
  const before = parseDigests(taken(members, memberNames.digests));
  members.delete(memberNames.digests);
  const rows = new Map(before.members.map((one) => [one.name, one.rows]));
  const digests = [...members].map(([name, octets]) => {
    const counted = rows.get(name);
    const of = { name, size: octets.length, sha256: sha256Hex(octets) };
    return counted === undefined ? of : { ...of, rows: counted };
  });
  const value = sign(null, signedOctets(digests), ledgerKey).toString("hex");
  const signature = { ...before.signature, value };
  members.set(memberNames.digests, Buffer.from(encodeDigests({ members: digests, signature })));
  return await whole(encrypted({ recipients: [await recipientOf(identity)] }, packed(members)));
}

/** By its own data key, as a restore without the KEK would open it; `label` is how it begins. */
export function privateKeyIn(members: Members, label: string): KeyObject {
  const { privateKeys } = parseDataKeys(taken(members, memberNames.dataKeys));
  const storeId = taken(members, "keys/software/store-id").toString();
  for (const [id, dek] of privateKeys ?? []) {
    const key = parseKeyFile(taken(members, `keys/software/${id}.key`), id);
    if (key === undefined || !isEnveloped(key) || !key.label.startsWith(label)) continue;
    const content = openEnvelope(key.sealed, dek, contextOf(storeId, key));
    const secret = content && importSecret(Buffer.from(content));
    if (secret !== undefined && "asymmetricKeyType" in secret) return secret;
  }
  throw new Error(`there is no key ${label} in this archive`);
}

function taken(members: Members, name: string): Buffer {
  const octets = members.get(name);
  if (octets === undefined) throw new Error(`there is no ${name} in this archive`);
  return octets;
}

async function* packed(members: Members): AsyncGenerator<Uint8Array> {
  for (const [name, octets] of members) {
    yield tarHeader(name, octets.length, 0, 0o600);
    yield octets;
    yield tarPadding(octets.length);
  }
  yield tarEnd();
}

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(Uint8Array.from(piece));
  return Buffer.concat(all);
}
