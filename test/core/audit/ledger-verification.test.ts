/** The verification of ledger documents: each rule, its violation, and strange input. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { verifyLedger } from "#core/audit/ledger-verification.ts";
import { encodePem } from "#core/asn1/pem.ts";
import {
  documentOctets,
  type LedgerParts,
  LedgerWorld,
} from "#test/support/worlds/ledger-document.ts";
import { makeKey } from "#test/support/encodings/x509.ts";

const world = new LedgerWorld();
const whole = () => world.sealed(world.parts());

/** The violated rule with its entry, `valid`, or the sentence that refuses the document. */
function verdict(document: unknown, pinned = world.pinned): string {
  const octets = document instanceof Uint8Array ? document : documentOctets(document);
  const verified = verifyLedger(octets, pinned);
  if (typeof verified === "string") return verified;
  const violated = verified.rules.find(({ status }) => status === "violated");
  expect(verified.valid).toBe(violated === undefined);
  return violated === undefined ? "valid" : `${violated.rule} at ${violated.entry}`;
}

/** The verdict after a damage that numbers, links and signs over. */
function resealed(damage: (parts: LedgerParts) => void): string {
  const parts = world.parts();
  damage(parts);
  return verdict(world.sealed(parts));
}

/** The member of a list; the tests know that it is there. */
function at<T>(list: readonly T[], index: number): T {
  const found = list.at(index);
  if (found === undefined) throw new Error("no such member");
  return found;
}

function statuses(document: unknown): readonly string[] {
  const verified = verifyLedger(documentOctets(document), world.pinned);
  if (typeof verified === "string") return [verified];
  return verified.rules.map(({ rule, status }) => `${rule} ${status}`);
}

describe("a whole document", () => {
  test("keeps every rule, hybrid and self-test included, and says what it cannot prove", () => {
    expect(statuses(whole())).toEqual(
      ["V1 passed", "V2 passed", "V3 passed", "V4 passed", "V5 passed", "V6 passed"].concat(
        ["V7 passed", "V8 partly"],
        "V9 partly",
      ),
    );
  });

  test("that is half a plain and half a combined one is refused", () => {
    const { hsm_entries: _entries, sign_operations: _operations, ...rest } = whole();
    const verified = verifyLedger(documentOctets({ ...rest, entries: [] }), world.pinned);
    expect(verified).toBe('"key_attestations" is no member of it');
  });

  test("after another key was pinned fails V2, whoever signed it", () => {
    expect(verdict(whole(), "0".repeat(64))).toBe("V2 at undefined");
    expect(verdict(world.sealed(world.parts(), makeKey("ed25519")))).toBe("V2 at undefined");
  });
});

describe("LED-4: one damage for each rule", () => {
  test("V1: a missing entry, a changed one, one in another place", () => {
    const document = whole();
    const entries = document.hsm_entries as readonly Record<string, unknown>[];
    const without = entries.toSpliced(4, 1);
    expect(verdict({ ...document, hsm_entries: without })).toBe("V1 at 5");
    const swapped = entries.with(4, at(entries, 5)).with(5, at(entries, 4));
    expect(verdict({ ...document, hsm_entries: swapped })).toBe("V1 at 5");
    const number = entries.with(2, { ...at(entries, 2), number: "3" });
    expect(verdict({ ...document, hsm_entries: number })).toBe("V1 at 3");
    const unknown = entries.with(2, { ...at(entries, 2), note: "x" });
    expect(verdict({ ...document, hsm_entries: unknown })).toBe("V1 at 3");
    expect(verdict({ ...document, last_hash: "0".repeat(64) })).toBe(`V1 at ${entries.length}`);
  });

  test("V2: a changed member under the signature, a broken signature or certificate", () => {
    const changed = [{ exported_at: "2028" }, { provider: "pkcs11" }, { ledger_id: "other" }];
    const broken = [{ signature: "AAAA" }, { signature: "*" }, { signature_algorithm: "none" }];
    const garbage = encodePem("CERTIFICATE", new Uint8Array([0x30, 0x01]));
    const certificates = [{ attestation_cert_pem: "x" }, { attestation_cert_pem: garbage }];
    for (const change of [changed, broken, certificates].flat()) {
      expect(verdict({ ...whole(), ...change })).toBe("V2 at undefined");
    }
    const other = { signer_fingerprint: "SHA256:other" };
    expect(resealed(({ entries }) => Object.assign(at(entries, 0), other))).toBe("V2 at 1");
  });

  test("V3: an outcome of another digest, a lost outcome, an intent twice", () => {
    const digest = { digest: "0".repeat(64) };
    expect(resealed(({ entries }) => Object.assign(at(entries, 4), digest))).toBe("V3 at 6");
    expect(resealed(({ entries }) => void entries.splice(5, 1))).toBe("V3 at 5");
    expect(resealed(({ entries }) => void entries.splice(4, 1))).toBe("V3 at 5");
    expect(resealed(({ entries }) => void entries.splice(4, 0, at(entries, 4)))).toBe("V3 at 6");
    expect(resealed(({ openIntents }) => void openIntents.push("x"))).toBe("V3 at undefined");
  });

  test("V4: an operation that is missing, twice, or says something else than its outcome", () => {
    expect(resealed(({ operations }) => void operations.pop())).toBe("V4 at 14");
    expect(resealed(({ operations }) => void operations.push(at(operations, 0)))).toBe(
      "V4 at undefined",
    );
    for (const change of [{ purpose: "certificate" }, { ca_id: "ca-2" }, { cert_format: "crl" }]) {
      const damage = ({ operations }: LedgerParts) => Object.assign(at(operations, 0), change);
      expect(resealed(damage)).toBe("V4 at 6");
    }
    const audited = { sign_audit_id: "x" };
    expect(resealed(({ entries }) => Object.assign(at(entries, 5), audited))).toBe("V4 at 6");
  });

  test("V5: another artefact, another serial, a signature of another key", () => {
    const foreign = ({ operations }: LedgerParts) =>
      Object.assign(at(operations, 0), { certificate: at(operations, 1).certificate });
    expect(resealed(foreign)).toBe("V5 at 6");
    for (const certificate of ["x", encodePem("CERTIFICATE", new Uint8Array([0x30, 0x00]))]) {
      const damage = ({ operations }: LedgerParts) =>
        Object.assign(at(operations, 0), { certificate });
      expect(resealed(damage)).toBe("V5 at 6");
    }
    const list = { artifact_der: "*" };
    expect(resealed(({ operations }) => Object.assign(at(operations, 3), list))).toBe("V5 at 12");
    const number = { crl_number: 8 };
    expect(resealed(({ operations }) => Object.assign(at(operations, 3), number))).toBe("V5 at 12");
    const serial = { serial: "1" };
    expect(resealed(({ operations }) => Object.assign(at(operations, 0), serial))).toBe("V5 at 6");
    expect(
      resealed(({ entries, operations, counts }) => {
        // The root as if the post-quantum key had signed it.
        const key = at(entries, 2).signer_fingerprint;
        for (const one of [at(entries, 4), at(entries, 5), at(operations, 0)]) {
          one.signer_fingerprint = key;
        }
        expect(Object.keys(counts)).toContain(String(key));
      }),
    ).toBe("V5 at 6");
  });

  test("V6: what is pruned is unproven and named, and has no body", () => {
    const parts = world.parts();
    const list = at(parts.operations, 3);
    list.artifact_pruned = true;
    expect(verdict(world.sealed(parts))).toBe("V6 at 12");
    delete list.artifact_der;
    const verified = verifyLedger(documentOctets(world.sealed(parts)), world.pinned);
    if (typeof verified === "string") throw new Error(verified);
    expect(verified.valid).toBe(true);
    expect(verified.rules[5]).toMatchObject({ status: "partly", unproven: 1 });
    expect(verified.rules[5]?.detail).toContain("entries 12");
  });

  test("V6: an unknown outcome is reported, and matches at most one artefact", () => {
    const lost = (parts: LedgerParts) => {
      const opId = "0b4e7a3c-0000-4000-8000-888888888888";
      const { signature_sha256: _signature, ...outcome } = at(parts.entries, 13);
      parts.entries.push({ ...at(parts.entries, 12), op_id: opId });
      parts.entries.push({ ...outcome, op_id: opId, sign_audit_id: opId, result: "unknown" });
      at(Object.values(parts.counts), 0).unknown = 1;
    };
    const parts = world.parts();
    lost(parts);
    const verified = verifyLedger(documentOctets(world.sealed(parts)), world.pinned);
    if (typeof verified === "string") throw new Error(verified);
    expect(verified.rules[5]).toMatchObject({ status: "partly", unproven: 1 });
    expect(verified.rules[5]?.detail).toContain("entries 18");
    const twice = (damaged: LedgerParts) => {
      lost(damaged);
      const again = "0b4e7a3c-0000-4000-8000-777777777777";
      damaged.entries.push({ ...at(damaged.entries, 12), op_id: again });
      damaged.entries.push({ ...at(damaged.entries, 13), op_id: again, sign_audit_id: again });
      damaged.operations.push({ ...at(damaged.operations, 4), id: again });
    };
    expect(resealed(twice)).toBe("V6 at 18");
  });

  test("V5: a signature whose public key no artefact carries is unproven, not passed", () => {
    const parts = world.parts();
    // Only the list is left: it carries no key.
    const [list] = parts.operations.splice(3, 1);
    parts.operations = list === undefined ? [] : [list];
    parts.entries = parts.entries.slice(0, 4).concat(parts.entries.slice(10, 12));
    const [key, counted] = at(Object.entries(parts.counts), 0);
    parts.counts = { [key]: { ...counted, sign: 1 } };
    const verified = verifyLedger(documentOctets(world.sealed(parts)), world.pinned);
    if (typeof verified === "string") throw new Error(verified);
    expect(verified.rules[4]).toMatchObject({ status: "partly", checked: 0, unproven: 1 });
  });

  test("V7: a count that is not the sum, and a total that does not follow", () => {
    expect(resealed(({ counts }) => Object.assign(at(Object.values(counts), 0), { sign: 5 }))).toBe(
      "V7 at undefined",
    );
    const extra = { role: "ca", sign: 0, decrypt: 0, error: 0, unknown: 0 };
    expect(resealed(({ counts }) => Object.assign(counts, { extra }))).toBe("V7 at undefined");
    expect(resealed(({ entries }) => Object.assign(at(entries, -1), { total: 8 }))).toBe(
      "V7 at 16",
    );
  });

  test("V8: an artefact a key signed twice, a hybrid one without its alternative pair", () => {
    const twice = ({ entries, operations, counts }: LedgerParts) => {
      const again = "0b4e7a3c-0000-4000-8000-999999999999";
      entries.push({ ...at(entries, 4), op_id: again });
      entries.push({ ...at(entries, 5), op_id: again, sign_audit_id: again });
      operations.push({ ...at(operations, 0), id: again });
      at(Object.values(counts), 0).sign = 5;
    };
    expect(resealed(twice)).toBe("V8 at 18");
    const halved = ({ entries, operations, counts }: LedgerParts) => {
      const key = String(at(entries, 2).signer_fingerprint);
      entries.splice(6, 2);
      operations.splice(1, 1);
      delete counts[key];
    };
    expect(resealed(halved)).toBe("V8 at 8");
  });

  test("V9: a key that was not announced", () => {
    const damage = ({ entries }: LedgerParts) =>
      Object.assign(at(entries, 1), { operation: "destroy" });
    expect(resealed(damage)).toBe("V9 at 5");
  });
});

test("LED-4: what lies before a part of the ledger is not covered, and not passed", () => {
  const parts = world.parts();
  parts.entries.splice(0, 5);
  parts.firstNumber = 6;
  const found = statuses(world.sealed(parts));
  expect(found).toContain("V3 partly");
  expect(found).toContain("V7 partly");
  expect(found).toContain("V9 partly");
});

test("LED-4: any one member of an entry or operation that is changed is found", () => {
  const document = whole();
  const lists = ["hsm_entries", "sign_operations"] as const;
  fc.assert(
    fc.property(
      fc.constantFrom(...lists),
      fc.nat(),
      fc.nat(),
      fc.nat(2),
      (list, row, column, how) => {
        const copy = structuredClone(document);
        const rows = copy[list] as Record<string, unknown>[];
        const edited = at(rows, row % rows.length);
        const name = at(Object.keys(edited), column % Object.keys(edited).length);
        const before = edited[name];
        if (how === 0) delete edited[name];
        else if (how === 1) edited[name] = typeof before === "number" ? before + 1 : `${before}0`;
        else edited[name] = typeof before === "number" ? String(before) : 0;
        expect(verdict(copy)).toMatch(/^V\d/);
      },
    ),
    { numRuns: 300 },
  );
});

describe("LED-4: what is no ledger document is refused with a sentence", () => {
  const utf8 = (text: string) => new TextEncoder().encode(text);
  const text = JSON.stringify(whole());

  test.each([
    ["not JSON", "no", "it is not a JSON object in UTF-8"],
    ["empty", "", "it is not a JSON object in UTF-8"],
    ["a list", "[]", "it is not a JSON object in UTF-8"],
    ["cut off", text.slice(0, -9), "it is not a JSON object in UTF-8"],
    [
      "another format",
      text.replace("pkid-ledger-1", "pkid-ledger-2"),
      "its format is not pkid-ledger-1",
    ],
    ["a member twice", text.replace("{", '{"format":"x",'), 'the member "format" occurs twice'],
    [
      "a member twice by an escape",
      text.replace("{", '{"f\\u006frmat":"x",'),
      'the member "format" occurs twice',
    ],
    [
      "an entry's member twice",
      text.replace('{"kind"', '{"kind":"x","kind"'),
      'the member "kind" occurs twice',
    ],
    ["another member", text.replace("{", '{"more":1,'), '"more" is no member of it'],
    [
      "a number as text",
      text.replace('"first_number":1', '"first_number":"1"'),
      "first_number is not a whole number",
    ],
    ["deep", "[".repeat(100_000), "it is nested deeper than 8"],
  ])("%s", (_what, input, sentence) => {
    expect(verdict(utf8(input))).toBe(sentence);
  });

  test("any cut and any changed octet gives a verdict, never a fault", () => {
    const octets = utf8(text);
    fc.assert(
      fc.property(fc.nat(octets.length - 1), fc.nat(255), fc.boolean(), (index, octet, cut) => {
        const copy = octets.slice(0, cut ? index : undefined);
        if (!cut) copy[index] = octet;
        expect(typeof verdict(copy)).toBe("string");
      }),
      { numRuns: 300 },
    );
  });
});
