/** What the pages of authorities work out by themselves: the tree, a preview, members to send. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { Refusal } from "#web/api.ts";
import type { Ca } from "#web/pages/authorities/ca.ts";
import { caMembers, emptyCa } from "#web/pages/authorities/ca-form.ts";
import { missingAbove, treeOf } from "#web/pages/authorities/forest.ts";
import { keyTypeChoices } from "#web/pages/authorities/key-choices.ts";
import { plannedFields } from "#web/pages/authorities/planned.ts";
import { explained } from "#web/pages/authorities/refusals.ts";

/** As far as these look. */
const ca = (id: string, more: Partial<Ca> = {}): Ca => ({
  id,
  tenant_id: "t",
  label: id,
  provider: "software",
  key_type: "ecdsa-p256",
  algorithm: "classical",
  public_key: "",
  public_key_fingerprint: "",
  subject: `CN=${id}`,
  status: "active",
  created_at: "2026-01-01T00:00:00.000000Z",
  ...more,
});

describe("the tree of authorities", () => {
  test("puts each below the one that signed it, siblings by label", () => {
    const rows = treeOf([
      ca("leaf", { parent_id: "b" }),
      ca("b", { parent_id: "root" }),
      ca("a", { parent_id: "root" }),
      ca("root"),
      ca("lost", { parent_id: "not listed" }),
    ]);
    expect(rows.map(({ ca: { id }, level, severed }) => [id, level, severed])).toEqual([
      ["lost", 1, true],
      ["root", 1, false],
      ["a", 2, false],
      ["b", 2, false],
      ["leaf", 3, false],
    ]);
  });

  test("has those of another page that stand above it, and says which they are", () => {
    const page = [ca("leaf", { parent_id: "b" }), ca("c", { parent_id: "a" })];
    expect(missingAbove(page)).toEqual(["b", "a"]);
    const rows = treeOf(page, [ca("b", { parent_id: "hidden" }), ca("a"), ca("c")]);
    expect(rows.map((row) => [row.ca.id, row.level, row.severed, row.elsewhere])).toEqual([
      ["a", 1, false, true],
      ["c", 2, false, false],
      ["b", 1, true, true],
      ["leaf", 2, false, false],
    ]);
    expect(rows.map(({ below }) => below)).toEqual([1, 0, 1, 0]);
  });

  test("has none of another page where nothing of this one stands below it", () => {
    const page = [ca("leaf", { parent_id: "b" })];
    const found = [ca("b", { parent_id: "a" }), ca("a"), ca("of before", { parent_id: "a" })];
    expect(treeOf(page, found).map((row) => row.ca.id)).toEqual(["a", "b", "leaf"]);
    expect(treeOf([ca("new")], found).map((row) => row.ca.id)).toEqual(["new"]);
    expect(treeOf([], found)).toEqual([]);
  });

  test("has every CA once, each behind its parent, whatever is listed", () => {
    const listed = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 60 });
    fc.assert(
      fc.property(listed, (numbers) => {
        const cas = numbers.map((number) =>
          number === 0 ? ca("0") : ca(`${number}`, { parent_id: `${Math.floor(number / 3)}` }),
        );
        const order = treeOf(cas).map((row) => row.ca.id);
        expect(order.toSorted()).toEqual(cas.map(({ id }) => id).toSorted());
        for (const { id, parent_id = "" } of cas) {
          if (order.includes(parent_id)) {
            expect(order.indexOf(parent_id)).toBeLessThan(order.indexOf(id));
          }
        }
      }),
    );
  });
});

describe("the form of an authority", () => {
  test("sends what was typed and nothing else", () => {
    const none = caMembers(emptyCa);
    const first = { key_type: "ecdsa-p384", algorithm: "classical" };
    expect(none).toEqual({ subject: {}, ...first });
    const typed = caMembers({
      ...emptyCa,
      label: " root ",
      cn: "Root",
      validityDays: "ten",
      pathLength: "0",
      permitted: { ...emptyCa.permitted, dns: "a.test\n\nb.test", dir_names: "O=A\\, B, C=DE" },
      policies: "1.2.3",
    });
    expect(typed).toEqual({
      ...first,
      label: "root",
      subject: { cn: "Root" },
      validity_days: "ten",
      max_path_len: 0,
      name_constraints: {
        permitted: { dns: ["a.test", "b.test"], dir_names: [{ o: "A, B", c: "DE" }] },
        critical: true,
      },
      policies: { oids: ["1.2.3"], critical: false },
    });
  });

  test("previews the end that comes first, the signature of the issuer, and its path length", () => {
    const not_after = "2027-01-01T00:00:00.000000Z";
    const parent = ca("above", { not_after, max_path_len: 1, key_type: "rsa-4096" });
    const now = Date.parse("2026-06-01T00:00:00Z");
    const shown = (validityDays: string, pathLength: string) =>
      Object.fromEntries(
        plannedFields({ ...emptyCa, validityDays, pathLength }, parent, now).map((field) => [
          field.name,
          field.value,
        ]),
      );
    expect(shown("", "")).toMatchObject({
      Issuer: "CN=above",
      "Valid until": "2027-01-01, where above ends",
      "Signed with": "rsa-pkcs1-sha512, by above",
      "Basic constraints": "a CA, none below it",
    });
    expect(shown("30", "1")).toMatchObject({
      "Valid until": "2026-07-01, 30 days",
      "Basic constraints": "a CA, path length 1: more than above leaves",
    });
    expect(shown("3000", "")["Valid until"]).toContain("beyond above");
  });

  test("offers SLH-DSA to roots alone", () => {
    const offered = (root: boolean) =>
      keyTypeChoices("pqc", { root, provider: undefined }).map(({ value }) => value);
    expect(offered(true)).toContain("slh-dsa-sha2-128s");
    expect(offered(false)).toEqual(["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"]);
  });
});

describe("a refusal about an authority", () => {
  const reasonOf = (code: string, facts: Refusal["facts"]) => {
    const refusal = { status: 400, code, sentence: "No.", requestId: "", facts };
    const reply = explained({ kind: "refused", refusal });
    return reply?.kind === "refused" ? reply.refusal.facts : undefined;
  };

  test("stands at the field it is about, in words", () => {
    expect(reasonOf("ca_constraint", { reason: "path_length" })).toMatchObject({
      field: "max_path_len",
    });
    expect(reasonOf("bad_certificate", { reason: "the chain is not PEM" })).toMatchObject({
      field: "chain_pem",
    });
    const gates = [{ name: "lint", status: "fail", findings: [{ description: "Too long." }] }];
    expect(reasonOf("gate_refused", { gates })).toMatchObject({ reason: "lint: Too long." });
  });

  test("stays as it is where nothing is known of it", () => {
    expect(reasonOf("ca_constraint", { reason: "new" })).toEqual({ reason: "new" });
    expect(reasonOf("gate_refused", { gates: "none" })).toMatchObject({ reason: "" });
  });
});
