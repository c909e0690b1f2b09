/**
 * WHAT MUST NEVER HAPPEN: the four defects that would matter most, each looked for in the compiled
 * binary.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { Database } from "bun:sqlite";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { gates } from "#core/policy/gates.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { caa, type DnsServer, startDnsServer } from "#test/support/servers/dns-server.ts";
import { command } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { csr, newKey } from "#test/support/worlds/issuance.ts";
import { saved } from "#test/support/instances/relying-party.ts";

let server: DnsServer;
let instance: Instance;
let config: Readonly<Record<string, unknown>>;
let secret = "";

beforeAll(async () => {
  server = await startDnsServer();
  server.zone.set("closed.example.test", [caa("issue", ";")]);
  const profile = (name: string, more: object) => ({
    name,
    key_usages: ["digitalSignature"],
    ext_key_usages: ["serverAuth"],
    max_validity_days: 90,
    ...more,
  });
  config = {
    crl: { base_url: "http://pki.example.test" },
    caa: { identifier: "ca.example.net", dns_resolver: `127.0.0.1:${server.port}` },
    profiles: [
      profile("asking", { caa: { mode: "enforce" } }),
      profile("public", {
        lint: { public: true },
        max_validity_days: 825,
        caa: { mode: "permissive" },
        policies: { oids: ["2.23.140.1.2.1"] },
      }),
      profile("large", { key_checks: { min_rsa_bits: 3072 } }),
      profile("approved", { require_approval: true }),
    ],
  };
  instance = await Instance.start({ config });
  secret = await instance.token(["issuer"]);
}, 30_000);

afterAll(async () => {
  await instance.dispose();
  await server.stop();
});

test("no certificate is signed without a record made before, also when the power is cut", async () => {
  const { id } = await root("recorded");
  const handedOut: string[] = [];
  const body = { csr: csr() };
  let cut = false;
  const client = async () => {
    while (!cut) {
      const { certificate } = await byJson(`/api/ca/${id}/issue`, body);
      if (certificate !== undefined) handedOut.push(certificate);
    }
  };
  const clients = [client(), client(), client()].map((one) => one.catch(() => {}));
  while (handedOut.length < 30) await Bun.sleep(2);
  const killed = instance.kill();
  cut = true;
  await Promise.all([killed, ...clients]);
  instance = await Instance.start({ home: instance.home, config });
  expect((await instance.cli("audit", "verify")).code).toBe(0);

  const db = new Database(join(instance.dataDir, "pkid.db"), { readonly: true });
  try {
    const recorded = db.query<{ purpose: string }, [string, string]>(
      `SELECT i.purpose FROM ledger i JOIN ledger o ON o.op_id = i.op_id AND o.number > i.number
        WHERE i.kind = 'intent' AND o.kind = 'outcome' AND i.digest = ? AND o.signature_sha256 = ?`,
    );
    const inInventory = db.query<{ serial: string }, [string, string]>(
      "SELECT serial FROM certificates WHERE ca_id = ? AND serial = ?",
    );
    for (const pem of handedOut) {
      const { tbs, signature, serial } = certificateIn(pem);
      expect(recorded.all(sha256Hex(tbs), sha256Hex(signature))).toHaveLength(1);
      expect(inInventory.all(id, serial)).toHaveLength(1);
    }
  } finally {
    db.close();
  }
}, 30_000);

test("no gate is skipped for any caller: JSON, shell and RPC meet the same refusal, and nothing is signed", async () => {
  const { id } = await root("guarded", ["--permit-dns", "example.test"]);
  const named = (name: string, more: object = {}) =>
    csr({ subject: [{ type: "CN", value: name }], dns: [name], ...more });
  const sound = named("a.example.test");
  const manyNames = Array.from({ length: 101 }, (_, at) => `n${at}.example.test`);
  const large = newKey("rsa-2048");
  const offences: Readonly<Record<string, Offence>> = {
    names: { csr: named("n1.example.test", { dns: manyNames }) },
    certificate_policy: { csr: sound, profile: "pqc-server" },
    must_staple: { csr: sound, must_staple: true },
    lint: { csr: sound, profile: "public", validity_days: 825 },
    caa: { csr: named("closed.example.test"), profile: "asking" },
    name_constraints: { csr: named("a.example.org") },
    keycheck: {
      csr: named("a.example.test", { keyType: "rsa-2048", key: large }),
      profile: "large",
    },
    validity: { csr: sound, validity_days: 5000 },
    approval: { csr: sound, profile: "approved" },
  };
  expect(Object.keys(offences).sort()).toEqual(gates.map((gate): string => gate.name).sort());
  for (const [gate, offence] of Object.entries(offences)) {
    const asked = { profile: "server", ...offence };
    const json = await byJson(`/api/ca/${id}/issue`, asked);
    expect([gate, json.certificate]).toEqual([gate, undefined]);
    const failed = json.gates?.filter(({ status }) => status === "fail").map(({ name }) => name);
    expect(failed ?? json.code).toEqual(ownCodes[gate] ?? [gate]);
    const code = json.code ?? "no refusal";
    expect([gate, await byShell("guarded", asked)]).toEqual([gate, code]);
    const { csr: csr_pem, ...more } = asked;
    const rpc = await byRpc("IssueCertificate", { ca_id: id, csr_pem, ...more });
    expect([gate, rpc.problem]).toEqual([gate, code]);
  }
  expect(await count(id)).toBe(0);
  expect((await byJson(`/api/ca/${id}/issue`, { csr: sound })).certificate).toBeDefined();
}, 30_000);

test("nothing is issued with the superseded key after a rollover, whoever asks and however busy it is", async () => {
  await root("above");
  const old = await intermediate("above", "rolled");
  const oldKey = new X509Certificate(old.certificate).publicKey;
  const request = csr();
  const answers: { readonly afterwards: boolean; readonly certificate: string | undefined }[] = [];
  let rotated = false;
  let done = false;
  const client = async () => {
    while (!done) {
      const afterwards = rotated;
      const { certificate } = await byJson(`/api/ca/${old.id}/issue`, { csr: request });
      answers.push({ afterwards, certificate });
    }
  };
  const clients = [client(), client(), client()];
  const load = Promise.all(clients);
  while (answers.length < 10) await Bun.sleep(2);
  const result = await command(instance, ["ca", "rotate", "rolled"]);
  rotated = true;
  while (answers.filter(({ afterwards }) => afterwards).length < 10) await Bun.sleep(2);
  done = true;
  await load;
  // What was announced under the old key before the rollover is still handed out, and nothing else
  // is signed by it.
  const byOldKey = answers.filter(({ certificate }) =>
    new X509Certificate(certificate ?? "").verify(oldKey),
  );
  const signedByOld = await count(old.id);
  expect(signedByOld).toBe(byOldKey.length);
  const late = answers.filter(({ afterwards }) => afterwards).map((one) => one.certificate);
  const first = answers.find(({ certificate }) => certificate !== undefined)?.certificate ?? "";
  const { serial } = certificateIn(first);
  const file = saved(instance.home, "late.csr", request);
  const bulk = { items: [{ ref: "a", csr: request }], confirm_count: 1 };
  const bulkAnswer = await byJson(`/api/ca/${old.id}/certificates:bulk`, bulk);
  late.push(
    String((await command(instance, ["cert", "issue", "--ca", old.id, "--csr", file])).certificate),
    bulkAnswer.items?.[0]?.certificate,
    (await byJson(`/api/ca/${old.id}/renew`, { serial })).certificate,
    (await byRpc("IssueCertificate", { ca_id: old.id, csr_pem: request })).certificatePem,
    (await byRpc("RenewCertificate", { ca_id: old.id, serial })).certificatePem,
  );
  // As `ca rotate` answers.
  const { new_ca: successor } = result as { new_ca: { certificate: string } };
  const newKey = new X509Certificate(successor.certificate).publicKey;
  for (const pem of late) {
    const certificate = new X509Certificate(pem ?? "");
    expect([certificate.verify(oldKey), certificate.verify(newKey)]).toEqual([false, true]);
  }
  expect(await count(old.id)).toBe(signedByOld);
}, 30_000);

test("no renewal changes an identity, whoever asks and whatever the new request says", async () => {
  const { id } = await root("renewing");
  const identity = {
    subject: [{ type: "CN", value: "a.example" }],
    dns: ["a.example", "b.example"],
  };
  const names = (request: object) => csr({ ...identity, ...request } as Parameters<typeof csr>[0]);
  const issued = await byJson(`/api/ca/${id}/issue`, { csr: names({}) });
  const before = new X509Certificate(issued.certificate ?? "");
  const { serial } = certificateIn(issued.certificate ?? "");
  const others = [
    names({ subject: [{ type: "CN", value: "b.example" }] }),
    names({ dns: ["a.example"] }),
    names({ dns: ["a.example", "b.example", "c.example"] }),
    names({ dns: ["a.example", "B.example.evil"] }),
  ];
  for (const other of others) {
    const json = await byJson(`/api/ca/${id}/renew`, { serial, csr: other });
    const file = saved(instance.home, "other.csr", other);
    const shell = await instance.cli("cert", "renew", serial, "--ca", "renewing", "--csr", file);
    const rpc = await byRpc("RenewCertificate", { ca_id: id, serial, csr_pem: other });
    expect([json.code, codeIn(shell.stderr), rpc.problem]).toEqual([
      "identity_mismatch",
      "identity_mismatch",
      "identity_mismatch",
    ]);
  }
  expect(await count(id)).toBe(1);
  for (const request of [{}, { csr: names({}) }]) {
    const renewed = await byJson(`/api/ca/${id}/renew`, { serial, ...request });
    const after = new X509Certificate(renewed.certificate ?? "");
    expect([after.subject, after.subjectAltName]).toEqual([before.subject, before.subjectAltName]);
    const sameKey = after.publicKey.equals(before.publicKey);
    expect(sameKey).toBe(!("csr" in request));
  }
}, 30_000);

/** Of gates that refuse with a code of their own and name no gate. */
const ownCodes: Readonly<Record<string, string>> = {
  certificate_policy: "key_usage_unsuitable",
  validity: "validity_exceeds_limit",
};

interface Offence {
  readonly csr: string;
  readonly profile?: string;
  readonly validity_days?: number;
  readonly must_staple?: boolean;
}

interface Answer {
  readonly code?: string;
  readonly certificate?: string;
  readonly gates?: readonly { readonly name: string; readonly status: string }[];
  readonly items?: readonly { readonly certificate?: string }[];
}

const root = (label: string, more: readonly string[] = []) =>
  made(["ca", "init-root", "--label", label, "--cn", label, ...more]);

const intermediate = (parent: string, label: string) =>
  made(["ca", "issue-intermediate", "--parent", parent, "--label", label, "--cn", label]);

async function made(args: readonly string[]) {
  const ca = await command(instance, [...args, "--key-type", "ecdsa-p256"]);
  return { id: String(ca.id), certificate: String(ca.certificate) };
}

const post = (path: string, body: object): Promise<Response> =>
  instance.fetch(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { authorization: `Token ${secret}`, "content-type": "application/json" },
  });

const byJson = async (path: string, body: object): Promise<Answer> =>
  (await post(path, body)).json() as Promise<Answer>; // JSON by contract.

/** The answer of one remote call, with the problem its refusal carries. */
async function byRpc(method: string, message: object) {
  const response = await post(`/pki.v1.PKIService/${method}`, message);
  const answer = (await response.json()) as RpcAnswer; // JSON by contract.
  const detail = Buffer.from(answer.details?.[0]?.value ?? "", "base64");
  // ErrorInfo: member 1, the code, comes first with its length in one octet.
  const problem =
    detail.length === 0 ? undefined : detail.toString("utf8", 2, 2 + (detail[1] ?? 0));
  return { ...answer, problem };
}

interface RpcAnswer {
  readonly certificatePem?: string;
  readonly details?: readonly { readonly value: string }[];
}

/** The code with which the shell refuses; empty when it does not. */
async function byShell(ca: string, asked: Offence & { readonly profile: string }): Promise<string> {
  const file = saved(instance.home, "asked.csr", asked.csr);
  const { validity_days: days, must_staple: staple } = asked;
  const { stderr } = await instance.cli(
    "cert",
    "issue",
    "--ca",
    ca,
    "--csr",
    file,
    "--profile",
    asked.profile,
    ...(days === undefined ? [] : ["--validity-days", String(days)]),
    ...(staple === true ? ["--must-staple"] : []),
  );
  return codeIn(stderr);
}

const codeIn = (text: string): string => /\b[a-z]+(?:_[a-z]+)+\b/.exec(text)?.[0] ?? "";

const certificateIn = (pem: string) =>
  parseCertificate(decodePem(pem, ["CERTIFICATE"]) ?? new Uint8Array());

/** Leaves in the inventory of a CA. */
async function count(id: string): Promise<number> {
  const path = `/api/ca/${id}/certificates?limit=1`;
  return (await instance.admin<{ total: number }>("GET", path)).total;
}
