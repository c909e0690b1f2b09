/**
 * The sign ledger as documents that verify without pkid, written while they are sent
 * (LED-3).
 */

import { Document } from "#domain/access/outcome.ts";
import { thePlatform } from "#domain/access/targets.ts";
import { exportFormat } from "#core/audit/ledger-export.ts";
import { type LedgerEntry, signPurposes } from "#core/audit/ledger.ts";
import { createHash } from "#core/crypto.ts";
import {
  flag,
  integer,
  many,
  mapOf,
  oneOf,
  optional,
  type Output,
  shape,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { nextTurn } from "#core/turns.ts";
import { operation } from "#domain/access/operation.ts";
import {
  exportedEntries,
  type LedgerExportDeps,
  LedgerSums,
  type OpenedExport,
  openExport,
} from "#domain/audit/ledger-export.ts";
import {
  certifying,
  listNamed,
  type SignOperation,
  SignOperations,
} from "#domain/audit/sign-operations.ts";
import { certificatePem } from "#domain/authorities/bundle.ts";
import { providerNames } from "#domain/key-ref.ts";
import { entryJson, entryShapes } from "./ledger-json.ts";
import { count, fingerprintText, pemText, serialText, time } from "./shapes.ts";

/** Handler of `hsm.signed_audit_log`: the entries alone. */
export function signedLedger(deps: LedgerExportDeps) {
  return operation({
    summary: "Entries of the sign ledger, oldest first, signed by the ledger key.",
    target: thePlatform,
    input: numbers,
    output: { media: ["application/json"], content: signedShape },
    refuses: ["key_unavailable"],
    run: async ({ input }) => {
      const opened = await openExport(deps, { from: input.from_number, to: input.to_number });
      return attached(signedDocument(deps, opened), "sign-ledger.json");
    },
  });
}

/** Handler of `hsm.combined_audit_log`: the entries and what was signed. */
export function combinedLedger(deps: LedgerExportDeps) {
  return operation({
    summary:
      "Entries of the sign ledger with what was signed, under one signature of the ledger key.",
    target: thePlatform,
    input: numbers,
    output: { media: ["application/json"], content: combinedShape },
    refuses: ["key_unavailable"],
    run: async ({ input }) => {
      const opened = await openExport(deps, { from: input.from_number, to: input.to_number });
      return attached(combinedDocument(deps, opened), "combined-ledger.json");
    },
  });
}

async function* signedDocument(deps: LedgerExportDeps, opened: OpenedExport) {
  const sums = new LedgerSums();
  yield utf8.encode(headOf(opened));
  yield* entriesText(deps, opened, sums, "entries", entryJson);
  yield utf8.encode(tailOf(opened, sums, await opened.sign()));
}

async function* combinedDocument(deps: LedgerExportDeps, opened: OpenedExport) {
  const sums = new LedgerSums();
  yield utf8.encode(headOf(opened));
  yield* entriesText(deps, opened, sums, "hsm_entries", hsmEntryJson);
  yield utf8.encode(',"sign_operations":');
  // The signature covers the text of the array as it is sent.
  const sha256 = createHash("sha256");
  for await (const piece of operationsText(deps, opened)) {
    sha256.update(piece);
    yield piece;
  }
  const attestations = Object.fromEntries([...sums.labels].map((label) => [label, ""]));
  yield utf8.encode(`,"key_attestations":${JSON.stringify(attestations)}`);
  yield utf8.encode(tailOf(opened, sums, await opened.sign(sha256.digest("hex"))));
}

const headShapes = {
  format: oneOf([exportFormat]),
  ledger_id: words(),
  provider: words({ enum: providerNames }),
  device_serial: words(),
  first_number: count,
  last_number: count,
  first_prev_hash: words(),
  last_hash: words(),
};

/** The members before the entries, and the beginning of the object. */
function headOf({ range }: OpenedExport): string {
  const members: Output<typeof headShapes> = {
    format: exportFormat,
    ledger_id: range.ledgerId,
    provider: range.provider,
    device_serial: range.deviceSerial,
    first_number: range.firstNumber,
    last_number: range.lastNumber,
    first_prev_hash: range.firstPrevHash,
    last_hash: range.lastHash,
  };
  return JSON.stringify(members).slice(0, -1);
}

const tallyShape = shape({
  role: words(),
  sign: count,
  decrypt: count,
  error: count,
  unknown: count,
});
const tailShapes = {
  open_intents: many(words()),
  counts: mapOf(tallyShape),
  exported_at: time,
  signature_algorithm: oneOf(["ed25519"]),
  signature: words(),
  attestation_cert_pem: pemText,
  device_cert_pem: pemText,
};

/** The members after the entries, and the end of the object. */
function tailOf(
  { certificate }: OpenedExport,
  sums: LedgerSums,
  { exportedAt, signature }: Awaited<ReturnType<OpenedExport["sign"]>>,
): string {
  const members: Output<typeof tailShapes> = {
    open_intents: [...sums.openIntents],
    counts: Object.fromEntries(sums.counts),
    exported_at: exportedAt,
    signature_algorithm: "ed25519",
    signature: signature.toBase64(),
    attestation_cert_pem: certificatePem(certificate),
    // No provider of ours attests its keys.
    device_cert_pem: "",
  };
  return `,${JSON.stringify(members).slice(1)}\n`;
}

async function* entriesText(
  { store }: LedgerExportDeps,
  { range }: OpenedExport,
  sums: LedgerSums,
  member: string,
  json: (entry: LedgerEntry) => object,
) {
  let before = `,"${member}":[`;
  for await (const page of exportedEntries(store, range)) {
    for (const entry of page) sums.add(entry);
    yield utf8.encode(before + page.map((entry) => JSON.stringify(json(entry))).join(","));
    before = ",";
    await nextTurn();
  }
  yield utf8.encode("]");
}

const hsmEntryShape = shape({ ...entryShapes, sign_audit_id: optional(words()) });

const hsmEntryJson = (entry: LedgerEntry): ValueOf<typeof hsmEntryShape> =>
  entry.kind === "outcome" && entry.operation === "sign"
    ? { ...entryJson(entry), sign_audit_id: entry.opId }
    : entryJson(entry);

async function* operationsText({ store }: LedgerExportDeps, { range }: OpenedExport) {
  const operations = new SignOperations(store);
  let before = "[";
  for await (const page of exportedEntries(store, range, operationsPerTurn)) {
    for (const entry of page.filter(SignOperations.has)) {
      yield utf8.encode(before);
      yield* operationText(await operations.of(entry));
      before = ",";
    }
    await nextTurn();
  }
  yield utf8.encode(before === "[" ? "[]" : "]");
}

async function* operationText(operation: SignOperation) {
  const { artefact } = operation;
  const text = JSON.stringify(membersOf(operation));
  if (artefact.kind !== "der") {
    yield utf8.encode(text);
    return;
  }
  yield utf8.encode(`${text.slice(0, -1)},"artifact_der":"`);
  yield* base64Of(artefact.pieces());
  yield utf8.encode('"}');
}

const certFormats = ["x509", "ssh", "crl", "ocsp", "csr", "protocol_reply", "self_test"] as const;

const operationMembers = {
  id: words(),
  timestamp: time,
  user_sub: words(),
  ca_id: words(),
  ca_label: words(),
  cert_format: oneOf(certFormats),
  purpose: words({ enum: signPurposes }),
  signer_fingerprint: fingerprintText,
  key_label: words(),
  serial: optional(serialText),
  crl_scope: optional(words()),
  crl_number: optional(count),
  digest: words(),
  signature_sha256: words(),
  certificate: optional(pemText),
  artifact_pruned: optional(flag()),
};
const operationShape = shape({
  ...operationMembers,
  artifact_der: optional(words({ contentEncoding: "base64" })),
});

const signedShape = shape({
  ...headShapes,
  entries: many(shape(entryShapes)),
  ...tailShapes,
});
const combinedShape = shape({
  ...headShapes,
  hsm_entries: many(hsmEntryShape),
  sign_operations: many(operationShape),
  key_attestations: mapOf(words()),
  ...tailShapes,
});

function membersOf({
  entry,
  ca,
  requestedBy,
  artefact,
}: SignOperation): Output<typeof operationMembers> {
  const { purpose, artifact } = entry;
  const list = purpose === "crl" || purpose === "delta_crl" ? listNamed(artifact) : undefined;
  return {
    id: entry.opId,
    timestamp: entry.timestamp,
    user_sub: requestedBy,
    ca_id: entry.caId,
    ca_label: ca?.label ?? "",
    cert_format: formatOf(entry),
    purpose,
    signer_fingerprint: entry.signerFingerprint,
    key_label: entry.keyLabel,
    serial: certifying.has(purpose) || purpose === "ocsp" ? artifact : undefined,
    crl_scope: list?.scope,
    crl_number: list?.number,
    digest: entry.digest,
    signature_sha256: entry.signatureSha256,
    certificate: artefact.kind === "certificate" ? certificatePem(artefact.der) : undefined,
    artifact_pruned: artefact.kind === "absent" ? true : undefined,
  };
}

function formatOf({ purpose }: LedgerEntry): (typeof certFormats)[number] {
  switch (purpose) {
    case "crl":
    case "delta_crl":
      return "crl";
    case "ssh_certificate":
      return "ssh";
    case "ocsp":
    case "csr":
    case "self_test":
    case "protocol_reply":
      return purpose;
    default:
      return "x509";
  }
}

/** Base64 of all the pieces together, whatever their lengths. */
async function* base64Of(pieces: AsyncGenerator<Uint8Array>) {
  let rest: Uint8Array = new Uint8Array();
  for await (const piece of pieces) {
    const octets = new Uint8Array(Buffer.concat([rest, piece]));
    const whole = octets.length - (octets.length % 3);
    yield utf8.encode(octets.subarray(0, whole).toBase64());
    rest = octets.subarray(whole);
    await nextTurn();
  }
  yield utf8.encode(rest.toBase64());
}

const attached = (content: AsyncGenerator<Uint8Array>, fileName: string) =>
  new Document({ content, fileName, type: "application/json", fleeting: true });

const numbers = {
  from_number: optional(integer(1, Number.MAX_SAFE_INTEGER)),
  to_number: optional(integer(1, Number.MAX_SAFE_INTEGER)),
};

/** Artefacts are read one by one: fewer of them in one turn. */
const operationsPerTurn = 50;
const utf8 = new TextEncoder();
