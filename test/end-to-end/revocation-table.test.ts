/**
 * Every cell of the transition table (TRN-1), asked of the binary over REST, by remote procedure
 * call and from a shell.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { parseSerial } from "#core/ids.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";

const ways = ["REST", "RPC", "CLI"] as const;
const actions = ["suspend", "hold", "release", "revoke"] as const;
type Way = (typeof ways)[number];
type Action = (typeof actions)[number];

// Columns: suspend, revoke with certificateHold, release, revoke. Words with a hyphen or no error
// are the status.
// biome-ignore format: the table is read by column.
const cells = {
  good:      ["held",                "held",                "not_held", "revoked"],
  held:      ["already-held",        "already-held",        "released", "revoked"],
  revoked:   ["already_revoked",     "already_revoked",     "not_held", "already-revoked"],
  expired:   ["certificate_expired", "certificate_expired", "not_held", "revoked"],
  unknown:   ["not_found",           "not_found",           "not_held", "revoked"],
  public:    ["hold_not_permitted",  "hold_not_permitted",  "not_held", "revoked"],
  ca:        ["hold_not_permitted",  "hold_not_permitted",  "not_held", "revoked"],
  cross:     ["hold_not_permitted",  "hold_not_permitted",  "not_held", "revoked"],
  responder: ["hold_not_permitted",  "hold_not_permitted",  "not_held", "revoked"],
} as const;
type Row = keyof typeof cells;

/** What one change writes; everything else writes nothing. */
const written: Readonly<Record<string, string>> = {
  held: "cert.suspend reason=certificateHold",
  released: "cert.release",
  revoked: "cert.revoke reason=superseded",
};

let instance: Instance;
let issuing: string;
let root: string;
let token: string;
let leaves: string[];

beforeAll(async () => {
  const config = {
    crl: { base_url: "http://pki.test" },
    profiles: [
      {
        name: "web",
        lint: { public: true },
        policies: { oids: ["2.23.140.1.2.1"] },
        ext_key_usages: ["serverAuth"],
        caa: { mode: "permissive" },
      },
    ],
  };
  instance = await Instance.start({ config });
  issuing = (await createChain(instance, "ecdsa-p256")).intermediateId;
  const { parent_id } = await instance.admin<{ parent_id: string }>("GET", `/api/ca/${issuing}`);
  root = parent_id;
  token = await instance.token(["admin"], { scope: "platform" });
  const items = Array.from({ length: 60 }, () => ({ csr: csr() }));
  const body = { items, confirm_count: items.length };
  type Issued = { readonly items: readonly { readonly serial: string }[] };
  const path = `/api/ca/${issuing}/certificates:bulk`;
  const issued = await instance.admin<Issued>("POST", path, body);
  leaves = issued.items.map(({ serial }) => serial);
}, 60_000);

afterAll(() => instance.dispose());

for (const [row, expected] of Object.entries(cells) as [Row, (typeof cells)[Row]][]) {
  describe(`a certificate that is ${row}`, () => {
    for (const way of ways) {
      test(`answers as the table says, over ${way}`, async () => {
        // Certificates that only pkid itself has asked for are not so many that each action could
        // have its own.
        const shared = row === "ca" || row === "cross" || row === "responder";
        let subject = await subjectOf(row);
        for (const [at, action] of actions.entries()) {
          if (at > 0 && !shared) subject = await subjectOf(row);
          await cell(way, row, action, subject, expected[at] ?? "");
        }
      }, 60_000);
    }
  });
}

test("a responder that was revoked has a successor by the next answer", async () => {
  const before = await subjectOf("responder");
  await ask("REST", "revoke", before);
  const after = await subjectOf("responder");
  expect(after.serial).not.toBe(before.serial);
}, 30_000);

interface Subject {
  readonly ca: string;
  readonly serial: string;
  /** The shell asks whether this is meant. */
  readonly isAsked?: boolean;
}
interface Told {
  readonly word: string;
  readonly revokedAt: string | undefined;
}

async function cell(way: Way, row: Row, action: Action, subject: Subject, expected: string) {
  const before = await eventsOf(subject);
  const first = await listedSince(subject);
  const told = await ask(way, action, subject);
  expect([action, told.word]).toEqual([action, expected]);
  const fresh = (await eventsOf(subject)).slice(before.length);
  const wanted = written[expected];
  if (wanted === undefined) expect(fresh).toEqual([]);
  else expect(fresh.filter((event) => event.startsWith(wanted)).length).toBe(1);
  if (expected.startsWith("already-")) expect(told.revokedAt).toBe(first);
  if (row === "unknown" && expected === "revoked") expect(fresh[0]).toContain(" known=false ");
  if (row === "held" && expected === "revoked") expect(fresh[0]).toContain(" previous=held ");
}

/**
 * A certificate in the state of the row, which nothing else uses but where there is only one of its
 * kind.
 */
async function subjectOf(row: Row): Promise<Subject> {
  switch (row) {
    case "unknown":
      return {
        ca: issuing,
        serial: String(BigInt(`0x${crypto.randomUUID().replaceAll("-", "")}`)),
        isAsked: true,
      };
    case "ca":
      return await newIntermediate();
    case "cross":
      return await newCross();
    case "responder":
      return await askedResponder();
    default:
      return await leafIn(row);
  }
}

async function leafIn(row: "good" | "held" | "revoked" | "expired" | "public"): Promise<Subject> {
  const serial = leaves.pop();
  if (serial === undefined) throw new Error("too few certificates were issued");
  const subject = { ca: issuing, serial };
  if (row === "held") await ask("REST", "suspend", subject);
  if (row === "revoked") await ask("REST", "revoke", subject);
  if (row === "expired") tamper("update certificates set not_after = 1 where serial = ?", serial);
  if (row === "public") tamper("update certificates set profile = 'web' where serial = ?", serial);
  return subject;
}

async function newIntermediate(): Promise<Subject> {
  const label = crypto.randomUUID();
  const body = { label, subject: { cn: label }, key_type: "ecdsa-p256" };
  const path = `/api/ca/${root}/issue-intermediate`;
  const made = await instance.admin<{ certificate: string }>("POST", path, body);
  return { ca: root, serial: serialOf(made.certificate) };
}

async function newCross(): Promise<Subject> {
  const label = crypto.randomUUID();
  const body = { label, subject: { cn: label }, key_type: "ecdsa-p256" };
  const other = await instance.admin<{ id: string }>("POST", "/api/ca/init-root", body);
  const path = `/api/ca/${root}/cross-signs`;
  const request = { subject_ca_id: other.id };
  const made = await instance.admin<{ certificate_pem: string }>("POST", path, request);
  return { ca: root, serial: serialOf(made.certificate_pem) };
}

/** The responder that signs now; the first question makes it. */
async function askedResponder(): Promise<Subject> {
  const { certificate } = await instance.admin<{ certificate: string }>(
    "GET",
    `/api/ca/${issuing}`,
  );
  const issuer = parseCertificate(decodePem(certificate, ["CERTIFICATE"]) ?? new Uint8Array(0));
  const question = encodeOcspRequest({
    issuerName: issuer.subject.der,
    issuerSpki: issuer.spki,
    hash: "sha256",
    serial: parseSerial("1"),
    nonce: crypto.getRandomValues(new Uint8Array(16)),
  });
  const response = await instance.fetch(`/api/ca/${issuing}/ocsp`, {
    method: "POST",
    body: new Uint8Array(question),
    headers: { "content-type": "application/ocsp-request" },
  });
  expect(response.status).toBe(200);
  const { basic } = parseOcspResponse(await response.bytes());
  const signer = parseCertificate(basic?.certificates[0] ?? new Uint8Array(0));
  return { ca: issuing, serial: signer.serial };
}

async function ask(way: Way, action: Action, subject: Subject): Promise<Told> {
  if (way === "REST") return await byRest(action, subject);
  return way === "RPC" ? await byRpc(action, subject) : await byShell(action, subject);
}

async function byRest(action: Action, { ca, serial }: Subject): Promise<Told> {
  const verb = action === "suspend" || action === "release";
  const path = verb ? `certificates/${serial}:${action}` : "revoke";
  const reason = action === "hold" ? "certificateHold" : "superseded";
  const response = await instance.fetch(`/api/ca/${ca}/${path}`, {
    method: "POST",
    headers: { ...authorized(), "content-type": "application/json" },
    ...(verb ? {} : { body: JSON.stringify({ serial, reason }) }),
  });
  return toldIn(await response.json());
}

async function byRpc(action: Action, { ca, serial }: Subject): Promise<Told> {
  const method = { suspend: "Suspend", release: "Release", hold: "Revoke", revoke: "Revoke" }[
    action
  ];
  const reason = action === "hold" ? "certificateHold" : "superseded";
  const message = { caId: ca, serial, ...(method === "Revoke" ? { reason } : {}) };
  const response = await instance.fetch(`/pki.v1.PKIService/${method}Certificate`, {
    method: "POST",
    body: JSON.stringify(message),
    headers: { ...authorized(), "content-type": "application/json" },
  });
  const answer = (await response.json()) as RpcBody; // Connect's JSON.
  const [detail] = answer.details ?? [];
  if (detail === undefined) return toldIn({ status: answer.status, revoked_at: answer.revokedAt });
  const octets = Buffer.from(detail.value, "base64");
  // ErrorInfo: the code is the first member, and short.
  return { word: octets.toString("latin1", 2, 2 + (octets[1] ?? 0)), revokedAt: undefined };
}

interface RpcBody {
  readonly status?: string;
  readonly revokedAt?: string;
  readonly details?: readonly { readonly value: string }[];
}

async function byShell(action: Action, { ca, serial, isAsked }: Subject): Promise<Told> {
  const verb = action === "suspend" || action === "release" ? [action] : ["cert"];
  const reason = action === "hold" ? "certificateHold" : "superseded";
  const flags = verb[0] === "cert" ? ["--reason", reason] : [];
  if (isAsked && action === "revoke") {
    expect((await instance.cli("revoke", "cert", "--ca", ca, serial)).code).toBe(2);
    flags.push("--yes");
  }
  const ran = await instance.cli("revoke", ...verb, "--ca", ca, serial, ...flags, "--json");
  return toldIn(JSON.parse(ran.code === 0 ? ran.stdout : ran.stderr));
}

interface Body {
  readonly code?: string;
  readonly status?: string | undefined;
  readonly revoked_at?: string | undefined;
}

function toldIn(body: Body): Told {
  // Some refusals have the state they found as a fact named status.
  return { word: body.code ?? body.status ?? "", revokedAt: wholeMicroseconds(body.revoked_at) };
}

/** Protobuf's JSON leaves out digits that say nothing. */
const wholeMicroseconds = (text: string | undefined): string | undefined =>
  text?.replace(/(?:\.(\d+))?Z$/, (_, digits = "") => `.${digits.padEnd(6, "0")}Z`);

/** When the list of revoked serials says it was revoked or held. */
async function listedSince({ ca, serial }: Subject): Promise<string | undefined> {
  type Page = { readonly items: readonly { readonly revoked_at: string }[] };
  const path = `/api/ca/${ca}/revoked?serial_prefix=${serial}`;
  return (await instance.admin<Page>("GET", path)).items[0]?.revoked_at;
}

/** Oldest first, as `action detail`, those of blocked keys and denials left out. */
async function eventsOf({ ca, serial }: Subject): Promise<readonly string[]> {
  type Event = { readonly action: string; readonly detail?: string; readonly result: string };
  const path = `/api/events?ca=${ca}&serial=${serial}&action=cert.*&limit=500`;
  const { items } = await instance.admin<{ items: readonly Event[] }>("GET", path);
  const told = items.filter(({ result }) => result === "success");
  return told.map(({ action, detail = "" }) => `${action} ${detail}`.trim()).toReversed();
}

const authorized = () => ({ authorization: `Token ${token}` });
const serialOf = (pem: string): string =>
  parseCertificate(decodePem(pem, ["CERTIFICATE"]) ?? new Uint8Array(0)).serial;

function tamper(text: string, value: string): void {
  const database = new Database(join(instance.dataDir, "pkid.db"));
  database.run("pragma busy_timeout = 5000");
  database.run(text, [value]);
  database.close();
}
