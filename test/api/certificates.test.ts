/** CAs, profiles, issuance and inventory in JSON, through the pipeline. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { beforeEach, expect, test } from "bun:test";
import { createPublicKey, X509Certificate } from "node:crypto";

import { authorityHandlers } from "#api/authorities.ts";
import { certificateHandlers } from "#api/certificates.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import { profileHandlers } from "#api/profiles.ts";
import type { Principal } from "#core/access/principal.ts";
import type { TenantId } from "#core/ids.ts";
import { Problem, refuse } from "#core/problems.ts";
import type { OperationName } from "#operations";
import { csr, issuanceWorld, rootOrigin, type World } from "#test/support/worlds/issuance.ts";
import { personNamed } from "#test/support/worlds/people.ts";

let world: World;
let ask: (operation: Operation, asked?: Asked) => Promise<Json>;
let raw: (operation: Operation, asked?: Asked) => Promise<{ status: number; raw: string }>;
let handlers: ReturnType<typeof handlersOf>;
beforeEach(() => {
  world = issuanceWorld();
  handlers = handlersOf(world);
  const perform = openPipeline({ ...world });
  const call = (operation: Operation, asked: Asked = {}) => {
    const origin = { ...rootOrigin, principal: asked.principal ?? rootOrigin.principal };
    const { path = {}, body } = asked;
    const query = new URLSearchParams(asked.query ?? "");
    const request = { operation, origin, path, query, body: async () => body };
    return askJson(perform, request, handlers[operation]);
  };
  ask = async (operation, asked) => {
    const answer = await call(operation, asked);
    return { ...JSON.parse(JSON.stringify(answer.body)), headers: answer.headers };
  };
  raw = async (operation, asked) => {
    const answer = await call(operation, asked);
    if (answer.document === undefined) throw new Error("the answer is JSON");
    return { status: answer.status, raw: String(answer.document.content) };
  };
});

const handlersOf = (given: World) => {
  const { "ca.certificate": certificate, "ca.chain": chain, ...json } = authorityHandlers(given);
  return {
    ...json,
    ...certificateHandlers(given),
    ...issuanceHandlers(given),
    ...profileHandlers(given),
    certificate,
    chain,
  };
};
type Operation = Exclude<keyof ReturnType<typeof handlersOf>, "certificate" | "chain"> &
  OperationName;

interface Asked {
  readonly path?: Record<string, string>;
  readonly query?: string;
  readonly body?: unknown;
  readonly principal?: Principal;
}
// biome-ignore lint/suspicious/noExplicitAny: answers are read member by member, as a client reads them.
type Json = any;

const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: "accepted", facts: {} }),
    (error) => {
      if (!(error instanceof Problem)) throw error;
      return { code: error.code as string, facts: error.facts };
    },
  );
const rootBody = {
  label: "root",
  subject: { cn: "Root", o: "Org", c: "DE" },
  key_type: "ecdsa-p256",
};
const initRoot = (more: object = {}) => ask("ca.init_root", { body: { ...rootBody, ...more } });
const issue = (id: string, more: object = {}) =>
  ask("cert.issue", { path: { id }, body: { csr: csr(), ...more } });
const auditor: Principal = {
  subject: "ada",
  person: personNamed("ada"),
  isRoot: false,
  roles: [],
  groups: [],
  mechanism: "basic",
  tenantRoles: { other: ["auditor"] },
};

test("init-root answers 201 with the whole CA and where to read it", async () => {
  const { headers, ...ca } = await initRoot({ max_path_len: 1 });
  expect(headers).toEqual({ location: `/api/ca/${ca.id}` });
  expect(ca).toMatchObject({
    tenant_id: "default",
    label: "root",
    provider: "software",
    key_type: "ecdsa-p256",
    algorithm: "classical",
    subject: "CN=Root,O=Org,C=DE",
    max_path_len: 1,
    status: "active",
    created_at: "2026-06-01T12:00:00.000000Z",
    not_before: "2026-06-01T11:55:00.000000Z",
    not_after: "2036-05-29T11:54:59.000000Z",
  });
  expect(ca.serial).toMatch(/^[1-9]\d*$/);
  expect(ca.public_key_fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
  expect(new X509Certificate(ca.certificate).ca).toBe(true);
  for (const absent of ["parent_id", "pkcs11_uri", "csr", "retire_after"]) {
    expect(ca).not.toHaveProperty(absent);
  }
  const { headers: _none, ...shown } = await ask("ca.show", { path: { id: ca.id } });
  expect(shown).toEqual(ca);
});

test("a CA body is read strictly", async () => {
  const code = async (more: object) =>
    (await refusalOf(ask("ca.init_root", { body: { ...rootBody, ...more } }))).code;
  expect(await code({ label: "a b" })).toBe("invalid_field");
  expect(await code({ label: "x".repeat(65) })).toBe("invalid_field");
  expect(await code({ subject: { o: "x" } })).toBe("missing_field");
  expect(await code({ key_type: "dsa-1024" })).toBe("invalid_field");
  expect(await code({ key_type: "slh-dsa-sha2-128s" })).toBe("key_type_unsupported");
  expect(await code({ algorithm: "hybrid", key_type: "ml-dsa-65" })).toBe("key_type_unsupported");
  const second = (alt_key_type: string) => code({ algorithm: "hybrid", alt_key_type });
  expect(await second("ecdsa-p256")).toBe("key_type_unsupported");
  expect(await code({ alt_key_type: "ml-dsa-65" })).toBe("invalid_field");
  expect(await code({ algorithm: "pqc" })).toBe("key_type_unsupported");
  expect(await code({ key_type: "ml-dsa-65" })).toBe("key_type_unsupported");
  expect(await code({ name_constraints: {} })).toBe("invalid_field");
  for (const base of [".", "ex..test", "*.ex.test", "ex.test.", "8.8.8.8", "-a.test"]) {
    expect(await code({ name_constraints: { excluded: { dns: [base] } } })).toBe("invalid_field");
    expect(await code({ name_constraints: { excluded: { uri: [base] } } })).toBe("invalid_field");
  }
  for (const base of ["@ex.test", "a@", "", "a b@ex.test", "a@8.8.8.8"]) {
    expect(await code({ name_constraints: { excluded: { email: [base] } } })).toBe("invalid_field");
  }
  expect(await code({ name_constraints: { permitted: { dir_names: [{}] } } })).toBe(
    "invalid_field",
  );
  expect(await code({ name_constraints: { permitted: { ip: ["10.0.0.0/33"] } } })).toBe(
    "invalid_field",
  );
  for (const more of [
    { mappings: ["1.2.3:1.2.4"] },
    { require_explicit_policy: 0 },
    { inhibit_policy_mapping: 0 },
  ]) {
    expect(await code({ policies: { oids: ["1.2.3"], ...more } })).toBe("invalid_field");
  }
  expect(await code({ ext_key_usages: ["serverAuth"] })).toBe("unknown_field");
  expect(await code({ extra: 1 })).toBe("unknown_field");
  expect(await code({ key_type: "ecdsa-sha2-nistp384" })).toBe("accepted");
  expect(await code({})).toBe("already_exists");
});

test("a post-quantum CA says so, and that its key is software-held", async () => {
  const ca = await initRoot({ algorithm: "pqc", key_type: "ml-dsa-87" });
  expect(ca).toMatchObject({ algorithm: "pqc", key_type: "ml-dsa-87", provider: "software" });
  expect(ca).not.toHaveProperty("alt_key_type");
});

test("a hybrid CA names both key types, ML-DSA-65 being the second when none is asked for", async () => {
  const ca = await initRoot({ algorithm: "hybrid" });
  expect(ca).toMatchObject({ ...hybrid, alt_key_type: "ml-dsa-65" });
  const other = { label: "other", algorithm: "hybrid", alt_key_type: "ml-dsa-44" };
  expect(await initRoot(other)).toMatchObject({ ...hybrid, alt_key_type: "ml-dsa-44" });
});
const hybrid = { algorithm: "hybrid", key_type: "ecdsa-p256", provider: "software" };

test("an intermediate is listed under its parent, newest first, and pages do not shift", async () => {
  const root = await initRoot();
  for (const label of ["one", "two"]) {
    world.clock.advance(1);
    await ask("ca.issue_intermediate", {
      path: { id: root.id },
      body: { ...rootBody, label, name_constraints: { permitted: { dns: ["a.example"] } } },
    });
  }
  const page = await ask("ca.list", { query: "limit=2" });
  expect(page.items.map(({ label }: Json) => label)).toEqual(["two", "one"]);
  expect(page).toMatchObject({ has_more: true, total: 3 });
  const rest = await ask("ca.list", { query: `limit=2&cursor=${page.next_cursor}` });
  expect(rest).toMatchObject({ has_more: false, next_cursor: "", total: 3 });
  expect(rest.items.map(({ label }: Json) => label)).toEqual(["root"]);
  const below = await ask("ca.list", { query: `parent_id=${root.id}&q=ONE` });
  expect(below.items).toMatchObject([{ label: "one", parent_id: root.id }]);
  const other = await refusalOf(ask("ca.list", { query: `q=o&cursor=${page.next_cursor}` }));
  expect(other.code).toBe("bad_cursor");
});

test("a reader of another tenant sees no CA in lists and 404 for its id", async () => {
  const root = await initRoot();
  expect(await ask("ca.list", { principal: auditor })).toMatchObject({ items: [], total: 0 });
  const shown = ask("ca.show", { path: { id: root.id }, principal: auditor });
  expect((await refusalOf(shown)).code).toBe("not_found");
  const foreign = { tenantRoles: { ["other" as TenantId]: ["issuer"] as const } };
  const writing = { path: { id: root.id }, body: {}, principal: { ...auditor, ...foreign } };
  expect((await refusalOf(ask("cert.issue", writing))).code).toBe("forbidden");
});

test("the public key is given as PEM and as OpenSSH prints it", async () => {
  const root = await initRoot();
  const path = { id: root.id };
  const pem = await raw("ca.public_key", { path });
  expect(pem.raw).toBe(root.public_key);
  expect(createPublicKey(pem.raw).asymmetricKeyType).toBe("ec");
  const ssh = await raw("ca.public_key", { path, query: "format=ssh" });
  expect(ssh.raw).toMatch(/^ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYA[\w+/=]+ root\n$/);
  const wrong = await refusalOf(raw("ca.public_key", { path, query: "format=der" }));
  expect(wrong.code).toBe("bad_query");
});

test("CA certificate and chain are public, cacheable for 300 seconds and conditional", async () => {
  const root = await initRoot();
  const get = (which: "certificate" | "chain", query: string, headers: HeadersInit = {}) =>
    handlers[which]({
      request: new Request("http://pki.example/", { headers }),
      path: { id: root.id },
      query,
      ip: "",
      requestId: "",
    });
  const der = await get("certificate", "");
  expect(der.headers.get("content-type")).toBe("application/pkix-cert");
  expect(der.headers.get("cache-control")).toBe("public, max-age=300");
  const octets = new Uint8Array(await der.arrayBuffer());
  expect(new X509Certificate(octets).toString()).toBe(root.certificate);
  const etag = der.headers.get("etag") ?? "";
  expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
  expect((await get("certificate", "", { "if-none-match": `W/${etag}` })).status).toBe(304);
  expect((await get("certificate", "", { "if-none-match": '"other"' })).status).toBe(200);
  expect(await (await get("certificate", "format=pem")).text()).toBe(root.certificate);
  const chain = await get("chain", "");
  expect(chain.headers.get("content-type")).toBe("application/x-pem-file");
  expect(await chain.text()).toBe(root.certificate);
  expect((await refusalOf((async () => get("certificate", "format=txt"))())).code).toBe(
    "bad_query",
  );
  root.id = "absent";
  expect((await refusalOf((async () => get("chain", ""))())).code).toBe("not_found");
});

test("issue answers 201 with leaf and chain, and the certificate can be read back in any spelling", async () => {
  const root = await initRoot();
  const inter = await ask("ca.issue_intermediate", {
    path: { id: root.id },
    body: { ...rootBody, label: "issuing" },
  });
  const { headers, ...issued } = await issue(inter.id, { validity_days: 90 });
  expect(issued).toEqual({
    certificate: expect.any(String),
    chain: `${issued.certificate}${inter.certificate}`,
    serial: expect.stringMatching(/^[1-9]\d*$/),
    ca_id: inter.id,
    profile: "server",
    not_before: "2026-06-01T11:55:00.000000Z",
    not_after: "2026-08-30T11:54:59.000000Z",
  });
  expect(headers).toEqual({ location: `/api/ca/${inter.id}/certificates/${issued.serial}` });
  const hex = BigInt(issued.serial).toString(16);
  for (const serial of [issued.serial, `0x0${hex.toUpperCase()}`, `00${issued.serial}`]) {
    const shown = await ask("cert.show", { path: { id: inter.id, serial } });
    expect(shown).toMatchObject({
      serial: issued.serial,
      status: "good",
      sans: ["dns:a.example"],
      profile: "server",
      common_name: "a.example",
      superseded: false,
      ct_status: "none",
      sct_count: 0,
      requested_by: "root",
      certificate: issued.certificate,
    });
    expect(shown).not.toHaveProperty("revoked_at");
  }
});

test("refusals of issuance name their code", async () => {
  const { id } = await initRoot();
  const code = async (more: object) => (await refusalOf(issue(id, more))).code;
  expect(await code({ csr: "not a request" })).toBe("bad_csr");
  expect(await code({ csr: csr({ stolen: true }) })).toBe("bad_csr");
  expect(await code({ profile: "nobody" })).toBe("unknown_profile");
  expect(await code({ validity_days: 0 })).toBe("invalid_field");
  expect(await code({ must_staple: true })).toBe("gate_refused");
  expect((await refusalOf(issue(id, { validity_days: 398 }))).facts).toEqual({
    requested_days: 398,
    limit_days: 397,
    limit: "profile",
  });
  world.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  expect(await code({})).toBe("key_unavailable");
});

test("the inventory filters, computes expired from good only, and lists no CA certificate", async () => {
  const { id } = await initRoot();
  const { serial } = await issue(id, { validity_days: 1 });
  const list = async (query = "") => {
    const { items } = await ask("cert.list", { path: { id }, query });
    return items.map((item: Json) => item.status);
  };
  expect(await list()).toEqual(["good"]);
  expect(await list("status=valid")).toEqual(["good"]);
  expect(await list("q=A.EXAMPLE&profile=server")).toEqual(["good"]);
  expect(await list(`q=0x${BigInt(serial).toString(16)}`)).toEqual(["good"]);
  expect(await list("expires_before=2026-06-02")).toEqual([]);
  world.clock.advance(2 * 86_400);
  expect(await list("status=expired")).toEqual(["expired"]);
  expect(await list("status=good")).toEqual([]);
  for (const query of ["status=revokd", "profile=nobody", "limit=0", "q="]) {
    expect((await refusalOf(ask("cert.list", { path: { id }, query }))).code).toBe("bad_query");
  }
});

test("an absent serial is 404, a malformed one 400, the CA's own certificate no inventory", async () => {
  const root = await initRoot();
  const show = async (serial: string) =>
    (await refusalOf(ask("cert.show", { path: { id: root.id, serial } }))).code;
  expect(await show("1")).toBe("not_found");
  expect(await show("-1")).toBe("bad_serial");
  expect(await show(root.serial)).toBe("not_found");
});

test("searching by key finds the certificate and wants audit:read on the CA", async () => {
  const { id } = await initRoot();
  const issued = await issue(id);
  const { public_key_fingerprint } = await ask("cert.show", {
    path: { id, serial: issued.serial },
  });
  const query = `public_key_sha256=${encodeURIComponent(public_key_fingerprint)}`;
  expect((await ask("cert.list", { path: { id }, query })).total).toBe(1);
  const issuer: Principal = { ...auditor, tenantRoles: { default: ["approver"] } };
  const search = ask("cert.list", { path: { id }, query, principal: issuer });
  expect(await refusalOf(search)).toMatchObject({
    code: "forbidden",
    facts: { capability: "audit:read" },
  });
});

test("a certificate is found by its own SHA-256 in any spelling, and a bad one names its field", async () => {
  const { id } = await initRoot();
  const { serial, certificate } = await issue(id);
  await issue(id);
  const list = (sha256: string, principal?: Principal) =>
    ask("cert.list", {
      path: { id },
      query: `certificate_sha256=${encodeURIComponent(sha256)}`,
      ...(principal && { principal }),
    });
  const { fingerprint256: colons } = new X509Certificate(certificate);
  const hex = colons.replaceAll(":", "").toLowerCase();
  const base64 = Uint8Array.fromHex(hex).toBase64();
  for (const spelled of [colons, hex, hex.replace(/.{4}/g, "$& "), `SHA256:${base64}`]) {
    expect(await list(spelled)).toMatchObject({ total: 1, has_more: false, items: [{ serial }] });
  }
  expect((await list("ab".repeat(32))).total).toBe(0);
  for (const bad of ["ab", `${hex}0`, `SHA1:${base64}`]) {
    expect(await refusalOf(list(bad))).toMatchObject({
      code: "bad_fingerprint",
      facts: { field: "certificate_sha256" },
    });
  }
  const approver: Principal = { ...auditor, tenantRoles: { default: ["approver"] } };
  expect(await refusalOf(list(hex, approver))).toMatchObject({
    code: "forbidden",
    facts: { capability: "audit:read" },
  });
});

test("what somebody asked for is found by the whole of their name, and wants audit:read", async () => {
  const { id } = await initRoot();
  const { serial } = await issue(id);
  const list = (query: string, principal?: Principal) =>
    ask("cert.list", { path: { id }, query, ...(principal && { principal }) });
  expect(await list("requested_by=root")).toMatchObject({
    total: 1,
    items: [{ serial, requested_by: "root" }],
  });
  expect((await list("requested_by=roo")).total).toBe(0);
  expect((await list("requested_by=root&status=revoked")).total).toBe(0);
  expect((await refusalOf(list("requested_by="))).code).toBe("bad_query");
  const approver: Principal = { ...auditor, tenantRoles: { default: ["approver"] } };
  expect(await refusalOf(list("requested_by=root", approver))).toMatchObject({
    code: "forbidden",
    facts: { capability: "audit:read" },
  });
});

test("intended serials without certificate are listed as orphans", async () => {
  const { id } = await initRoot();
  world.store.checkWrite = (operation) => {
    if (operation === "certificates.activate") throw refuse("storage_unavailable");
  };
  for (let n = 0; n < 3; n++) await refusalOf(issue(id));
  world.store.checkWrite = () => {};
  await world.store.atomically((tx) => tx.certificates.orphanOpenIntents());
  const serials: string[] = [];
  for (let cursor = "", n = 0; n < 3; n++) {
    const query = `limit=1${cursor && `&cursor=${cursor}`}`;
    const page = await ask("cert.orphans", { path: { id }, query });
    expect([page.total, page.has_more]).toEqual([3, n < 2]);
    const orphan = { purpose: "certificate", state: "orphaned", requested_by: "root" };
    expect(page.items).toMatchObject([orphan]);
    serials.push(page.items[0].serial);
    cursor = page.next_cursor;
  }
  expect(new Set(serials).size).toBe(3);
  const foreign = ask("cert.orphans", { path: { id }, query: "cursor=x" });
  expect((await refusalOf(foreign)).code).toBe("bad_cursor");
});

test("profiles are listed by name with days rounded up", async () => {
  const { items, total } = await ask("profile.list");
  expect(total).toBe(9);
  const names = items.map(({ name }: Json) => name);
  expect(names).toEqual([...names].sort());
  expect(names).toContain("server-muststaple");
  expect(items.find(({ name }: Json) => name === "client")).toMatchObject({
    builtin: true,
    key_usages: ["digitalSignature"],
    ext_key_usages: ["clientAuth"],
    default_validity_days: 365,
    max_validity_days: 730,
    max_validity_seconds: 63_072_000,
    is_ca: false,
    must_staple: false,
    algorithm: "classical",
    require_approval: false,
  });
});

test("a renewed certificate is shown as superseded, the renewal is not", async () => {
  const { id } = await initRoot();
  const { serial } = await issue(id);
  world.clock.advance(86_400);
  const renewed = await ask("cert.renew", { path: { id }, body: { serial } });
  const { items } = await ask("cert.list", { path: { id } });
  expect(items.map((item: Json) => [item.serial, item.superseded])).toEqual([
    [renewed.serial, false],
    [serial, true],
  ]);
  expect((await ask("cert.show", { path: { id, serial } })).superseded).toBe(true);
});
