/** Reads what OCSP responders answer, for checks of our own and of others (RFC 6960 §4.2.1). */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";
import type { Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";

import { readAlgorithm } from "./algorithm-identifiers.ts";
import type { SignatureName } from "./algorithms.ts";
import { parseExtensions } from "./extensions.ts";
import { ocspStatus, readCertId, readNonce, type SingleAnswer, type SingleStatus } from "./ocsp.ts";
import { type RevocationReason, revocationReasons } from "./reasons.ts";

export interface ParsedOcspResponse {
  readonly status: keyof typeof ocspStatus;
  readonly basic?: {
    readonly tbs: Uint8Array;
    readonly producedAt: Instant;
    readonly answers: readonly (Omit<SingleAnswer, "nextUpdate"> & {
      readonly nextUpdate: Instant | undefined;
      readonly serial: Serial;
    })[];
    readonly nonce: Uint8Array | undefined;
    readonly signatureName: SignatureName | undefined;
    readonly signature: Uint8Array;
    readonly certificates: readonly Uint8Array[];
  };
}

/** Reads a response; signature and freshness are the caller's to check. Throws DerError. */
export function parseOcspResponse(der: Uint8Array): ParsedOcspResponse {
  const response = openSequence(der);
  const status = statuses.get(response.small(tags.enumerated));
  if (status === undefined) throw new DerError("the response has an unknown status");
  const bytes = response.enterOptional(contextualConstructed(0));
  response.finish();
  if ((status === "successful") !== (bytes !== undefined)) {
    throw new DerError("the status and the presence of an answer disagree");
  }
  return bytes ? { status, basic: readBasic(openResponseBytes(bytes)) } : { status };
}

function openResponseBytes(holder: Cursor): Uint8Array {
  const responseBytes = holder.enter(tags.sequence);
  holder.finish();
  if (responseBytes.oid() !== oids.ocspBasic)
    throw new DerError("the response is of an unknown type");
  const basic = responseBytes.octetString();
  responseBytes.finish();
  return basic;
}

function readBasic(der: Uint8Array): NonNullable<ParsedOcspResponse["basic"]> {
  const basic = openSequence(der);
  const tbs = basic.element(tags.sequence);
  const { signatureName } = readAlgorithm(basic.element(tags.sequence));
  const signature = basic.wholeBits();
  const certificates = readCertificates(basic.enterOptional(contextualConstructed(0)));
  basic.finish();
  return { tbs, ...readResponseData(openSequence(tbs)), signatureName, signature, certificates };
}

function readCertificates(holder: Cursor | undefined): readonly Uint8Array[] {
  if (holder === undefined) return [];
  const list = holder.enter(tags.sequence);
  holder.finish();
  const certificates: Uint8Array[] = [];
  while (!list.finished) certificates.push(list.element(tags.sequence));
  return certificates;
}

function readResponseData(fields: Cursor) {
  // Version 1 is the DEFAULT, and RFC 6960 knows no other.
  if (fields.tag === contextualConstructed(0)) throw new DerError("the response has a version");
  const byName = fields.tag === contextualConstructed(1);
  fields.element(byName ? contextualConstructed(1) : contextualConstructed(2));
  const producedAt = fields.generalizedTime();
  const list = fields.enter(tags.sequence);
  const answers: ReturnType<typeof readAnswer>[] = [];
  while (!list.finished) answers.push(readAnswer(list.enter(tags.sequence)));
  const holder = fields.enterOptional(contextualConstructed(1));
  const nonce = holder && readNonce(parseExtensions(holder.element()));
  holder?.finish();
  fields.finish();
  return { producedAt, answers, nonce };
}

function readAnswer(answer: Cursor): {
  readonly certId: Uint8Array;
  readonly serial: Serial;
  readonly status: SingleStatus;
  readonly thisUpdate: Instant;
  readonly nextUpdate: Instant | undefined;
} {
  const { der, serial } = readCertId(answer);
  if (serial === undefined) throw new DerError("an answer is for an impossible serial");
  const status = readStatus(answer);
  const thisUpdate = answer.generalizedTime();
  const holder = answer.enterOptional(contextualConstructed(0));
  const nextUpdate = holder?.generalizedTime();
  holder?.finish();
  if (answer.tag === contextualConstructed(1)) answer.element();
  answer.finish();
  return { certId: der, serial, status, thisUpdate, nextUpdate };
}

function readStatus(answer: Cursor): SingleStatus {
  if (answer.tag === contextualConstructed(1)) {
    const revoked = answer.enter(contextualConstructed(1));
    const at = revoked.generalizedTime();
    const coded = revoked.enterOptional(contextualConstructed(0));
    const reason = coded ? readReason(coded) : "unspecified";
    revoked.finish();
    return { status: "revoked", at, reason };
  }
  const good = answer.tag === contextual(0);
  if (answer.content(good ? contextual(0) : contextual(2)).length !== 0) {
    throw new DerError("a status has content");
  }
  return { status: good ? "good" : "unknown" };
}

function readReason(holder: Cursor): RevocationReason {
  const reason = reasons.get(holder.small(tags.enumerated));
  holder.finish();
  if (reason === undefined) throw new DerError("an answer has an unknown reason");
  return reason;
}

const statuses: ReadonlyMap<number, keyof typeof ocspStatus> = new Map(
  Object.entries(ocspStatus).map(
    ([name, code]) => [code, name as keyof typeof ocspStatus] as const, // A key of the table.
  ),
);

const reasons: ReadonlyMap<number, RevocationReason> = new Map(
  Object.entries(revocationReasons).map(
    ([name, code]) => [code, name as RevocationReason] as const, // A key of the table.
  ),
);
