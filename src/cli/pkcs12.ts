/** PKCS#12 stores: a key with its certificates under a passphrase, written and read (RFC 7292). */

import { createHmac, timingSafeEqual } from "node:crypto";

import { type Cursor, openSequence } from "#core/asn1/cursor.ts";
import {
  element,
  explicit,
  implicit,
  integer,
  nullElement,
  octetString,
  oid,
  sequence,
  setOf,
} from "#core/asn1/der.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import { sha256 } from "#core/crypto.ts";

import {
  type BagCipher,
  Iterations,
  iterations,
  pkcs12Key,
  purposes,
  seal,
  type StoreHash,
  unseal,
} from "./pkcs12-keys.ts";

/** What goes into a store. */
export interface StoreContents {
  /** PKCS#8. */
  readonly key: Uint8Array;
  /** The certificate of the key first, then those above it; DER. */
  readonly certificates: readonly Uint8Array[];
  /** Name by which Java and browsers show the entry. */
  readonly friendlyName: string;
}

/**
 * A store of today (AES-256, PBKDF2, HMAC-SHA-256), or one for Java before 8u301 and Windows before
 * 10, which know triple DES and SHA-1 only.
 */
export function encodePkcs12(
  { key, certificates, friendlyName }: StoreContents,
  passphrase: string,
  cipher: BagCipher,
): Uint8Array {
  const keyId = sha256(certificates[0] ?? new Uint8Array()).subarray(0, 20);
  const own = setOf([nameAttribute(friendlyName), idAttribute(keyId)]);
  const certBags = certificates.map((der, at) => certBag(der, at === 0 ? own : undefined));
  const sealedKey = seal(key, passphrase, cipher);
  const shrouded = sequence(sealedKey.algorithm, octetString(sealedKey.octets));
  const keyBag = sequence(oid(bags.shroudedKey), explicit(0, shrouded), own);
  const safes = sequence(
    encryptedContent(seal(sequence(...certBags), passphrase, cipher)),
    plainContent(sequence(keyBag)),
  );
  const hash = cipher === "3des" ? "sha1" : "sha256";
  return sequence(integer(3), plainContent(safes), macOf(safes, passphrase, hash));
}

/**
 * The private keys of a store, PKCS#8; undefined for another passphrase, or an encryption nobody
 * uses any more. Throws DerError.
 */
export function keysInPkcs12(
  der: Uint8Array,
  passphrase: string,
): readonly Uint8Array[] | undefined {
  const store = openSequence(der);
  store.small();
  const safes = readPlain(store.enter(tags.sequence));
  const secret = { passphrase, allowed: new Iterations() };
  if (!store.finished && !macFits(store.enter(tags.sequence), safes, secret)) return undefined;
  const keys: Uint8Array[] = [];
  for (const list = openSequence(safes); !list.finished; ) {
    const contents = readSafe(list.enter(tags.sequence), secret);
    if (contents === undefined) return undefined;
    for (const found = openSequence(contents); !found.finished; ) {
      const bag = found.enter(tags.sequence);
      const type = bag.oid();
      const value = bag.enter(contextualConstructed(0));
      if (type === bags.key) keys.push(value.element(tags.sequence));
      if (type !== bags.shroudedKey) continue;
      const shrouded = value.enter(tags.sequence);
      const sealed = { algorithm: shrouded.element(tags.sequence), octets: shrouded.octetString() };
      const key = unseal(sealed, passphrase, secret.allowed);
      if (key === undefined) return undefined;
      keys.push(key);
    }
  }
  return keys;
}

/** What a store holds; private keys stay inside. */
export interface OpenedStore {
  readonly keys: number;
  readonly certificates: readonly Uint8Array[];
  readonly names: readonly string[];
}

/**
 * Reads a store; undefined for another passphrase, or an encryption nobody uses any more. Throws
 * DerError.
 */
export function openPkcs12(der: Uint8Array, passphrase: string): OpenedStore | undefined {
  const store = openSequence(der);
  store.small();
  const safes = readPlain(store.enter(tags.sequence));
  const allowed = new Iterations();
  const secret = { passphrase, allowed };
  if (!store.finished && !macFits(store.enter(tags.sequence), safes, secret)) return undefined;
  const found: Found = { keys: 0, certificates: [], names: new Set() };
  const list = openSequence(safes);
  while (!list.finished) {
    const contents = readSafe(list.enter(tags.sequence), secret);
    if (contents === undefined) return undefined;
    readBags(openSequence(contents), found);
  }
  return { keys: found.keys, certificates: found.certificates, names: [...found.names] };
}

interface Found {
  keys: number;
  readonly certificates: Uint8Array[];
  readonly names: Set<string>;
}

function readBags(list: Cursor, found: Found): void {
  while (!list.finished) {
    const bag = list.enter(tags.sequence);
    const type = bag.oid();
    const value = bag.enter(contextualConstructed(0));
    if (type === bags.key || type === bags.shroudedKey) found.keys++;
    if (type === bags.certificate) {
      const certificate = value.enter(tags.sequence);
      if (certificate.oid() === x509Certificate) {
        found.certificates.push(certificate.enter(contextualConstructed(0)).octetString());
      }
    }
    if (!bag.finished) readNames(bag.enter(tags.set), found.names);
  }
}

function readNames(attributes: Cursor, names: Set<string>): void {
  while (!attributes.finished) {
    const attribute = attributes.enter(tags.sequence);
    if (attribute.oid() !== attributeTypes.friendlyName) continue;
    const values = attribute.enter(tags.set);
    names.add(Buffer.from(values.content(tags.bmpString)).swap16().toString("utf16le"));
  }
}

/** What opens a store, and what that may cost. */
interface Secret {
  readonly passphrase: string;
  readonly allowed: Iterations;
}

function readSafe(content: Cursor, { passphrase, allowed }: Secret): Uint8Array | undefined {
  const type = content.oid();
  if (type === contents.plain) return content.enter(contextualConstructed(0)).octetString();
  const encrypted = content.enter(contextualConstructed(0)).enter(tags.sequence);
  encrypted.small();
  const inner = encrypted.enter(tags.sequence);
  inner.oid();
  const algorithm = inner.element(tags.sequence);
  return unseal({ algorithm, octets: inner.content(contextual(0)) }, passphrase, allowed);
}

function readPlain(content: Cursor): Uint8Array {
  content.oid();
  return content.enter(contextualConstructed(0)).octetString();
}

function macFits(mac: Cursor, safes: Uint8Array, { passphrase, allowed }: Secret): boolean {
  const digest = mac.enter(tags.sequence);
  const hash = macHashes.get(digest.enter(tags.sequence).oid());
  const expected = digest.octetString();
  const salt = mac.octetString();
  const rounds = allowed.take(mac.finished ? 1 : mac.small());
  if (hash === undefined) return false;
  const made = hmac(safes, { passphrase, salt, hash, rounds });
  return made.length === expected.length && timingSafeEqual(made, expected);
}

function macOf(safes: Uint8Array, passphrase: string, hash: "sha1" | "sha256"): Uint8Array {
  const salt = crypto.getRandomValues(new Uint8Array(16));
  const made = hmac(safes, { passphrase, salt, hash, rounds: iterations });
  const algorithm = sequence(oid(hash === "sha1" ? sha1Oid : sha256Oid), nullElement());
  const digest = sequence(algorithm, octetString(made));
  return sequence(digest, octetString(salt), integer(iterations));
}

function hmac(
  safes: Uint8Array,
  of: {
    readonly passphrase: string;
    readonly salt: Uint8Array;
    readonly hash: StoreHash;
    readonly rounds: number;
  },
): Buffer {
  const { hash } = of;
  const length = macLengths[hash];
  const purpose = purposes.mac;
  const key = pkcs12Key(of.passphrase, of.salt, { hash, iterations: of.rounds, purpose, length });
  return createHmac(hash, key).update(safes).digest();
}

function certBag(der: Uint8Array, attributes: Uint8Array | undefined): Uint8Array {
  const value = sequence(oid(x509Certificate), explicit(0, octetString(der)));
  const bag = [oid(bags.certificate), explicit(0, value)];
  return sequence(...bag, ...(attributes === undefined ? [] : [attributes]));
}

const plainContent = (content: Uint8Array): Uint8Array =>
  sequence(oid(contents.plain), explicit(0, octetString(content)));

function encryptedContent({ algorithm, octets }: ReturnType<typeof seal>): Uint8Array {
  const inner = sequence(oid(contents.plain), algorithm, implicit(0, octets));
  return sequence(oid(contents.encrypted), explicit(0, sequence(integer(0), inner)));
}

function nameAttribute(name: string): Uint8Array {
  const text = element(tags.bmpString, new Uint8Array(Buffer.from(name, "utf16le").swap16()));
  return sequence(oid(attributeTypes.friendlyName), setOf([text]));
}

const idAttribute = (id: Uint8Array): Uint8Array =>
  sequence(oid(attributeTypes.localKeyId), setOf([octetString(id)]));

const contents = { plain: "1.2.840.113549.1.7.1", encrypted: "1.2.840.113549.1.7.6" } as const;
const bags = {
  key: "1.2.840.113549.1.12.10.1.1",
  shroudedKey: "1.2.840.113549.1.12.10.1.2",
  certificate: "1.2.840.113549.1.12.10.1.3",
} as const;
const attributeTypes = {
  friendlyName: "1.2.840.113549.1.9.20",
  localKeyId: "1.2.840.113549.1.9.21",
} as const;
const x509Certificate = "1.2.840.113549.1.9.22.1";
const sha1Oid = "1.3.14.3.2.26";
const sha256Oid = "2.16.840.1.101.3.4.2.1";
const macHashes: ReadonlyMap<string, StoreHash> = new Map<string, StoreHash>([
  [sha1Oid, "sha1"],
  [sha256Oid, "sha256"],
  ["2.16.840.1.101.3.4.2.2", "sha384"],
  ["2.16.840.1.101.3.4.2.3", "sha512"],
]);
const macLengths: Readonly<Record<StoreHash, number>> = {
  sha1: 20,
  sha256: 32,
  sha384: 48,
  sha512: 64,
};
