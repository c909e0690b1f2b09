/**
 * The life of a CA in JSON, through the pipeline: external roots, rollover, cross certificates,
 * chains, deletion.
 */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { afterAll, beforeEach, expect, test } from "bun:test";

import { crossSignHandlers } from "#api/cross-signs.ts";
import { externalHandlers } from "#api/external.ts";
import { rolloverHandlers } from "#api/rollover.ts";
import { decodePem, decodePemBlocks } from "#core/asn1/pem.ts";
import { Problem } from "#core/problems.ts";
import type { Principal } from "#core/access/principal.ts";
import type { Perform } from "#domain/access/perform.ts";
import { CrossSigning } from "#domain/hierarchy/cross-sign.ts";
import { externalRoot } from "#test/support/worlds/external-root.ts";
import { csr, initRoot, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import { certificateOf, opensslVerifies, rolloverWorld } from "#test/support/worlds/rollover.ts";

const elsewhere = externalRoot();
afterAll(() => elsewhere[Symbol.dispose]());

let world: Awaited<ReturnType<typeof rolloverWorld>>;
let handlers: ReturnType<typeof handlersOf>;
let perform: Perform;
beforeEach(async () => {
  world = await rolloverWorld();
  handlers = handlersOf();
  perform = openPipeline({ ...world });
});

function handlersOf() {
  const crossSigning = new CrossSigning(world);
  const {
    "ca.chains": chains,
    "ca.cross_chain": crossChain,
    ...cross
  } = crossSignHandlers({
    ...world,
    crossSigning,
  });
  return {
    json: { ...rolloverHandlers(world), ...externalHandlers(world), ...cross },
    chains,
    crossChain,
  };
}

interface Asked {
  readonly query?: string;
  readonly body?: unknown;
  readonly principal?: Principal;
}
// biome-ignore lint/suspicious/noExplicitAny: answers are read member by member, as a client reads them.
type Json = any;
type Operation = keyof ReturnType<typeof handlersOf>["json"];

async function answer(operation: Operation, id: string | undefined, asked: Asked = {}) {
  const origin = { ...rootOrigin, principal: asked.principal ?? rootOrigin.principal };
  const path: Record<string, string> = id === undefined ? {} : { id };
  const query = new URLSearchParams(asked.query ?? "");
  const request = { operation, origin, path, query, body: async () => asked.body };
  return await askJson(perform, request, handlers.json[operation]);
}

async function ask(operation: Operation, id?: string, asked?: Asked): Promise<Json> {
  const given = await answer(operation, id, asked);
  return JSON.parse(JSON.stringify(given.body));
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: "accepted", facts: {} }),
    (error) => {
      if (!(error instanceof Problem)) throw error;
      return { code: error.code as string, facts: error.facts };
    },
  );
const issuer: Principal = {
  ...rootOrigin.principal,
  isRoot: false,
  subject: "ina",
  roles: ["issuer"],
};
const derOf = (pem: string) => decodePem(pem, ["CERTIFICATE"]) ?? new Uint8Array();
const issue = (ca = world.issuing) => world.issuance.issue(rootOrigin, ca, leafRequest());
const publicRequest = (path: Record<string, string>) => ({
  request: new Request("http://localhost/"),
  path,
  query: "",
  ip: "",
  requestId: "",
});

test("rotate answers old and new CA and a bundle in which both have a path", async () => {
  const leaf = await issue();
  const made = await ask("ca.rotate", world.issuing.id);
  expect(made.old_ca).toMatchObject({
    id: world.issuing.id,
    status: "superseded",
    successor_id: made.new_ca.id,
    retire_after: made.retire_after,
  });
  expect(made.new_ca).toMatchObject({
    status: "active",
    predecessor_id: world.issuing.id,
    label: "issuing-r2",
    subject: world.issuing.subject,
    parent_id: world.root.id,
    max_path_len: 0,
  });
  expect(Date.parse(made.retire_after)).toBe(leaf.record.notAfter);
  const next = await issue();
  expect<string>(next.caId).toBe(made.new_ca.id);
  for (const { certificate } of [leaf, next]) {
    expect(
      opensslVerifies({
        leaf: certificate,
        trusted: [certificateOf(world.root)],
        at: world.clock.now(),
        untrustedPem: made.combined_chain_pem,
      }),
    ).toBe(true);
  }
});

test("rotate takes a label, a key type and a validity, and refuses what it cannot do", async () => {
  const body = { new_label: "second", key_type: "ecdsa-p384", validity_days: 100 };
  const { new_ca } = await ask("ca.rotate", world.issuing.id, { body });
  expect(new_ca).toMatchObject({ label: "second", key_type: "ecdsa-p384" });
  const refused = async (id: string, asked: Asked) =>
    (await refusal(ask("ca.rotate", id, asked))).code;
  expect(await refused(world.root.id, {})).toBe("not_rotatable");
  expect(await refused(new_ca.id, { body: { new_label: "second" } })).toBe("already_exists");
  expect(await refused(new_ca.id, { body: { validity_days: 36_500 } })).toBe(
    "validity_exceeds_limit",
  );
  expect(await refused(new_ca.id, { body: { label: "third" } })).toBe("unknown_field");
  expect(await refused(new_ca.id, { principal: issuer })).toBe("forbidden");
});

test("retire refuses while leaves are outstanding, and by force names what it orphans", async () => {
  const leaf = await issue();
  const { retire_after } = await ask("ca.rotate", world.issuing.id);
  const status = { outstanding_leaves: 1, safe_to_retire: false, retire_after };
  expect(await ask("ca.rotation", world.issuing.id)).toMatchObject(status);
  const { items, total } = await ask("ca.rotations");
  expect([total, items[0]]).toMatchObject([1, { ...status, ca: { id: world.issuing.id } }]);
  expect(await refusal(ask("ca.retire", world.issuing.id))).toMatchObject({
    code: "leaves_outstanding",
    facts: { outstanding_leaves: 1, retire_after },
  });
  const held = { reason: "certificateHold", force: true };
  expect((await refusal(ask("ca.retire", world.issuing.id, { body: held }))).code).toBe(
    "bad_reason",
  );
  const body = { force: true, reason: "superseded" };
  const retired = await ask("ca.retire", world.issuing.id, { body });
  expect(retired).toMatchObject({
    parent_id: world.root.id,
    revoked_serial: world.issuing.serial,
    outstanding_leaves: 1,
    retired_ca: { id: world.issuing.id, status: "retired" },
  });
  const crl = await world.publisher.current(world.root);
  expect(crl).toMatchObject({ number: retired.crl_number, entries: 1 });
  expect((await refusal(ask("ca.retire", world.issuing.id))).code).toBe("ca_not_superseded");
  expect((await ask("ca.rotations")).total).toBe(0);
  const stored = await world.store.read.certificates.bySerial(world.issuing.id, leaf.serial);
  expect(stored?.status).toBe("good");
});

test("a request goes out, openssl's root certifies it, and what comes back issues", async () => {
  world.clock.at = elsewhere.soon;
  const request = { label: "below", subject: { cn: "Below" }, key_type: "ecdsa-p256" };
  const { ca, csr_pem: csrPem } = await ask("ca.csr", undefined, { body: request });
  expect(ca).toMatchObject({ label: "below", status: "pending" });
  expect((await answer("ca.csr_show", ca.id)) as Json).toMatchObject({
    document: { content: csrPem },
  });
  const { csr_pem: other } = await ask("ca.csr", undefined, {
    body: { ...request, label: "other" },
  });
  const chain_pem = elsewhere.upperPem + elsewhere.rootPem;
  const foreign = { certificate_pem: elsewhere.certify({ csrPem: other }), chain_pem };
  const imported = (body: object) => ask("ca.import_cert", ca.id, { body });
  expect((await refusal(imported(foreign))).code).toBe("import_refused");
  const certificate_pem = elsewhere.certify({ csrPem });
  const done = await imported({ certificate_pem, chain_pem });
  expect(done).toMatchObject({ ca: { id: ca.id, status: "active" }, warnings: [] });
  const below = await world.store.read.cas.byLabel("below");
  const leaf = await issue(below);
  const asked = { leaf: leaf.certificate, trusted: [elsewhere.root], at: world.clock.now() };
  expect(opensslVerifies({ ...asked, untrustedPem: done.chain_pem })).toBe(true);
  expect((await refusal(imported({ certificate_pem, chain_pem }))).code).toBe("ca_not_pending");
  expect((await refusal(ask("ca.csr_show", world.root.id))).code).toBe("not_found");
});

test("cross-sign, its list and its chains lead a leaf to the other root", async () => {
  const other = await initRoot(world, { label: "other" });
  const body = { subject_ca_id: world.root.id };
  const made = await ask("ca.cross_sign", other.id, { body });
  expect(made.cross_sign).toMatchObject({
    issuer_ca_id: other.id,
    subject_ca_id: world.root.id,
    source: "local-ca",
    status: "active",
    requested_by: "root",
    certificate: made.certificate_pem,
  });
  expect(await ask("ca.cross_signs", other.id)).toMatchObject({
    total: 1,
    items: [made.cross_sign],
  });
  const listed = await handlers.chains(publicRequest({ id: world.issuing.id }));
  const { items } = (await listed.json()) as Json;
  expect(items.map(({ native, issuer_label }: Json) => [native, issuer_label])).toEqual([
    [true, "root"],
    [false, "other"],
  ]);
  const leaf = (await issue()).certificate;
  const asked = { leaf, trusted: [certificateOf(other)], at: world.clock.now() };
  expect(opensslVerifies({ ...asked, untrustedPem: items[1].pem })).toBe(true);
  expect(opensslVerifies({ ...asked, untrustedPem: items[0].pem })).toBe(false);
  const path = { id: other.id, cross_sign_id: made.cross_sign.id };
  const above = await (await handlers.crossChain(publicRequest(path))).text();
  expect(above).toBe(made.chain_pem);
  expect(decodePemBlocks(above, "CERTIFICATE", 9)?.[0]).toEqual(derOf(made.certificate_pem));
});

test("cross-sign refuses more than one subject, none, and one its caller does not manage", async () => {
  const other = await initRoot(world, { label: "other" });
  const refused = async (body: object, principal = rootOrigin.principal) =>
    (await refusal(ask("ca.cross_sign", other.id, { body, principal }))).code;
  const subject_ca_id = world.root.id;
  expect(await refused({ subject_ca_id, csr_pem: csr() })).toBe("conflicting_fields");
  expect(await refused({})).toBe("missing_field");
  expect(await refused({ csr_pem: csr() })).toBe("missing_field");
  expect(await refused({ subject_ca_id: "nowhere" })).toBe("not_found");
  expect(await refused({ subject_ca_id }, issuer)).toBe("forbidden");
});

test("delete takes a pending CA and its key, and no CA that anything depends on", async () => {
  const request = { label: "below", subject: { cn: "Below" }, key_type: "ecdsa-p256" };
  const { ca } = await ask("ca.csr", undefined, { body: request });
  const held = world.keys.held.size;
  expect(await ask("ca.delete", ca.id, { query: "destroy_key=true" })).toEqual({
    status: "deleted",
  });
  expect(world.keys.held.size).toBe(held - 1);
  expect(await world.store.read.cas.byLabel("below")).toBeUndefined();
  expect((await refusal(ask("ca.delete", world.root.id))).code).toBe("ca_in_use");
  await issue();
  expect((await refusal(ask("ca.delete", world.issuing.id))).code).toBe("ca_in_use");
  expect((await refusal(ask("ca.delete", ca.id))).code).toBe("not_found");
});
