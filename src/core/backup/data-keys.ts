/**
 * What an archive opens by itself: `keys/deks.json`, the data keys of everything that is sealed, so
 * that the KEK may be lost. The encryption of the archive alone protects them.
 */

import { Problem } from "#core/problems.ts";
import { many, optional, shape, text, WrongValue } from "#core/shape.ts";
import { ArchiveUnfit, memberNames } from "./archive.ts";

/** Data keys of 32 octets by what they open. */
export interface DataKeys {
  /** Of values in the database, by their places. */
  readonly values: ReadonlyMap<string, Uint8Array>;
  /**
   * Of software-held private keys, by their ids. Undefined in archives of releases that took along
   * none of them.
   */
  readonly privateKeys: ReadonlyMap<string, Uint8Array> | undefined;
}

/** Octets of the member, the keys in base64. */
export function encodeDataKeys({ values, privateKeys }: DataKeys): Uint8Array {
  const json = {
    values: [...values].map(([place, dek]) => ({ place, dek: dek.toBase64() })),
    private_keys: privateKeys && [...privateKeys].map(([id, dek]) => ({ id, dek: dek.toBase64() })),
  };
  return Buffer.from(`${JSON.stringify(json, undefined, 1)}\n`);
}

/** Reads the member. Throws `ArchiveUnfit` for what pkid does not write. */
export function parseDataKeys(octets: Uint8Array): DataKeys {
  try {
    const json: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(octets));
    const { values, private_keys } = member.read(json);
    return {
      values: byName(values.map(({ place, dek }) => [place, dek])),
      privateKeys: private_keys && byName(private_keys.map(({ id, dek }) => [id, dek])),
    };
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    throw new ArchiveUnfit(`${memberNames.dataKeys} of the archive is not what pkid writes.`);
  }
}

function byName(rows: readonly (readonly [string, string])[]): ReadonlyMap<string, Uint8Array> {
  const keys = new Map(rows.map(([name, dek]) => [name, Uint8Array.fromBase64(dek)]));
  if (keys.size !== rows.length) throw new WrongValue("names a data key twice");
  return keys;
}

const isUnreadable = (error: unknown): boolean =>
  error instanceof Problem ||
  error instanceof WrongValue ||
  error instanceof SyntaxError ||
  error instanceof TypeError;

/** 32 octets in base64, in its one spelling. */
const dek = text({ pattern: /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/ });
const member = shape({
  values: many(shape({ place: text({ min: 1, max: 1024 }), dek })),
  private_keys: optional(many(shape({ id: text({ pattern: /^[0-9a-f]{40}$/ }), dek }))),
});
