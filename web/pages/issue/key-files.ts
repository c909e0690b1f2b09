/**
 * Files with a private key, all encrypted: PKCS#8 and PKCS#12 with PBES2 of AES-256-CBC and
 * PBKDF2-HMAC-SHA-256 (RFC 8018), the MAC with SHA-256 (RFC 7292). Loaded when the first is made.
 */

import { BmpString, OctetString } from "asn1js";
import {
  Attribute,
  AuthenticatedSafe,
  CertBag,
  Certificate,
  ContentInfo,
  CryptoEngine,
  EncryptedContentInfo,
  EncryptedData,
  PFX,
  PKCS8ShroudedKeyBag,
  SafeBag,
  SafeContents,
} from "pkijs";
import { decodePemBlocks, encodePem } from "#core/asn1/pem.ts";
import type { PageKey } from "./page-key.ts";

/** PEM of the key, encrypted: what `openssl pkey` reads; a request may stand beside it. */
export async function keyFile(key: PageKey, passphrase: string): Promise<string> {
  const sealed = await key.seal((pkcs8) => shrouded(pkcs8, passphrase));
  return encodePem(sealedLabel, new Uint8Array(sealed.toSchema().toBER()));
}

/**
 * The octets of PKCS#8 in such a file; undefined for another file or another passphrase. Whoever
 * takes them overwrites them.
 */
export async function openedKeyFile(
  pem: string,
  passphrase: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const [der] = decodePemBlocks(pem, sealedLabel, 1) ?? [];
  if (der === undefined) return undefined;
  try {
    const bag = PKCS8ShroudedKeyBag.fromBER(new Uint8Array(der));
    const opened = await engine().decryptEncryptedContentInfo({
      password: octetsOf(passphrase),
      encryptedContentInfo: new EncryptedContentInfo({
        contentEncryptionAlgorithm: bag.encryptionAlgorithm,
        encryptedContent: bag.encryptedData,
      }),
    });
    return new Uint8Array(opened);
  } catch {
    // Neither what is no such file nor what decrypts to nothing is told apart by the library.
    return undefined;
  }
}

export interface Bundle {
  readonly key: PageKey;
  /** DER, the leaf first. */
  readonly certificates: readonly Uint8Array[];
  /** What key stores call the entry. */
  readonly name: string;
  readonly passphrase: string;
}

/** A PKCS#12 with the key, its certificate and those above it. */
export async function pkcs12({ key, certificates, name, passphrase }: Bundle): Promise<Blob> {
  const [leaf = new Uint8Array(0)] = certificates;
  const attributes = await attributesOf(name, leaf);
  const bag = await key.seal((pkcs8) => shrouded(pkcs8, passphrase));
  const keys = new SafeContents({
    safeBags: [new SafeBag({ bagId: oids.shroudedKey, bagValue: bag, bagAttributes: attributes })],
  });
  const certified = new SafeContents({
    safeBags: certificates.map(
      (der, index) =>
        new SafeBag({
          bagId: oids.certificate,
          bagValue: new CertBag({ parsedValue: Certificate.fromBER(new Uint8Array(der)) }),
          ...(index === 0 ? { bagAttributes: attributes } : {}),
        }),
    ),
  });
  const sealed = await encrypted(certified.toSchema().toBER(), passphrase);
  const authenticatedSafe = new AuthenticatedSafe({
    safeContents: [
      new ContentInfo({
        contentType: ContentInfo.ENCRYPTED_DATA,
        content: new EncryptedData({ encryptedContentInfo: sealed }).toSchema(),
      }),
      new ContentInfo({
        contentType: ContentInfo.DATA,
        content: new OctetString({ valueHex: keys.toSchema().toBER() }),
      }),
    ],
  });
  const file = new PFX({ parsedValue: { integrityMode: 0, authenticatedSafe } });
  const mac = {
    password: octetsOf(passphrase),
    iterations,
    pbkdf2HashAlgorithm: "SHA-256",
    hmacHashAlgorithm: "SHA-256",
  };
  await file.makeInternalValues(mac, engine());
  return new Blob([file.toSchema().toBER()], { type: "application/x-pkcs12" });
}

/** Java finds an entry by its friendly name; the local key id joins key and certificate. */
async function attributesOf(name: string, leaf: Uint8Array): Promise<Attribute[]> {
  const id = await crypto.subtle.digest("SHA-1", new Uint8Array(leaf));
  return [
    new Attribute({ type: oids.friendlyName, values: [new BmpString({ value: name })] }),
    new Attribute({ type: oids.localKeyId, values: [new OctetString({ valueHex: id })] }),
  ];
}

async function shrouded(
  pkcs8: Uint8Array<ArrayBuffer>,
  passphrase: string,
): Promise<PKCS8ShroudedKeyBag> {
  const { contentEncryptionAlgorithm, encryptedContent } = await encrypted(
    pkcs8.buffer,
    passphrase,
  );
  return new PKCS8ShroudedKeyBag({
    encryptionAlgorithm: contentEncryptionAlgorithm,
    ...(encryptedContent === undefined ? {} : { encryptedData: encryptedContent }),
  });
}

async function encrypted(content: ArrayBuffer, passphrase: string): Promise<EncryptedContentInfo> {
  const made = await engine().encryptEncryptedContentInfo({
    password: octetsOf(passphrase),
    // The types want an initialisation vector here; the library draws one of its own.
    contentEncryptionAlgorithm: { name: "AES-CBC", length: 256, iv: new Uint8Array(16) },
    hmacHashAlgorithm: "SHA-256",
    iterationCount: iterations,
    contentToEncrypt: content,
    contentType: ContentInfo.DATA,
  });
  // The library cuts the octets into pieces, which not every reader puts together again.
  made.encryptedContent = new OctetString({ valueHex: made.getEncryptedContent() });
  return made;
}

const engine = (): CryptoEngine => new CryptoEngine({ name: "browser", crypto });

const octetsOf = (passphrase: string): ArrayBuffer => new TextEncoder().encode(passphrase).buffer;

const oids = {
  shroudedKey: "1.2.840.113549.1.12.10.1.2",
  certificate: "1.2.840.113549.1.12.10.1.3",
  friendlyName: "1.2.840.113549.1.9.20",
  localKeyId: "1.2.840.113549.1.9.21",
} as const;

const sealedLabel = "ENCRYPTED PRIVATE KEY";

/**
 * Of each derivation: the most .NET takes by default, which is 300,000 for one and 1,000,000 for
 * the three of a file; OpenSSL, Java and Windows take more. Passphrases are long instead.
 */
const iterations = 300_000;
