/** What the extensions of a CA certificate say, in lines to read; octets where it is not known. */

import { type Cursor, DerError, openDer, openSequence } from "#core/asn1/cursor.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodeAscii } from "#core/asn1/strings.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import { parseNameConstraints, type Subtrees } from "#core/x509/name-constraints.ts";
import { nameText, parseName } from "#core/x509/names.ts";

export interface ExtensionLine {
  readonly name: string;
  readonly critical: boolean;
  readonly values: readonly string[];
}

/** One line for each; undefined where the text is no certificate. */
export function extensionLines(pem: string): readonly ExtensionLine[] | undefined {
  const der = decodePem(pem, ["CERTIFICATE"]);
  return der === undefined ? undefined : read(() => linesOf(extensionsOf(der)));
}

/** RFC 5280 §4.1: the last field of the part that is signed. */
function extensionsOf(der: Uint8Array): Cursor {
  const tbs = openSequence(der).enter(tags.sequence);
  while (tbs.tag !== contextualConstructed(3)) tbs.element();
  return tbs.enter(contextualConstructed(3)).enter(tags.sequence);
}

function linesOf(list: Cursor): readonly ExtensionLine[] {
  const lines: ExtensionLine[] = [];
  while (!list.finished) {
    const extension = list.enter(tags.sequence);
    const dotted = extension.oid();
    const critical = extension.tag === tags.boolean && extension.boolean();
    const octets = extension.octetString();
    const [name, values] = readers[dotted] ?? [dotted, hexadecimal];
    const known = read(() => values(octets));
    lines.push({ name, critical, values: known ?? hexadecimal(octets) });
  }
  return lines;
}

type Reader = (octets: Uint8Array) => readonly string[];

function constraintsWords(octets: Uint8Array): readonly string[] {
  const cursor = openSequence(octets);
  const ca = cursor.tag === tags.boolean && cursor.boolean();
  const length = cursor.tag === tags.integer ? cursor.small() : undefined;
  if (!ca) return ["not a CA"];
  return length === undefined ? ["a CA"] : ["a CA", `path length ${length}`];
}

function usageWords(octets: Uint8Array): readonly string[] {
  const { octets: flags, unused } = openDer(octets).bits();
  const set = (bit: number) => ((flags[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0;
  return usages.filter((_, bit) => bit < flags.length * 8 - unused && set(bit));
}

const purposes: Reader = (octets) => allOf(openSequence(octets), (cursor) => wordOf(cursor.oid()));

const keyIdentifier: Reader = (octets) => hexadecimal(openDer(octets).octetString());

function issuerKey(octets: Uint8Array): readonly string[] {
  const cursor = openSequence(octets);
  return cursor.tag === contextual(0) ? hexadecimal(cursor.content(contextual(0))) : [];
}

function subtreesWords(octets: Uint8Array): readonly string[] {
  const { permitted, excluded } = parseNameConstraints(octets);
  return [...subtreeWords("only", permitted), ...subtreeWords("never", excluded)];
}

const subtreeWords = (kind: string, { dirNames, ...texts }: Subtrees): readonly string[] => [
  ...Object.entries(texts).flatMap(([type, names]) =>
    names.map((name) => `${kind} ${type} ${name === "" ? "(all)" : name}`),
  ),
  ...dirNames.map((name) => `${kind} name ${nameText(parseName(name))}`),
];

function policyWords(octets: Uint8Array): readonly string[] {
  return allOf(openSequence(octets), (list) => {
    const policy = list.enter(tags.sequence);
    const dotted = policy.oid();
    const addresses = policy.finished ? [] : allOf(policy.enter(tags.sequence), qualifierText);
    return [dotted, ...addresses.filter((text) => text !== "")].join(" ");
  });
}

function qualifierText(list: Cursor): string {
  const qualifier = list.enter(tags.sequence);
  if (qualifier.oid() !== oids.policyCps) return "";
  return decodeAscii(qualifier.content(tags.ia5String));
}

const mappingWords: Reader = (octets) =>
  allOf(openSequence(octets), (list) => {
    const pair = list.enter(tags.sequence);
    return `${pair.oid()}:${pair.oid()}`;
  });

function policyLimits(octets: Uint8Array): readonly string[] {
  const cursor = openSequence(octets);
  const words: string[] = [];
  for (const [number, text] of limits) {
    if (cursor.tag === contextual(number))
      words.push(`${text} ${cursor.small(contextual(number))}`);
  }
  return words;
}

function accessWords(octets: Uint8Array): readonly string[] {
  return allOf(openSequence(octets), (list) => {
    const description = list.enter(tags.sequence);
    return `${wordOf(description.oid())}: ${addressText(description)}`;
  });
}

function pointsWords(octets: Uint8Array): readonly string[] {
  return allOf(openSequence(octets), (list) => {
    const point = list.enter(tags.sequence);
    const full = point
      .enterOptional(contextualConstructed(0))
      ?.enterOptional(contextualConstructed(0));
    return full === undefined ? "" : addressText(full);
  });
}

/** URIs alone: nothing else is an address. */
function addressText(names: Cursor): string {
  if (names.tag !== contextual(6)) return "";
  return decodeAscii(names.content(contextual(6)));
}

function allOf(list: Cursor, one: (list: Cursor) => string): readonly string[] {
  const found: string[] = [];
  while (!list.finished) found.push(one(list));
  return found;
}

/** What was in somebody's certificate may be anything. */
function read<T>(reading: () => T): T | undefined {
  try {
    return reading();
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

const hexadecimal = (octets: Uint8Array): readonly string[] => [
  octets.length > hexMax
    ? `${octets.length} octets`
    : octets.toHex().replace(/(.{4})(?=.)/g, "$1 "),
];

const wordOf = (dotted: string): string => words[dotted] ?? dotted;

const words: Readonly<Record<string, string>> = {
  [oids.serverAuth]: "serverAuth",
  [oids.clientAuth]: "clientAuth",
  [oids.ocspSigning]: "OCSPSigning",
  [oids.accessOcsp]: "OCSP",
  [oids.accessCaIssuers]: "issuer",
  "1.3.6.1.5.5.7.3.3": "codeSigning",
  "1.3.6.1.5.5.7.3.4": "emailProtection",
  "1.3.6.1.5.5.7.3.8": "timeStamping",
};

/** RFC 5280 §4.2.1.3: in the order of their bits. */
const usages = [
  "digitalSignature",
  "nonRepudiation",
  "keyEncipherment",
  "dataEncipherment",
  "keyAgreement",
  "keyCertSign",
  "cRLSign",
  "encipherOnly",
  "decipherOnly",
];

const limits = [
  [0, "policies required after"],
  [1, "no mapping after"],
] as const;

// biome-ignore format: the table is read by column.
const readers: Readonly<Record<string, readonly [string, Reader]>> = {
  [oids.basicConstraints]:        ["Basic constraints",         constraintsWords],
  [oids.keyUsage]:                ["Key usage",                 usageWords],
  [oids.extKeyUsage]:             ["Extended key usage",        purposes],
  [oids.subjectKeyIdentifier]:    ["Subject key identifier",    keyIdentifier],
  [oids.authorityKeyIdentifier]:  ["Authority key identifier",  issuerKey],
  [oids.nameConstraints]:         ["Name constraints",          subtreesWords],
  [oids.certificatePolicies]:     ["Policies",                  policyWords],
  [oids.policyMappings]:          ["Policy mappings",           mappingWords],
  [oids.policyConstraints]:       ["Policy constraints",        policyLimits],
  [oids.authorityInfoAccess]:     ["Addresses",                 accessWords],
  [oids.crlDistributionPoints]:   ["CRLs",                      pointsWords],
  [oids.subjectAltPublicKeyInfo]: ["Second key",                hexadecimal],
  [oids.altSignatureAlgorithm]:   ["Second signature: with",    hexadecimal],
  [oids.altSignatureValue]:       ["Second signature",          hexadecimal],
};

const hexMax = 64;
