/**
 * No decoder takes more than time in proportion to what a stranger sends: thirty times the octets,
 * about thirty times the work.
 */

import { describe, expect, test } from "bun:test";

import { pkiSchema } from "#api/rpc/messages.ts";
import { readYaml } from "#config/yaml.ts";
import { canonicalGroup } from "#core/access/group-names.ts";
import { element, elementOf, explicit, oid, sequence, utf8String } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { readContacts } from "#core/acme/contacts.ts";
import { httpBodyMatches } from "#core/acme/challenges.ts";
import { dnsNameFault, readIdentifiers } from "#core/acme/identifiers.ts";
import { openFlattened } from "#core/acme/jws.ts";
import { readCertId } from "#core/acme/renewal.ts";
import { readJsonText } from "#core/acme/strict-json.ts";
import { decodePem, decodePemBlocks } from "#core/asn1/pem.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import { decodeMessage as decodeDns } from "#core/dns/message.ts";
import { parseJws } from "#core/jose/jws.ts";
import { parseIssueValue } from "#core/policy/caa.ts";
import { readMessageJson } from "#core/protobuf/json.ts";
import { decodeMessage, delimited } from "#core/protobuf/wire.ts";
import { parseSctList } from "#core/transparency/sct.ts";
import { list, mapOf, object, otherwise, readBody, text } from "#core/shape.ts";
import { rawOf } from "#core/shape/described.ts";
import {
  absoluteUrl,
  address,
  block,
  dnsName,
  hostAndPort,
  label,
  lines,
  objectId,
  serverAndPort,
  span,
} from "#core/shape/texts.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { parseExtensions } from "#core/x509/extensions.ts";
import { parseGeneralNames } from "#core/x509/general-names.ts";
import { parseNameConstraints } from "#core/x509/name-constraints.ts";
import { nameKey, parseNameText } from "#core/x509/name-text.ts";
import { nameText, parseName } from "#core/x509/names.ts";
import { parseAccess, parseDistributionPoints } from "#core/x509/pointers.ts";
import { cookieOf } from "#http/cookies.ts";
import { readAuthorization } from "#http/credentials.ts";
import { parseJson } from "#http/body.ts";
import { withKnown } from "#http/request.ts";

/** The decoder, what one repetition of hostile input is, and how it is put together. */
interface Shape {
  readonly name: string;
  /** A tenth of the repetitions in the larger input. */
  readonly small: number;
  make(count: number): unknown;
  decode(input: never): unknown;
}

const shape = <T>(
  name: string,
  small: number,
  make: (count: number) => T,
  decode: (input: T) => unknown,
  // `make` gives what `decode` takes, by the signature above.
) => ({ name, small, make, decode }) as Shape;

const rdn = element(tags.set, sequence(oid("2.5.4.3"), utf8String("x")));
const manyRdns = (count: number) => elementOf(tags.sequence, Array(count).fill(rdn));
const oneRdn = (count: number) => {
  const member = sequence(oid("2.5.4.3"), utf8String("x"));
  return sequence(elementOf(tags.set, Array(count).fill(member)));
};
const uri = element(contextual(6), Uint8Array.of(0x61));
const dns = element(contextual(2), Uint8Array.of(0x61));
const dotLeaders = element(contextual(2), Buffer.from(`${"a".repeat(900)}\u2024b`));
const extension = (at: number) => sequence(oid(`1.2.${at}`), element(tags.octetString));
const point = sequence(explicit(0, element(contextualConstructed(0), uri)));
const access = sequence(oid(oids.accessOcsp), uri);

/** Header, one question, and records that all name the question by a pointer. */
function dnsAnswer(count: number): Uint8Array {
  const head = Uint8Array.of(0, 1, 0x81, 0x80, 0, 1, count >> 8, count & 255, 0, 0, 0, 0);
  const question = Uint8Array.of(1, 0x61, 0, 0, 1, 0, 1);
  const record = Uint8Array.of(0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 1, 2, 3, 4);
  return Buffer.concat([head, question, ...Array<Uint8Array>(count).fill(record)]);
}

const crlEntry = sequence(element(tags.integer, Uint8Array.of(1)), time());
function crlOf(count: number): Uint8Array {
  const algorithm = sequence(oid(oids.ed25519));
  const entries = elementOf(tags.sequence, Array(count).fill(crlEntry));
  const tbs = sequence(algorithm, manyRdns(1), time(), entries);
  return sequence(tbs, algorithm, element(tags.bitString, Uint8Array.of(0)));
}
function time(): Uint8Array {
  return element(tags.utcTime, Buffer.from("260101000000Z"));
}

const fields = { names: otherwise(list(object({ a: text() }), 0, 10_000_000), []) };
const repeated = (piece: string) => (count: number) => piece.repeat(count);

const listPieces = ["a,", '"",', "[", " ", ","];
const textKinds = {
  url: absoluteUrl("base"),
  address,
  block,
  dnsName,
  hostAndPort,
  label,
  lines,
  objectId,
  serverAndPort,
  span,
};

/** What the work comes to, a refusal too. */
const outcome = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

const ofAcme: readonly Shape[] = [
  ['"a":1,', '"\\\\":"",', '"', '\\"', "{", "[", ":", '"a":{"b":[]},'].map((piece) =>
    shape(`strict JSON ${piece}`, 6000, (count) => `{${piece.repeat(count)}"z":0}`, readJsonText),
  ),
  ["A", "-", "=", " ", "+"].map((piece) =>
    shape(`base64url ${piece}`, 20_000, repeated(piece), (text) =>
      outcome(() => openFlattened({ protected: text, payload: text, signature: text })),
    ),
  ),
  ["a.", "*.", "-", "1.", "xn--a.", "ab--."].map((piece) =>
    shape(`ACME name ${piece}`, 6000, repeated(piece), dnsNameFault),
  ),
  shape(
    "ACME identifiers",
    2000,
    (count) => Array.from({ length: count }, (_, at) => ({ type: "dns", value: `${at}_.test` })),
    (value) => outcome(() => readIdentifiers(value, { max: 1e9, allowIp: true })),
  ),
  ["a", ".", "a.", "@", "a@"].map((piece) =>
    shape(`contact ${piece}`, 20_000, repeated(piece), (text) =>
      outcome(() => readContacts([`mailto:${text}`])),
    ),
  ),
  ["A", "."].map((piece) => shape(`certid ${piece}`, 20_000, repeated(piece), readCertId)),
  [" ", "\n", " a"].map((piece) =>
    shape(
      `http-01 body ${JSON.stringify(piece)}`,
      20_000,
      (count) => Buffer.from(piece.repeat(count)),
      (body) => httpBodyMatches(body, "a.b"),
    ),
  ),
].flat();

const shapes: readonly Shape[] = [
  ...ofAcme,
  ...["3a00", "3a0161", "0a0161"].map((hex) =>
    shape(
      `protobuf ${hex}`,
      1900,
      (count) => Buffer.from(hex.repeat(count), "hex"),
      (octets) => decodeMessage(pkiSchema, "PreviewCertificateRequest", octets),
    ),
  ),
  shape(
    "protobuf nested messages",
    900,
    (count) => Buffer.concat(Array(count).fill(delimited(6, delimited(1, Buffer.from("a"))))),
    (octets) => decodeMessage(pkiSchema, "CtResult", octets),
  ),
  shape(
    "protobuf JSON",
    20_000,
    (count) => ({ dnsNames: Array(count).fill("a") }),
    (value) => readMessageJson(pkiSchema, "PreviewCertificateRequest", value),
  ),
  ...["{},", '"",', "[],", '{"a":1},'].map((piece) =>
    shape(`JSON ${piece}`, 20_000, (count) => Buffer.from(`[${piece.repeat(count)}0]`), parseJson),
  ),
  shape(
    "JSON members",
    20_000,
    (count) =>
      Buffer.from(`{${Array.from({ length: count }, (_, at) => `"${at * 7919}":0`).join()}}`),
    parseJson,
  ),
  shape("JSON brackets", 20_000, (count) => Buffer.from("[".repeat(count)), parseJson),
  shape(
    "shapes",
    20_000,
    (count) => ({ names: Array(count).fill({ a: "" }) }),
    (body) => readBody(fields, body),
  ),
  shape(
    "mappings",
    6000,
    (count) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, ["a"]])),
    (value) => mapOf(list(text())).read(value),
  ),
  ...listPieces.map((piece) =>
    shape(`list from text ${piece}`, 6000, repeated(piece), (given) => rawOf(list(text()), given)),
  ),
  ...Object.entries({ ...textKinds, long: text({ max: 1e9, pattern: /^[a-z]+$/ }) }).flatMap(
    ([name, kind]) =>
      ["a", "1", ".", "a.", "1.", ":", "/", "-", " ", "\r\n"].map((piece) =>
        shape(`${name} ${JSON.stringify(piece)}`, 40_000, repeated(piece), (given) =>
          kind.read(given),
        ),
      ),
  ),
  shape("RDNs as text", 4000, manyRdns, (der) => nameText(parseName(der))),
  shape("an RDN of many as text", 4000, oneRdn, (der) => nameText(parseName(der))),
  shape("RDNs as key", 4000, manyRdns, (der) => nameKey({ der })),
  ...["CN=a,", "CN=a+", "CN=\\41", "CN= ", '" '].map((piece) =>
    shape(`name text ${piece}`, 4000, repeated(piece), parseNameText),
  ),
  shape("blanks in name text", 4000, (count) => `CN=${" ".repeat(count)}"`, parseNameText),
  shape(
    "general names",
    6000,
    (count) => elementOf(tags.sequence, Array(count).fill(dns)),
    parseGeneralNames,
  ),
  shape(
    "foreign general names",
    6,
    (count) => elementOf(tags.sequence, Array(count).fill(dotLeaders)),
    parseGeneralNames,
  ),
  shape(
    "extensions",
    6000,
    (count) =>
      elementOf(
        tags.sequence,
        Array.from({ length: count }, (_, at) => extension(at)),
      ),
    parseExtensions,
  ),
  shape(
    "distribution points",
    6000,
    (count) => elementOf(tags.sequence, Array(count).fill(point)),
    parseDistributionPoints,
  ),
  shape(
    "URLs of one point",
    20_000,
    (count) =>
      sequence(sequence(explicit(0, elementOf(contextualConstructed(0), Array(count).fill(uri))))),
    parseDistributionPoints,
  ),
  shape(
    "access descriptions",
    6000,
    (count) => elementOf(tags.sequence, Array(count).fill(access)),
    parseAccess,
  ),
  shape(
    "name constraints",
    6000,
    (count) => sequence(elementOf(contextualConstructed(0), Array(count).fill(sequence(dns)))),
    parseNameConstraints,
  ),
  shape("CRL entries", 4000, crlOf, parseCrl),
  shape(
    "SCTs",
    200,
    (count) =>
      Buffer.concat([Uint8Array.of(4, 0x82, 0, 0), ...Array(count).fill(Uint8Array.of(0, 1, 0))]),
    parseSctList,
  ),
  shape("DNS records", 400, dnsAnswer, decodeDns),
  ...["a.", "==.", "eyJh", ".", "-"].map((piece) =>
    shape(`JWS ${piece}`, 1600, repeated(piece), parseJws),
  ),
  ...["a;", "a-", "- ", "a=b;", " "].map((piece) =>
    shape(`CAA ${piece}`, 6000, repeated(piece), parseIssueValue),
  ),
  shape("PEM blocks", 400, repeated("-----BEGIN X-----\nAA==\n-----END X-----\n"), (pem) =>
    decodePemBlocks(pem, "X", 1e9),
  ),
  shape("PEM heads", 4000, repeated("-----BEGIN X-----\n"), (pem) =>
    decodePemBlocks(pem, "X", 1e9),
  ),
  shape(
    "PEM of blanks",
    40_000,
    (count) => `-----BEGIN X-----${" ".repeat(count)}-----END X-----`,
    (pem) => decodePem(pem, ["X"]),
  ),
  ...["Basic a", "", "Bearer"].map((piece) =>
    shape(
      `Authorization ${piece}`,
      3000,
      (count) => `${piece}${" ".repeat(count)}c`,
      readAuthorization,
    ),
  ),
  shape("cookies", 4000, repeated("pki_session=a; "), (header) => cookieOf(header, "pki_session")),
  ...["a=", "a", ""].map((piece) =>
    shape(`group name ${piece}`, 1600, (count) => `${piece}${" ".repeat(count)}"`, canonicalGroup),
  ),
  ...["a=b,", "a=b+", "a=\\41,", "a=\\ ,"].map((piece) =>
    shape(`group name ${piece}`, 1600, repeated(piece), canonicalGroup),
  ),
  shape(
    "parameters nobody knows",
    3000,
    (count) => Array.from({ length: count }, (_, at) => `${at}`).join("&"),
    (query) => withKnown(new URLSearchParams(query), { limit: text() }),
  ),
  ...[
    "a: 1\n",
    "- ",
    "- a\n",
    "{",
    "{a: ",
    "'",
    '"a" ',
    "a: {b: [",
    "? ",
    "&a ",
    "# \n",
    "a: |\n x\n",
  ].map((piece) =>
    shape(`YAML ${piece.trim()}`, 4000, repeated(piece), (yaml) => readYaml(yaml, "file", [])),
  ),
];

describe("thirty times the input takes about thirty times the work", () => {
  for (const { name, small, make, decode } of shapes) {
    test(name, () => {
      const [few, many] = [make(Math.ceil(small / 3)), make(small * 10)];
      // What `make` gave.
      const attempt = (input: unknown) => processorMs(() => decode(input as never));
      const quickest = (input: unknown) =>
        Math.min(...Array.from({ length: 4 }, () => attempt(input)));
      quickest(few);
      let taken = attempt(many);
      // A square law would make it 900 times; the floor keeps what is over at once from being a
      // matter of luck.
      const most = 200 * Math.max(quickest(few), floorMs);
      for (let again = 0; again < 10 && taken >= most; again++) {
        taken = Math.min(taken, attempt(many));
      }
      expect(taken).toBeLessThan(most);
    });
  }
});

test("a message of more fields than any of ours is a fault, wherever they nest", () => {
  const empty = delimited(6, new Uint8Array());
  const flat = Buffer.concat(Array<Uint8Array>(20_001).fill(empty));
  expect(() => decodeMessage(pkiSchema, "CtResult", flat)).toThrow("too many fields");
  const inner = Buffer.concat(Array<Uint8Array>(150).fill(delimited(1, Uint8Array.of(0x61))));
  const nested = Buffer.concat(Array<Uint8Array>(150).fill(delimited(6, inner)));
  expect(() => decodeMessage(pkiSchema, "CtResult", nested)).toThrow("too many fields");
  expect(decodeMessage(pkiSchema, "CtResult", flat.subarray(0, 20_000 * 2)).logs).toHaveLength(
    20_000,
  );
});

/** Returns the processor time of a run in milliseconds, without that of other processes. */
function processorMs(run: () => void): number {
  const begun = process.cpuUsage();
  try {
    run();
  } catch {
    // Refused is answered: what it took is what counts.
  }
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

const floorMs = 0.1;
