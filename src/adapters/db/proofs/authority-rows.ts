/** The rows of CAs beside their certificates, their keys in the ledger, and one another. */

import { decodePemBlocks } from "#core/asn1/pem.ts";
import { oids } from "#core/asn1/oids.ts";
import type { Proof } from "#core/proofs/proofs.ts";
import { sha256Hex } from "#core/crypto.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { parseBasicConstraints } from "#core/x509/extensions.ts";
import { nameText } from "#core/x509/names.ts";
import { fingerprint, parsePublicKey } from "#core/x509/public-keys.ts";
import { signedBy } from "#core/x509/signed-by.ts";

import type { Look } from "./look.ts";
import { asked, numberOf, octetsOf, textOf } from "./look-rows.ts";

/** What the ledger announced of a key. */
export interface AnnouncedKey {
  readonly keyLabel: string;
  readonly provider: string;
}

/** Looks at every CA; `keys` are those the ledger announced, by fingerprint. */
export async function proveAuthorities(
  look: Look,
  keys: ReadonlyMap<string, AnnouncedKey>,
): Promise<void> {
  const { inventory } = look.proofs;
  const rows = (await asked(look.connection, everyCa)).map(caRow);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const own = await asked(look.connection, "select spki_sha256 from own_keys");
  const ownKeys = new Set(own.map(([digest]) => textOf(digest)));
  for (const row of rows) {
    const name = `CA ${row.label} (${row.id})`;
    const told = (fault: string) => inventory.violated(`${name}: ${fault}.`);
    for (const [spki, label, provider, type] of row.keys) {
      keyFaults(spki, type).forEach(told);
      const known = keys.get(fingerprint(spki));
      if (look.from.whole && (known?.keyLabel !== label || known.provider !== provider)) {
        told(`the ledger announced its key under another name`);
      }
      if (!ownKeys.has(sha256Hex(spki))) told("its key is not kept from being certified");
    }
    const before = row.predecessor === undefined ? undefined : byId.get(row.predecessor);
    if (row.predecessor !== undefined && before?.successor !== row.id) {
      told("its predecessor names another successor");
    }
    if (row.lineage !== (before?.lineage ?? row.id)) told("it is of another lineage");
    certificateFaults(row).forEach(told);
    if (!row.stored) told("its certificate is not the one in the inventory");
  }
  await proveResponders(look, inventory);
}

type KeyColumns = readonly [spki: Uint8Array, label: string, provider: string, type: string];

interface CaRow {
  readonly id: string;
  readonly label: string;
  readonly keys: readonly KeyColumns[];
  readonly certificate: Uint8Array | undefined;
  readonly serial: string;
  readonly subject: string;
  readonly notBefore: number | undefined;
  readonly notAfter: number | undefined;
  readonly maxPathLength: number | undefined;
  readonly externalChain: string;
  readonly predecessor: string | undefined;
  readonly successor: string;
  readonly lineage: string;
  /** False when it was certified here and the inventory has another certificate. */
  readonly stored: boolean;
}

function keyFaults(spki: Uint8Array, type: string): readonly string[] {
  try {
    return parsePublicKey(spki).keyType === type ? [] : [`its key is no ${type} key`];
  } catch {
    return ["its key cannot be read"];
  }
}

function certificateFaults(row: CaRow): readonly string[] {
  if (row.certificate === undefined) return [];
  let parsed: ParsedCertificate;
  try {
    parsed = parseCertificate(row.certificate);
    return [...columnFaults(row, parsed), ...chainFaults(row, parsed)];
  } catch (error) {
    // Octets that are not what is stored there.
    return [`its certificate cannot be read: ${error instanceof Error ? error.message : error}`];
  }
}

function columnFaults(row: CaRow, parsed: ParsedCertificate): readonly string[] {
  const constraints = extensionOf(parsed, oids.basicConstraints)?.value;
  const length = constraints && parseBasicConstraints(constraints).pathLength;
  const alternative = extensionOf(parsed, oids.subjectAltPublicKeyInfo)?.value;
  const [native, second] = row.keys;
  const external = row.externalChain !== "";
  const same: readonly (readonly [string, boolean])[] = [
    ["serial", parsed.serial === row.serial],
    ["subject", nameText(parsed.subject) === row.subject],
    ["notBefore", parsed.notBefore === row.notBefore],
    ["notAfter", parsed.notAfter === row.notAfter],
    ["path length", length === row.maxPathLength],
    ["key", native !== undefined && Buffer.from(native[0]).equals(parsed.spki)],
    ["second key", external || (alternative?.toHex() ?? "") === (second?.[0].toHex() ?? "")],
  ];
  return same.filter(([, holds]) => !holds).map(([what]) => `its ${what} is not its certificate's`);
}

/** What was imported above it leads from its certificate upward. */
function chainFaults(row: CaRow, parsed: ParsedCertificate): readonly string[] {
  if (row.externalChain === "") return [];
  const above = decodePemBlocks(row.externalChain, "CERTIFICATE", chainMax) ?? [];
  if (above.length === 0) return ["its external chain is no PEM"];
  let below = parsed;
  for (const issuer of above.map((der) => parseCertificate(der))) {
    if (!signedBy(below, issuer.spki)) return ["its external chain does not verify"];
    below = issuer;
  }
  return [];
}

async function proveResponders({ connection }: Look, inventory: Proof): Promise<void> {
  for (const [serial, ca] of await asked(connection, otherResponders)) {
    inventory.violated(`Responder ${textOf(serial)} of CA ${textOf(ca)} is not its certificate.`);
  }
}

function caRow(values: readonly unknown[]): CaRow {
  const [id, label, spki, keyLabel, provider, type, altSpki, altLabel, altProvider, altType] =
    values;
  const [certificate, serial, subject, notBefore, notAfter, length, chain] = values.slice(10);
  const [predecessor, successor, lineage, csr, inventoried] = values.slice(17);
  const native = [octetsOf(spki), textOf(keyLabel), textOf(provider), textOf(type)] as const;
  const second = [
    octetsOf(altSpki),
    textOf(altLabel),
    textOf(altProvider),
    textOf(altType),
  ] as const;
  const der = certificate === null ? undefined : octetsOf(certificate);
  const here = csr === null && der !== undefined;
  return {
    id: textOf(id),
    label: textOf(label),
    keys: altSpki === null ? [native] : [native, second],
    certificate: der,
    serial: textOf(serial),
    subject: textOf(subject),
    notBefore: numberOf(notBefore),
    notAfter: numberOf(notAfter),
    maxPathLength: numberOf(length),
    externalChain: textOf(chain),
    predecessor: predecessor === null ? undefined : textOf(predecessor),
    successor: textOf(successor),
    lineage: textOf(lineage),
    stored: !here || Buffer.from(octetsOf(inventoried)).equals(der),
  };
}

const everyCa = `select a.id, a.label, a.spki, a.key_label, a.key_provider, a.key_type,
  a.alt_spki, a.alt_key_label, a.alt_key_provider, a.alt_key_type,
  a.certificate, a.serial, a.subject, a.not_before, a.not_after, a.max_path_length, a.external_chain,
  a.predecessor, a.successor, a.lineage, a.csr, c.certificate
from cas a left join certificates c
  on c.ca_id = coalesce(a.parent, a.id) and c.serial = a.serial and c.kind = 'ca'
order by a.created_at, a.id`;
const otherResponders = `select r.serial, r.ca_id from responders r
join certificates c on c.ca_id = r.ca_id and c.serial = r.serial
where c.certificate <> r.certificate or c.not_before <> r.not_before or c.not_after <> r.not_after
limit 100`;
const chainMax = 16;
