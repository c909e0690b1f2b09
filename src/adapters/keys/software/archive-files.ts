/** The files of a software key store, as an archive takes them along: sealed, as they are. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import type { DataKeys } from "#core/backup/data-keys.ts";
import { type Envelope, openEnvelope } from "#core/envelope.ts";

import { contextOf, isEnveloped, type KeyFile, parseKeyFile, storeIdFile } from "./key-file.ts";

/**
 * Every file that the key store has written, by its name; none of them opens without the master
 * key, which is not among them, wherever it lies. `master` is its path. What others have put beside
 * them, a PIN perhaps, is not for an archive.
 */
export function keyStoreFiles(
  directory: string,
  master: string | undefined,
): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const name of readdirSync(directory).sort()) {
    const path = join(directory, name);
    // What is being written has a name of its own, and is in the database only afterwards.
    if (!ownFile.test(name) || path === master) continue;
    const facts = statSync(path, { throwIfNoEntry: false });
    if (facts?.isFile()) files.set(name, readFileSync(path));
  }
  return files;
}

/** A private key, and whether its data key opens it. */
export interface TriedKey {
  /** Its id where the file is damaged. */
  readonly label: string;
  /** The version of the KEK it is sealed under; undefined for none, and for a damaged file. */
  readonly kekVersion: number | undefined;
  readonly opens: boolean;
}

/**
 * Every private key among the files of a key store, tried with the data key that is there under its
 * id; what opens is wiped.
 */
export function triedKeys(
  files: ReadonlyMap<string, Uint8Array>,
  dataKeys: DataKeys["privateKeys"] = new Map(),
): readonly TriedKey[] {
  const storeId = Buffer.from(files.get(storeIdFile) ?? []).toString("utf8");
  const names = [...files.keys()].filter((name) => name.endsWith(keySuffix));
  return names.map((name): TriedKey => {
    const id = name.slice(0, -keySuffix.length);
    const file = parseKeyFile(files.get(name) ?? new Uint8Array(), id);
    if (file === undefined) return { label: id, kekVersion: undefined, opens: false };
    const { label } = file;
    // As an earlier release sealed it, under the master key itself.
    if (!isEnveloped(file)) return { label, kekVersion: undefined, opens: false };
    const opens = opensBy(file, dataKeys.get(id), storeId);
    return { label, kekVersion: file.sealed.kekVersion, opens };
  });
}

type Enveloped = KeyFile & { readonly sealed: Envelope };

function opensBy(file: Enveloped, dek: Uint8Array | undefined, storeId: string): boolean {
  const content = dek && openEnvelope(file.sealed, dek, contextOf(storeId, file));
  content?.fill(0);
  return content !== undefined;
}

/** The newest version of the KEK that one of the keys is sealed under; 0 for none. */
export function newestKekIn(files: ReadonlyMap<string, Uint8Array>): number {
  let newest = 0;
  for (const [name, octets] of files) {
    if (!name.endsWith(keySuffix)) continue;
    const file = parseKeyFile(octets, name.slice(0, -keySuffix.length));
    if (file !== undefined && isEnveloped(file)) newest = Math.max(newest, file.sealed.kekVersion);
  }
  return newest;
}

const keySuffix = ".key";
/** Sealed keys, KEKs and their ML-KEM halves, the name of the store, and what tells its master. */
const ownFile = /^(?:[0-9a-f]{40}\.(?:key|kek|mlkem)|store-id|master\.(?:salt|check))$/;
