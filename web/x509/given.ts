/**
 * What is pasted, dropped or chosen for a field of requests or certificates: taken when it is that,
 * and kept in the page when it is anything else. Only what is taken may be sent.
 */

import { encodePem } from "#core/asn1/pem.ts";
import { tags } from "#core/asn1/tags.ts";
import { sizeFault } from "#web/file-size.ts";
import { namesKey } from "#web/secret-text.ts";
import { base64In, isSecret, type Kind, kindOf } from "./kinds.ts";

/** What a field is for. */
export type Wanted = keyof typeof fields;

export type Given =
  | { readonly kind: "nothing" }
  /** PEM of what was parsed, with nothing of the text around it. */
  | { readonly kind: "taken"; readonly pem: string }
  | { readonly kind: "refused"; readonly sentence: string };

/** Reads a text: PEM, or base64 without armour. */
export function givenIn(text: string, wanted: Wanted): Given {
  const { lengthMax, words } = fields[wanted];
  if (text.trim() === "") return { kind: "nothing" };
  if (text.length > lengthMax) return refused(`This is too long for ${words}. ${nothingSent}`);
  // What is encrypted by itself, or broken, has no shape to be told by.
  if (namesKey(text)) return refused(secretSentence("private key"));
  const blocks = blocksIn(text);
  if (blocks !== undefined) return judged(blocks, wanted);
  return refused(`This is not ${words} in PEM or base64. ${nothingSent}`);
}

/** Reads a file, PEM or DER whatever its name ends in. */
export async function givenInFile(file: Blob, wanted: Wanted): Promise<Given> {
  const { lengthMax, words } = fields[wanted];
  const tooLarge = sizeFault(file.size, lengthMax);
  if (tooLarge !== undefined) return refused(tooLarge);
  try {
    const octets = new Uint8Array(await file.arrayBuffer());
    // A SEQUENCE begins with the digit zero in ASCII: no PEM and no base64 of DER begins so.
    if (octets[0] === tags.sequence) return judged([octets], wanted);
    const given = givenIn(new TextDecoder().decode(octets), wanted);
    return given.kind === "nothing" ? refused(`The file is empty, and not ${words}.`) : given;
  } catch {
    // A folder that was dropped, or a file that has gone.
    return refused("The file could not be read.");
  }
}

/** What the blocks are, whatever they are called. */
function judged(blocks: readonly Uint8Array[], wanted: Wanted): Given {
  const { kind, label, words, countMax } = fields[wanted];
  const kinds = blocks.map(kindOf);
  const secret = kinds.find((one) => one !== undefined && isSecret(one));
  if (secret !== undefined) return refused(secretSentence(secret));
  const other = kinds.find((one) => one !== kind);
  if (other !== undefined)
    return refused(`This is ${kindWords[other]}, not ${words}. ${nothingSent}`);
  if (kinds.includes(undefined)) return refused(`This is not ${words}. ${nothingSent}`);
  if (blocks.length > countMax) {
    return refused(`There are ${blocks.length} of them, and one is wanted. ${nothingSent}`);
  }
  return { kind: "taken", pem: blocks.map((der) => encodePem(label, der)).join("") };
}

/** The DER of every block of PEM, at least one; undefined where one cannot be read. */
function blocksIn(text: string): readonly Uint8Array[] | undefined {
  const begun = text.match(/-----BEGIN /g)?.length ?? 0;
  const bodies = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]{1,64})-----([^-]*)-----END \1-----/g)];
  if (begun !== bodies.length) return undefined;
  const given = begun === 0 ? [text] : bodies.map(([, , body = ""]) => body);
  const blocks = given.map(base64In).filter((der) => der !== undefined);
  return blocks.length === given.length ? blocks : undefined;
}

const refused = (sentence: string): Given => ({ kind: "refused", sentence });

const secretSentence = (kind: Kind): string =>
  `This is ${kindWords[kind]}: it stays here, and nothing was sent.`;

const kindWords: Readonly<Record<Kind, string>> = {
  "PKCS #12": "a PKCS #12 file, which may have a private key in it",
  "private key": "a private key",
  "encrypted private key": "an encrypted private key",
  certificate: "a certificate",
  request: "a certification request",
  "public key": "a public key",
};

const nothingSent = "Nothing was sent.";

/** As much as the operations take, or a little more, so that the server says what is wrong. */
// biome-ignore format: the table is read by column.
const fields = {
  request:      { kind: "request",     label: "CERTIFICATE REQUEST", words: "a certification request", countMax: 1,        lengthMax: 98_304 },
  certificate:  { kind: "certificate", label: "CERTIFICATE",         words: "a certificate",           countMax: 1,        lengthMax: 1_000_000 },
  certificates: { kind: "certificate", label: "CERTIFICATE",         words: "a chain of certificates", countMax: Number.MAX_SAFE_INTEGER, lengthMax: 1_000_000 },
} as const satisfies Record<string, FieldRow>;

interface FieldRow {
  readonly kind: Kind;
  readonly label: string;
  readonly words: string;
  readonly countMax: number;
  readonly lengthMax: number;
}
