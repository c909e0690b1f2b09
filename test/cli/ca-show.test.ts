/**
 * `pkid ca show`: the record, its bundle, its rollover, and the addresses it names and
 * those that what it signs names.
 */

import { expect, test } from "bun:test";

import { certificatePem } from "#domain/authorities/bundle.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import {
  caRequest,
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
} from "#test/support/worlds/issuance.ts";
import { type Answers, shell } from "#test/support/instances/shell.ts";

const world = issuanceWorld({ urlBase: "http://pki.example" });
const root = await initRoot(world);
const request = caRequest({ label: "issuing" });
const issuing = await world.authorities.issueIntermediate(rootOrigin, root, request);
const leaf = await world.issuance.issue(rootOrigin, issuing, leafRequest());
const pemOf = (ca: CaRecord) => certificatePem(ca.certificate ?? new Uint8Array());
const urls = (ca: CaRecord) => ({
  ocsp: [`http://pki.example/api/ca/${ca.id}/ocsp`],
  ca_issuers: [`http://pki.example/api/ca/${ca.id}/certificate`],
  crl: [`http://pki.example/api/ca/${ca.id}/crl`],
});

const answers =
  (ca: CaRecord, more: { leaves?: unknown; superseded?: boolean } = {}): Answers =>
  ({ path }) => {
    const record = { id: ca.id, label: ca.label, status: "active", certificate: pemOf(ca) };
    const shown = more.superseded ? { ...record, status: "superseded" } : record;
    if (path.endsWith("/rotation")) {
      const state = { outstanding_leaves: 1, safe_to_retire: false };
      return { ca: shown, successor: { label: "next" }, ...state };
    }
    if (path.endsWith("/chain")) return new Response(pemOf(ca) + pemOf(root));
    if (path.includes("/certificates")) return more.leaves ?? { items: [] };
    if (path.includes("parent_id=")) return { items: [{ certificate: pemOf(issuing) }] };
    return shown;
  };

test("a CA is shown with the addresses it writes, those it names itself, and its bundle", async () => {
  const leaves = { items: [{ certificate: certificatePem(leaf.certificate) }] };
  const options = { answers: answers(issuing, { leaves, superseded: true }) };
  const { code, stdout } = await shell(["ca", "show", issuing.id], options);
  expect(code).toBe(0);
  const value = (name: string) => new RegExp(`^${name}: +(.*)$`, "m").exec(stdout)?.[1];
  expect(["stamped crl", "issuer crl", "successor", "outstanding leaves"].map(value)).toEqual([
    ...urls(issuing).crl,
    ...urls(root).crl,
    "next",
    "1",
  ]);
  expect(stdout).toEndWith(pemOf(issuing) + pemOf(root));
});

test("with --json the record keeps its members, with the rest beside them", async () => {
  const line = ["ca", "show", root.id, "--json"];
  const { stdout } = await shell(line, { answers: answers(root) });
  expect(JSON.parse(stdout)).toEqual({
    id: root.id,
    label: "root",
    status: "active",
    certificate: pemOf(root),
    rotation: { successor: { label: "next" }, outstanding_leaves: 1, safe_to_retire: false },
    // A root has made no leaf: the newest CA below it says which addresses it writes.
    stamped_urls: urls(root),
    issuer_urls: { ocsp: [], ca_issuers: [], crl: [] },
    chain: pemOf(root) + pemOf(root),
  });
});

test("a CA that waits for its certificate has no bundle, and who may not list sees the rest", async () => {
  const { code, stdout, asked } = await shell(["ca", "show", issuing.id], {
    answers: ({ path }) => {
      if (path.includes("certificates") || path.includes("parent_id")) {
        const body = { error: "You may not do this.", code: "forbidden", request_id: "r" };
        return Response.json(body, { status: 403 });
      }
      if (path.endsWith("/rotation")) return { outstanding_leaves: 0 };
      return { id: issuing.id, label: "waiting", status: "pending" };
    },
  });
  expect([code, asked.some(({ path }) => path.endsWith("/chain"))]).toEqual([0, false]);
  expect(stdout).toContain("pending");
});
