/** Decodes a certificate field by field for reading; what is odd is shown as octets, and why. */

import { type Cursor, openSequence, readWhole } from "#core/asn1/cursor.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import {
  attempt,
  hex,
  hexOf,
  type Line,
  line,
  type Section,
  unread,
  type Value,
} from "./decoded.ts";
import { extensionSection, type FoundExtension } from "./extensions.ts";
import { digestOf, keyFingerprint, keyLines } from "./keys.ts";
import { nameLines } from "./names.ts";
import { algorithmWords, named } from "./words.ts";

/** The parts of a certificate that others look at too, each DER. */
export interface Parts {
  /** Decimal; the octets in hexadecimal where it is no serial. */
  readonly serial: Value;
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly notBefore: Value;
  readonly notAfter: Value;
  readonly spki: Uint8Array;
  readonly extensions: readonly FoundExtension[];
  readonly version: number;
  readonly algorithm: Uint8Array;
  readonly signature: Uint8Array;
}

/** Takes a certificate apart. Throws DerError for what is none. */
export function partsOf(der: Uint8Array): Parts {
  const signed = openSequence(der);
  const tbs = signed.enter(tags.sequence);
  signed.element(tags.sequence);
  const signature = signed.bits().octets;
  signed.finish();
  const version = (tbs.enterOptional(contextualConstructed(0))?.small() ?? 0) + 1;
  const serial = serialValue(tbs.content(tags.integer));
  const algorithm = tbs.element(tags.sequence);
  const issuer = tbs.element(tags.sequence);
  const validity = tbs.enter(tags.sequence);
  const [notBefore, notAfter] = [timeValue(validity.element()), timeValue(validity.element())];
  const subject = tbs.element(tags.sequence);
  const spki = tbs.element(tags.sequence);
  for (const number of [1, 2]) if (tbs.tag === contextual(number)) tbs.element();
  const extensions = extensionsIn(tbs.enterOptional(contextualConstructed(3)));
  const names = { issuer, subject, notBefore, notAfter };
  return { ...names, version, serial, algorithm, spki, extensions, signature };
}

/** Every section of a certificate in its order; one that says why where it is none. */
export function decodeCertificate(der: Uint8Array): readonly Section[] {
  const { value: parts, fault } = attempt(() => partsOf(der));
  if (parts === undefined) {
    return [{ name: "Certificate", lines: unread(der, undefined), fault: fault ?? "" }];
  }
  return [
    {
      name: "Certificate",
      lines: [
        line("Version", String(parts.version)),
        line("Serial", parts.serial, "unique under its issuer"),
      ],
    },
    { name: "Subject", lines: nameLines(parts.subject) },
    { name: "Issuer", lines: nameLines(parts.issuer) },
    {
      name: "Validity",
      lines: [line("Not before", parts.notBefore), line("Not after", parts.notAfter)],
    },
    { name: "Public key", lines: keyLines(parts.spki) },
    ...parts.extensions.map(extensionSection),
    { name: "Signature", lines: signatureLines(parts) },
  ];
}

/** The digests by which people and tools name a certificate and its key. */
export async function fingerprintSection(der: Uint8Array): Promise<Section> {
  const spki = attempt(() => partsOf(der).spki).value;
  const [sha256, sha1] = await Promise.all([digestOf("SHA-256", der), digestOf("SHA-1", der)]);
  const key = spki === undefined ? undefined : await keyFingerprint(spki);
  return {
    name: "Fingerprints",
    lines: [
      line("Certificate, SHA-256", { as: "hex", text: sha256 }),
      line("Certificate, SHA-1", { as: "hex", text: sha1 }, "Windows calls it the thumbprint"),
      ...(key === undefined ? [] : [line("Key, SHA-256", { as: "code", text: key })]),
    ],
  };
}

function extensionsIn(holder: Cursor | undefined): readonly FoundExtension[] {
  const found: FoundExtension[] = [];
  const list = holder?.enter(tags.sequence);
  while (list !== undefined && !list.finished) {
    const extension = list.enter(tags.sequence);
    const oid = extension.oid();
    const critical = extension.tag === tags.boolean && extension.boolean();
    found.push({ oid, critical, value: extension.octetString() });
  }
  return found;
}

function signatureLines({ algorithm, signature }: Parts): readonly Line[] {
  const dotted = attempt(() => openSequence(algorithm).oid()).value;
  const name = dotted === undefined ? hex(algorithm) : named(algorithmWords, dotted);
  return [line("Algorithm", name), line("Signature", hex(signature))];
}

/** A serial as pkid writes them; zero, negative and overlong ones, met in old roots, as octets. */
function serialValue(content: Uint8Array): Value {
  const usual = content.length > 0 && content.length <= 20 && (content[0] ?? 0) < 0x80;
  return usual
    ? { as: "serial", text: BigInt(`0x${hexOf(content)}`).toString() }
    : { as: "hex", text: hexOf(content) };
}

function timeValue(element: Uint8Array): Value {
  const at = attempt(() => readWhole(element, (cursor) => cursor.time())).value;
  return at === undefined ? hex(element) : { as: "time", text: new Date(at).toISOString() };
}
