/**
 * Holds the running server against its database: the newest event, the keys of the CAs, what is
 * sealed, the lists at their public addresses, and what OCSP says of every serial revoked lately
 * and of some others.
 */

import { sha256Hex } from "#core/crypto.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { parseSerial } from "#core/ids.ts";
import { crlUrlOf } from "#core/policy/certificate-extensions.ts";
import { Proof, type ProofResult } from "#core/proofs/proofs.ts";
import { SignatureKeys } from "#core/proofs/signature-keys.ts";
import { instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { openCrl } from "#core/x509/crl.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { judgeAnswer } from "#core/x509/ocsp-verdict.ts";
import { pointersOf } from "#core/x509/pointers.ts";

import type { Client } from "./client.ts";
import type { VerifySample } from "./command.ts";
import { Failure, Refusal } from "./failure.ts";
import { networkFault } from "./network-faults.ts";
import { postTo } from "./reach.ts";
import { rowOf, rowsAt, textAt } from "./rows.ts";

export interface RunningProof {
  readonly client: Client;
  /** Read when the server has named its newest event. */
  readonly sample: (event: number) => Promise<VerifySample>;
  /** `crl.base_url`; without it the running server is asked. */
  readonly crlBase: string | undefined;
  /** Trust for the public addresses of the instance. */
  readonly tls: { readonly ca: string[] };
  /** Tells that another answer is there, of so many. */
  readonly onProgress: (answers: number, of: number) => void;
}

/** Gives the proof; an address that does not respond is not a violation. */
export async function proveRunning(deps: RunningProof): Promise<ProofResult> {
  const proof = new Proof("running");
  const { items } = await deps.client.list("event.list", { limit: 1 }, false).then((list) => ({
    items: rowsAt(list, "items"),
  }));
  const [newest] = items;
  const seq = Number(newest?.seq ?? 0);
  const sample = await deps.sample(seq);
  proof.checked += 1;
  if (newest !== undefined && textAt(newest, "hash") !== sample.eventHash) {
    proof.violated(`The server has another event ${seq} than its database.`);
  }
  await keysSign(proof, deps.client);
  await sealedOpens(proof, deps.client);
  const { lists, serials } = sample;
  if (deps.crlBase === undefined) proof.noted("lists asked of the server: crl.base_url is not set");
  if (sample.left > 0) proof.noted("older revoked serials not asked about", sample.left);
  const questions = [
    ...lists.map((list) => () => listFetched(proof, deps, sample, list)),
    ...serials.map((one) => () => answered(proof, deps, sample, one)),
  ];
  await atOnce(questions, (done) => deps.onProgress(done, questions.length));
  return proof.result;
}

/** By the server, over its key providers: each CA key is found, matches, and signs a test. */
async function keysSign(proof: Proof, client: Client): Promise<void> {
  const report = await client.ask("preflight.run", { only: ["keys.ca"], network: false });
  for (const check of rowsAt(rowOf(report), "checks")) {
    proof.checked += 1;
    if (textAt(check, "status") !== "fail") continue;
    proof.violated(`Keys: ${textAt(check, "detail")}`);
  }
}

/** By the server: each value, and each private key in files, opens under its KEK version. */
async function sealedOpens(proof: Proof, client: Client): Promise<void> {
  const versions = await client.ask("kek.show", {}).then(
    (kek) => rowsAt(kek, "versions"),
    (error: unknown) => {
      // Nothing was ever sealed.
      if (error instanceof Refusal && textAt(error.body, "code") === "feature_disabled") return [];
      throw error;
    },
  );
  for (const { version, status } of versions) {
    const under = `does not open under version ${String(version)} of the KEK.`;
    for await (const { tried, shut, shut_keys } of triedPages(client, Number(version))) {
      proof.checked += Number(tried);
      for (const place of textsOf(shut)) proof.violated(`The value at ${place} ${under}`);
      // Such were lost with their KEK: a restore without it has named them (RES-4).
      const lost = status === "retired" ? textsOf(shut_keys).length : 0;
      if (lost > 0) proof.noted("private keys of a KEK that is lost", lost);
      else for (const label of textsOf(shut_keys)) proof.violated(`The key ${label} ${under}`);
    }
  }
}

async function* triedPages(client: Client, version: number) {
  let asked: { readonly version: number; readonly after?: string } | undefined = { version };
  while (asked !== undefined) {
    const page: ReturnType<typeof rowOf> = rowOf(await client.ask("kek.try", asked));
    yield page;
    asked = typeof page.next === "string" ? { version, after: page.next } : undefined;
  }
}

const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : [];

type List = VerifySample["lists"][number];

async function listFetched(
  proof: Proof,
  { client, crlBase, tls }: RunningProof,
  { cas }: VerifySample,
  list: List,
): Promise<void> {
  const { caId, scope, delta, number, sha256, nextUpdate } = list;
  const partition = /^partition-(\d+)$/.exec(scope)?.[1];
  const shard = partition === undefined ? undefined : Number(partition);
  const path = crlBase && `${crlUrlOf(crlBase, caId, shard)}${delta ? "/delta" : ""}`;
  const name = `CRL ${number} of ${scope}, CA ${caId},`;
  const where = path === undefined ? "from the server" : `at ${path}`;
  try {
    const der = await (path === undefined
      ? fromServer(client, caId, shard, delta)
      : fetched(path, tls));
    proof.checked += 1;
    if (sha256Hex(der) === sha256) {
      if (nextUpdate > Date.now() || delta) return;
      proof.violated(`${name} is past its nextUpdate, and nothing newer is there ${where}.`);
    } else if (!isLater(der, cas.get(caId), number)) {
      proof.violated(`${name} is not the one that is had ${where}.`);
    }
  } catch (error) {
    addError(proof, `${name} cannot be had ${where}`, error);
  }
}

/** True for one that was published since the database was looked at. */
function isLater(der: Uint8Array, issuer: Uint8Array | undefined, number: number): boolean {
  const found = openCrl(der);
  const { tbs: covered, signature: value, signatureName: algorithm } = found;
  if (issuer === undefined || (found.number ?? 0) <= number) return false;
  const { spki } = parseCertificate(issuer);
  return new SignatureKeys().verifies(spki, { covered, value, algorithm });
}

async function fromServer(
  client: Client,
  id: string,
  shard: number | undefined,
  delta: boolean,
): Promise<Uint8Array> {
  if (shard === undefined) return await client.fetch(delta ? "crl.delta" : "crl.read", { id });
  return await client.fetch(delta ? "crl.partition_delta" : "crl.partition", { id, shard });
}

async function fetched(url: string, tls: RunningProof["tls"]): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, { redirect: "error", signal, tls });
  if (!response.ok) {
    const code = response.status >= 500 ? "unreachable" : "failed";
    throw new Failure(`${url} answered ${response.status}.`, code);
  }
  return await response.bytes();
}

type One = VerifySample["serials"][number];

async function answered(
  proof: Proof,
  { client, tls }: RunningProof,
  { cas }: VerifySample,
  one: One,
): Promise<void> {
  const name = `OCSP of serial ${one.serial}, CA ${one.caId}, `;
  const der = cas.get(one.caId);
  if (der === undefined) return;
  try {
    const issuer = parseCertificate(der);
    const serial = parseSerial(one.serial);
    const request = { issuerName: issuer.subject.der, issuerSpki: issuer.spki, serial };
    const content = encodeOcspRequest({ ...request, nonce: undefined, hash: "sha1" });
    const body = { type: "application/ocsp-request", content };
    const [url] = one.certificate === undefined ? [] : urlsIn(one.certificate);
    const response =
      url === undefined
        ? await client.post("ocsp.post", { id: one.caId }, body)
        : await postTo(url, body, tls);
    const octets = await response.bytes();
    const asked = { issuer, serial, nonce: undefined, now: instant(Date.now()) };
    const verdict = judgeAnswer(octets, asked);
    proof.checked += 1;
    if (!verdict.trusted) proof.violated(`${name}cannot be trusted: ${verdict.fault ?? ""}`);
    else if (verdict.status !== one.status && !(await changedSince(client, one, verdict.status))) {
      proof.violated(`${name}says ${verdict.status}, and the database says ${one.status}.`);
    }
  } catch (error) {
    addError(proof, `${name}cannot be had`, error);
  }
}

/** True when it was revoked, held or released since the database was looked at. */
async function changedSince(client: Client, one: One, said: string): Promise<boolean> {
  if (one.certificate === undefined) return false;
  const { status } = await client.ask("cert.show", { id: one.caId, serial: one.serial });
  return (status === "good" ? "good" : "revoked") === said;
}

function urlsIn(der: Uint8Array): readonly string[] {
  return pointersOf(parseCertificate(der)).ocsp;
}

/** A few at a time: a server under load answers others too. */
async function atOnce(
  questions: readonly (() => Promise<void>)[],
  done: (answers: number) => void,
): Promise<void> {
  let next = 0;
  let answers = 0;
  const worker = async () => {
    for (let at = next++; at < questions.length; at = next++) {
      await questions[at]?.();
      answers += 1;
      done(answers);
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

/** Counts a violation, or an address that did not respond. */
function addError(proof: Proof, prefix: string, error: unknown): void {
  const message = `${prefix}: ${sentence(error)}`;
  const isReachable =
    error instanceof DerError ||
    error instanceof Refusal ||
    (error instanceof Failure && error.code !== "unreachable");
  if (isReachable) proof.violated(message);
  else proof.addUnreachable(message);
}

function sentence(error: unknown): string {
  if (error instanceof DerError) return `it is malformed: ${error.message}.`;
  if (error instanceof Failure || error instanceof Refusal) return error.message;
  return `${networkFault(error)}.`;
}

const workers = 4;
const timeoutMs = 30_000;
