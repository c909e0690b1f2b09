/**
 * OCSP loads: the same GET again and again, and a POST with a nonce that is never answered from a
 * cache.
 */

import { parseSerial } from "#core/ids.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import type { Instance } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import type { SameBytes } from "./floors.ts";
import { type Load, load } from "./load.ts";

export interface OcspTarget {
  /** `…/api/ca/{id}/ocsp` on either listener. */
  readonly base: string;
  /** The CA certificate, PEM. */
  readonly issuer: string;
  readonly serial: string;
}

/** A certificate issued for it, asked for on the listener of `origin`. */
export async function newTarget(
  instance: Instance,
  ca: string,
  origin: string,
): Promise<OcspTarget> {
  const csr = await newCsr(instance.home, "ocsp.example.test");
  const issued = await instance.admin<{ serial: string }>("POST", `/api/ca/${ca}/issue`, { csr });
  const { certificate } = await instance.admin<{ certificate: string }>("GET", `/api/ca/${ca}`);
  return { base: `${origin}/api/ca/${ca}/ocsp`, issuer: certificate, serial: issued.serial };
}

/** GET without nonce: answered from the cache after the first. */
export async function cachedGet(target: OcspTarget, seconds: number): Promise<Load> {
  const request = Buffer.from(question(target)).toString("base64");
  const url = `${target.base}/${encodeURIComponent(request)}`;
  await load({ url, connections: 32, seconds: warmUpSeconds });
  return load({ url, connections: 32, seconds });
}

/** What the cached GET is answered with, so that a bare server can send the same. */
export async function sameBytes(target: OcspTarget): Promise<SameBytes> {
  const request = Buffer.from(question(target)).toString("base64");
  const url = `${target.base}/${encodeURIComponent(request)}`;
  const answer = await Bun.fetch(url, { tls: { rejectUnauthorized: false } });
  const headers = Object.fromEntries(answer.headers);
  delete headers.date; // Every server writes its own.
  return { body: await answer.bytes(), headers };
}

/** POST with a nonce: signed fresh every time. */
export async function freshPost(target: OcspTarget, seconds: number): Promise<Load> {
  const request = {
    url: target.base,
    method: "POST",
    headers: { "content-type": "application/ocsp-request" },
    body: question(target, new Uint8Array(32).fill(5)),
    connections: 32,
  };
  await load({ ...request, seconds: warmUpSeconds });
  return load({ ...request, seconds });
}

/** The DER of an OCSPRequest for the target. */
export function question(target: OcspTarget, nonce?: Uint8Array): Uint8Array {
  const der = decodePem(target.issuer, ["CERTIFICATE"]);
  if (der === undefined) throw new Error("the CA answered no certificate");
  const issuer = parseCertificate(der);
  return encodeOcspRequest({
    issuerName: issuer.subject.der,
    issuerSpki: issuer.spki,
    hash: "sha1",
    nonce,
    serial: parseSerial(target.serial),
  });
}

/**
 * Until the code that answers is compiled; what a floor runs is compiled already, or next to
 * nothing.
 */
const warmUpSeconds = 4;
