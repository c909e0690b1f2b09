/** THE EXTENSIONS a page reads out, one row each; any other is shown by its OID and its octets. */

import { type Cursor, openDer, openSequence, readWhole } from "#core/asn1/cursor.ts";
import { decodeText, isTextTag } from "#core/asn1/strings.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import { parseNameConstraints, type Subtrees } from "#core/x509/name-constraints.ts";
import {
  attempt,
  hex,
  type Line,
  line,
  type Section,
  text,
  unread,
  type Value,
} from "./decoded.ts";
import { generalNameLines, nameInWords, readGeneralName } from "./names.ts";
import { sctLines } from "./scts.ts";
import {
  accessWords,
  algorithmWords,
  keyUsageWords,
  named,
  policyWords,
  purposeWords,
} from "./words.ts";

export interface FoundExtension {
  readonly oid: string;
  readonly critical: boolean;
  /** The DER within the OCTET STRING. */
  readonly value: Uint8Array;
}

interface Row {
  readonly name: string;
  readonly hint?: string;
  readonly read: (value: Uint8Array) => readonly Line[];
}

/** An extension as a section, however odd it is. */
export function extensionSection({ oid, critical, value }: FoundExtension): Section {
  const row = Object.hasOwn(table, oid) ? table[oid] : undefined;
  const head = { name: row?.name ?? "Extension that is not read here", oid, critical };
  if (row === undefined) return { ...head, lines: [line("Octets", hex(value))] };
  const { value: lines, fault } = attempt(() => row.read(value));
  if (lines !== undefined) return { ...head, hint: row.hint, lines };
  return { ...head, hint: row.hint, lines: unread(value, undefined), fault: fault ?? "" };
}

const octets = (value: Uint8Array): readonly Line[] => [line("Octets", hex(value))];
const nothing = (): readonly Line[] => [];

// biome-ignore format: the table is read by column.
const table: Readonly<Record<string, Row>> = {
  "2.5.29.14":               { name: "Subject key identifier", read: keyIdentifier, hint: "Names the key; certificates below name their issuer's." },
  "2.5.29.15":               { name: "Key usage", read: keyUsage, hint: "What the key may do." },
  "2.5.29.17":               { name: "Subject alternative names", read: names, hint: "The names it is valid for; clients look here and not at the common name." },
  "2.5.29.18":               { name: "Issuer alternative names", read: names },
  "2.5.29.19":               { name: "Basic constraints", read: basicConstraints, hint: "Whether it may sign other certificates." },
  "2.5.29.30":               { name: "Name constraints", read: nameConstraints, hint: "The names that certificates below may have." },
  "2.5.29.31":               { name: "CRL distribution points", read: distributionPoints, hint: "Where the list of revoked certificates is." },
  "2.5.29.32":               { name: "Certificate policies", read: policies, hint: "The rules under which it was issued." },
  "2.5.29.33":               { name: "Policy mappings", read: policyMappings },
  "2.5.29.35":               { name: "Authority key identifier", read: authorityKey, hint: "Names the key that signed it." },
  "2.5.29.36":               { name: "Policy constraints", read: policyConstraints },
  "2.5.29.37":               { name: "Extended key usage", read: purposes, hint: "What it is for." },
  "2.5.29.46":               { name: "Freshest CRL", read: distributionPoints, hint: "Where the latest changes to the list are." },
  "2.5.29.54":               { name: "Inhibit anyPolicy", read: skipped },
  "2.5.29.72":               { name: "Alternative public key", read: octets, hint: "The second key of a hybrid certificate." },
  "2.5.29.73":               { name: "Alternative signature algorithm", read: alternativeAlgorithm },
  "2.5.29.74":               { name: "Alternative signature", read: octets, hint: "The second signature of a hybrid certificate." },
  "1.3.6.1.5.5.7.1.1":       { name: "Authority information access", read: access, hint: "Where its status and its issuer are found." },
  "1.3.6.1.5.5.7.1.3":       { name: "Qualified certificate statements", read: statements },
  "1.3.6.1.5.5.7.1.11":      { name: "Subject information access", read: access },
  "1.3.6.1.5.5.7.1.24":      { name: "TLS features", read: tlsFeatures, hint: "What its server promises to do." },
  "1.3.6.1.5.5.7.1.31":      { name: "ACME identifier", read: octets, hint: "Proves control over a name to a CA; of no other use." },
  "1.3.6.1.5.5.7.48.1.5":    { name: "OCSP no check", read: nothing, hint: "Its own status is not asked for." },
  "1.3.6.1.4.1.11129.2.4.2": { name: "Signed certificate timestamps", read: sctLines, hint: "Transparency logs that promise to list it." },
  "1.3.6.1.4.1.11129.2.4.3": { name: "Precertificate poison", read: nothing, hint: "No certificate, but what logs are asked about." },
  "1.3.6.1.4.1.311.20.2":    { name: "Certificate template (Windows)", read: oneText },
  "1.3.6.1.4.1.311.21.7":    { name: "Certificate template (Windows)", read: template },
  "2.16.840.1.113730.1.13":  { name: "Comment (Netscape)", read: oneText },
};

function keyIdentifier(value: Uint8Array): readonly Line[] {
  return [line("Key", hex(readWhole(value, (cursor) => cursor.octetString())))];
}

function keyUsage(value: Uint8Array): readonly Line[] {
  const { octets } = readWhole(value, (cursor) => cursor.bits());
  const set = (bit: number) => ((octets[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0;
  return keyUsageWords.filter((_, bit) => set(bit)).map(([word, does]) => line(word, does));
}

function names(value: Uint8Array): readonly Line[] {
  return generalNameLines(openSequence(value));
}

function basicConstraints(value: Uint8Array): readonly Line[] {
  const constraints = openSequence(value);
  const ca = constraints.tag === tags.boolean && constraints.boolean();
  const length = constraints.tag === tags.integer ? constraints.small() : undefined;
  constraints.finish();
  const below = length === undefined ? [] : [line("CAs below it", `at most ${length} in a row`)];
  return [line("CA", ca ? "yes" : "no"), ...below];
}

function nameConstraints(value: Uint8Array): readonly Line[] {
  const { permitted, excluded } = parseNameConstraints(value);
  return [...subtreeLines("Permitted", permitted), ...subtreeLines("Excluded", excluded)];
}

function subtreeLines(which: string, subtrees: Subtrees): readonly Line[] {
  const { dns, ip, email, uri, dirNames } = subtrees;
  const kinds = [
    ["DNS", dns],
    ["IP addresses", ip],
    ["E-mail", email],
    ["URI", uri],
    ["Directory names", dirNames.map(nameInWords)],
  ] as const;
  return kinds
    .filter(([, bases]) => bases.length > 0)
    .map(([kind, bases]) => ({ name: `${which}: ${kind}`, values: bases.map(text) }));
}

function distributionPoints(value: Uint8Array): readonly Line[] {
  const places: Value[] = [];
  const points = openSequence(value);
  while (!points.finished) {
    const point = points.enter(tags.sequence);
    const full = point
      .enterOptional(contextualConstructed(0))
      ?.enterOptional(contextualConstructed(0));
    while (full !== undefined && !full.finished) places.push(readGeneralName(full).value);
  }
  return [{ name: "Place", values: places }];
}

function policies(value: Uint8Array): readonly Line[] {
  const lines: Line[] = [];
  const list = openSequence(value);
  while (!list.finished) {
    const policy = list.enter(tags.sequence);
    lines.push(line("Policy", named(policyWords, policy.oid())));
    const qualifiers = policy.enterOptional(tags.sequence);
    while (qualifiers !== undefined && !qualifiers.finished) {
      lines.push(qualifierLine(qualifiers.enter(tags.sequence)));
    }
  }
  return lines;
}

function qualifierLine(qualifier: Cursor): Line {
  const type = qualifier.oid();
  if (type === "1.3.6.1.5.5.7.2.1") return line("Practice statement", textIn(qualifier));
  return line(type === "1.3.6.1.5.5.7.2.2" ? "Notice" : type, hex(qualifier.element()));
}

function policyMappings(value: Uint8Array): readonly Line[] {
  const lines: Line[] = [];
  const list = openSequence(value);
  while (!list.finished) {
    const pair = list.enter(tags.sequence);
    lines.push(line(pair.oid(), `counts as ${pair.oid()}`));
  }
  return lines;
}

function authorityKey(value: Uint8Array): readonly Line[] {
  const lines: Line[] = [];
  const identifier = openSequence(value);
  if (identifier.tag === contextual(0)) {
    lines.push(line("Key", hex(identifier.content(contextual(0)))));
  }
  const issuer = identifier.enterOptional(contextualConstructed(1));
  if (issuer !== undefined) lines.push(...generalNameLines(issuer));
  if (identifier.tag === contextual(2)) {
    lines.push(line("Serial of the issuer", hex(identifier.content(contextual(2)))));
  }
  return lines;
}

function policyConstraints(value: Uint8Array): readonly Line[] {
  const lines: Line[] = [];
  const constraints = openSequence(value);
  for (const [tag, name] of [
    [0, "A policy is required"],
    [1, "Policies are not mapped"],
  ] as const) {
    if (constraints.tag !== contextual(tag)) continue;
    const skip = constraints.small(contextual(tag));
    lines.push(line(name, skip === 0 ? "from here on" : `after ${skip} certificates`));
  }
  constraints.finish();
  return lines;
}

function purposes(value: Uint8Array): readonly Line[] {
  const values: Value[] = [];
  const list = openSequence(value);
  while (!list.finished) values.push(text(named(purposeWords, list.oid())));
  return [{ name: "Purpose", values }];
}

function skipped(value: Uint8Array): readonly Line[] {
  return [line("Certificates it spares", String(readWhole(value, (cursor) => cursor.small())))];
}

function alternativeAlgorithm(value: Uint8Array): readonly Line[] {
  return [line("Algorithm", named(algorithmWords, openSequence(value).oid()))];
}

function access(value: Uint8Array): readonly Line[] {
  const lines: Line[] = [];
  const list = openSequence(value);
  while (!list.finished) {
    const description = list.enter(tags.sequence);
    const method = named(accessWords, description.oid());
    const place = readGeneralName(description).value;
    lines.push(line(method.replace(/ \([\d.]+\)$/, ""), place));
  }
  return lines;
}

function statements(value: Uint8Array): readonly Line[] {
  const values: Value[] = [];
  const list = openSequence(value);
  while (!list.finished) values.push(text(list.enter(tags.sequence).oid()));
  return [{ name: "Statement", values }];
}

function tlsFeatures(value: Uint8Array): readonly Line[] {
  const lines: Line[] = [];
  const list = openSequence(value);
  while (!list.finished) {
    const feature = list.small();
    const staple = feature === 5;
    lines.push(
      line("Feature", staple ? "status request (5)" : String(feature), staple ? mustStaple : ""),
    );
  }
  return lines;
}

function oneText(value: Uint8Array): readonly Line[] {
  return [line("Text", textIn(openDer(value)))];
}

function template(value: Uint8Array): readonly Line[] {
  return [line("Template", openSequence(value).oid())];
}

/** The next element as text; its octets where it is none. */
function textIn(cursor: Cursor): Value {
  const { tag } = cursor;
  return isTextTag(tag) ? text(decodeText(tag, cursor.content(tag))) : hex(cursor.element());
}

const mustStaple = "must staple: clients want an OCSP answer with the handshake";
