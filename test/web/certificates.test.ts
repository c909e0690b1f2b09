/** What the page of certificates decides by itself: which CA is meant, what a file says. */

import { describe, expect, test } from "bun:test";

import {
  type Authority,
  type Certificate,
  isSought,
  nameOf,
  usualAuthority,
} from "#web/pages/certificates/authorities.ts";
import { csvHead, csvRow } from "#web/pages/certificates/csv.ts";
import { certificatesLine } from "#web/pages/certificates/line.ts";
import { whyNotRenewed } from "#web/pages/certificates/states.ts";
import { plainText, shortText } from "#web/ui/plain.ts";

const ca = (id: string, more: Partial<Authority> = {}): Authority => ({
  id,
  tenant_id: "default",
  label: `label-${id}`,
  provider: "software",
  key_type: "ecdsa-p256",
  algorithm: "classical",
  public_key: "",
  public_key_fingerprint: `SHA256:${id}`,
  certificate: "PEM",
  subject: `CN=Example ${id}`,
  status: "active",
  created_at: "2026-01-01T00:00:00.000000Z",
  ...more,
});

const certificate = (more: Partial<Certificate> = {}): Certificate => ({
  id: "1",
  ca_id: "a",
  serial: "4660",
  subject: "CN=x.example",
  common_name: "x.example",
  sans: ["dns:x.example", "dns:y.example"],
  profile: "server",
  certificate: "PEM",
  not_before: "2026-01-01T00:00:00.000000Z",
  not_after: "2099-01-01T00:00:00.000000Z",
  status: "good",
  superseded: false,
  requested_by: "alice",
  created_at: "2026-01-01T00:00:00.000000Z",
  ct_status: "none",
  sct_count: 0,
  public_key_fingerprint: "SHA256:x",
  ...more,
});

test("a CA is found by the digits its serial begins with, in hexadecimal or decimal", () => {
  const one = ca("one", { serial: String(0x2fc5473d00000000n) });
  for (const serial_prefix of ["0x2fc5", "0x2FC5473D", "0x002fc5", one.serial?.slice(0, 4)]) {
    expect(isSought(one, { serial_prefix })).toBe(true);
  }
  expect(isSought(one, { serial_prefix: "0x2fc6" })).toBe(false);
});

describe("the CA that is meant where none is named", () => {
  const root = ca("root");
  const old = ca("old", { parent_id: "root" });
  const policy = ca("policy", { parent_id: "root" });
  const below = ca("below", { parent_id: "policy", status: "superseded" });

  test("is the newest active one that issues under another", () => {
    expect(usualAuthority([below, policy, old, root])).toBe(old);
    expect(usualAuthority([policy, root])).toBe(policy);
    expect(usualAuthority([root])).toBe(root);
  });

  test("is whatever is nearest to that, and none where there is none", () => {
    const pending = ca("new", { status: "pending" });
    const { certificate: _none, ...uncertified } = pending;
    expect(usualAuthority([uncertified, below])).toBe(below);
    expect(usualAuthority([uncertified])).toBe(uncertified);
    expect(usualAuthority([])).toBeUndefined();
  });

  test("is found by name, serial in any spelling, and key", () => {
    const sought = ca("root", { serial: "65281" });
    const queries = [{ q: "EXAMPLE r" }, { q: "0xff01" }, { q: "ff:01" }, { q: "65281" }];
    for (const query of queries) expect(isSought(sought, query)).toBe(true);
    expect(isSought(sought, { public_key_sha256: "SHA256:root" })).toBe(true);
    expect(isSought(sought, { q: "other", key: "SHA256:root" })).toBe(true);
    const base64 = "4M4GexA9bIA+Lokrfpy01lFflfuqtbn2xVXKfTVlNQE";
    const keyed = ca("root", { public_key_fingerprint: `SHA256:${base64}` });
    const hex = Uint8Array.fromBase64(`${base64}=`).toHex().toUpperCase();
    expect(isSought(keyed, { public_key_sha256: hex })).toBe(true);
    expect(isSought(keyed, { key: "ab".repeat(32) })).toBe(false);
    expect(isSought(sought, { q: "other" })).toBe(false);
    expect(isSought(sought, {})).toBe(false);
  });
});

test("a certificate is called by whatever names it", () => {
  expect(nameOf(certificate())).toBe("x.example");
  expect(nameOf(certificate({ common_name: "" }))).toBe("x.example");
  expect(nameOf(certificate({ common_name: "", sans: [], subject: "O=X" }))).toBe("O=X");
  expect(nameOf(certificate({ common_name: "", sans: [], subject: "" }))).toBe("4660");
});

test("a file holds what a spreadsheet must not run as text", () => {
  const row = csvRow(certificate({ common_name: '=cmd|"x"', requested_by: "a,b", sans: ["+1"] }));
  expect(row).toStartWith(`4660,1234,"'=cmd|""x""",'+1,CN=x.example,server,good,,,`);
  expect(row).toContain(',"a,b",');
  expect(row).toEndWith("\r\n");
  expect(csvHead().split(",")).toHaveLength(15);
});

test("a certificate is not renewed once it is revoked, suspended or long expired", () => {
  const day = 86_400_000;
  const ended = (days: number) => new Date(Date.now() - days * day).toISOString();
  expect(whyNotRenewed(certificate(), ca("a"))).toBeUndefined();
  const expired = { status: "expired", not_after: ended(29) } as const;
  expect(whyNotRenewed(certificate(expired), ca("a"))).toBeUndefined();
  const long = { status: "expired", not_after: ended(31) } as const;
  expect(whyNotRenewed(certificate(long), ca("a"))).toContain("30 days");
  expect(whyNotRenewed(certificate({ status: "held" }), ca("a"))).toBe("It is suspended.");
  expect(whyNotRenewed(certificate({ status: "revoked" }), ca("a"))).toBe("It is revoked.");
  const retired = ca("a", { status: "retired" });
  expect(whyNotRenewed(certificate(), retired)).toBe("The CA is retired.");
});

test("the command line shows the same, and is one word for each value", () => {
  const line = (path: string[], query: Record<string, string>) => certificatesLine({ path, query });
  expect(line(["certificates"], { ca: "a", q: "it's; rm -rf /" })).toBe(
    String.raw`pkid cert list --ca a --q 'it'\''s; rm -rf /'`,
  );
  // The command lists those of one CA.
  expect(line(["certificates"], { ca: "*", q: "www" })).toBe("pkid cert list --help");
  expect(line(["certificates"], { ca: "a", status: "held", expires_before: "2026-12-24" })).toBe(
    "pkid cert list --ca a --status held --expires-before 2026-12-24",
  );
  expect(line(["certificates", "a", "7"], { ca: "a" })).toBe("pkid cert show 7 --ca a");
});

test("text of strangers hides nothing and turns nothing around", () => {
  expect(plainText("a\u202eb\u0000c\u200bd")).toBe("a[U+202E]b[U+0000]c[U+200B]d");
  expect(plainText("Über <b>")).toBe("Über <b>");
  expect(shortText("x".repeat(10_000))).toHaveLength(81);
});
