/**
 * Pinning records say exactly what their RFCs say, and nothing a caller wrote reaches zone text
 * unescaped.
 */

import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import fc from "fast-check";

import { sha256Hex } from "#core/crypto.ts";
import { parseHostName, sshfpRecords, tlsaRecords, zoneText } from "#core/policy/pinning.ts";

const ca = { certificate: Uint8Array.of(1, 2), spki: Uint8Array.of(3) };
const leaf = { certificate: Uint8Array.of(4), spki: Uint8Array.of(5) };
const service = { host: "a.example", port: 443, protocol: "tcp" } as const;

test("a CA has eight TLSA records, with a leaf twelve, in the order of DNS-1", () => {
  const kinds = (records: ReturnType<typeof tlsaRecords>) =>
    records.map((one) => [one.usage, one.selector, one.matching_type].join(""));
  const four = (usage: number) => ["11", "10", "01", "00"].map((pair) => `${usage}${pair}`);
  expect(kinds(tlsaRecords(service, ca))).toEqual([...four(0), ...four(2)]);
  expect(kinds(tlsaRecords(service, ca, leaf))).toEqual([...four(3), ...four(0), ...four(2)]);
});

test("selector 1 is the key and matching type 1 its digest; usage 3 is the leaf", () => {
  const [key, keyWhole, , whole, caKey] = tlsaRecords(service, ca, leaf);
  expect(key?.data).toBe(sha256Hex(leaf.spki));
  expect(keyWhole?.data).toBe("05");
  expect(whole?.data).toBe("04");
  expect(caKey?.data).toBe(sha256Hex(ca.spki));
  expect(whole?.zone).toBe("_443._tcp.a.example. IN TLSA 3 0 0 04");
  expect(zoneText(tlsaRecords(service, ca)).split("\n")).toHaveLength(8);
});

test("a host name is letters, digits and hyphens in labels, and is lower-cased", () => {
  expect(parseHostName("WWW.Example.COM.")).toBe("www.example.com");
  expect(parseHostName("xn--bcher-kva.example")).toBe("xn--bcher-kva.example");
  expect(parseHostName(`${"a".repeat(63)}.b`)).toBeDefined();
  const refused = [
    "",
    ".",
    "a..b",
    "-a",
    "a-",
    "a_b",
    "*.a",
    "a b",
    "bücher.example",
    "a\n",
    "a;b",
  ];
  for (const text of [...refused, `${"a".repeat(64)}.b`, `${"a.".repeat(126)}bc`]) {
    expect(parseHostName(text)).toBeUndefined();
  }
});

test("no text at all puts anything but one clean owner name into the zone", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      const host = parseHostName(text);
      if (host !== undefined) expect(host).toMatch(/^[a-z0-9.-]{1,253}$/);
    }),
  );
});

test("ssh-keygen -r says the same as the SSHFP records", () => {
  const folder = mkdtempSync(join(tmpdir(), "pkid-sshfp-"));
  for (const [type, bits] of [
    ["ed25519", "256"],
    ["ecdsa", "384"],
    ["rsa", "2048"],
  ] as const) {
    const file = join(folder, type);
    const made = Bun.spawnSync(["ssh-keygen", "-q", "-t", type, "-b", bits, "-N", "", "-f", file]);
    expect(made.exitCode).toBe(0);
    const printed = Bun.spawnSync(["ssh-keygen", "-r", "a.example.", "-f", `${file}.pub`]);
    const line = readFileSync(`${file}.pub`, "utf8");
    const zone = zoneText(sshfpRecords("a.example", line) ?? []);
    expect(zone).toBe(printed.stdout.toString().trim());
  }
});

test("what is no SSH public key has no SSHFP records", () => {
  const refused = ["", "ssh-ed25519", "ssh-ed25519 !!!", "ssh-ed25519 AAAA", "sk-unknown AAAAC3Nz"];
  for (const line of [...refused, "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAA"]) {
    expect(sshfpRecords("a.example", line)).toBeUndefined();
  }
});
