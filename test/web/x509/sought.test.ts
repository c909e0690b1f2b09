/** What the search makes of texts and files, in the forms that people have them in. */

import { describe, expect, test } from "bun:test";
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import fc from "fast-check";

import { encodePem } from "#core/asn1/pem.ts";
import { fingerprint, parseFingerprint } from "#core/x509/public-keys.ts";
import { openssl } from "#test/support/encodings/openssl.ts";
import { certify, makeKey, rootFields } from "#test/support/encodings/x509.ts";
import { mutations } from "#test/support/fuzz/mutations.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { digestHex, queryOf } from "#web/frame/sought-text.ts";
import { soughtIn } from "#web/x509/sought.ts";

const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ed = generateKeyPairSync("ed25519");

const fingerprintOf = (key: KeyObject): string =>
  fingerprint(
    new Uint8Array(
      (key.type === "private" ? createPublicKey(key) : key).export({ type: "spki", format: "der" }),
    ),
  );

const sought = (content: string | Uint8Array) =>
  soughtIn(
    typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content),
  );

/** The same key as PEM and as DER. */
const bothForms = (key: KeyObject, type: "pkcs8" | "pkcs1" | "sec1" | "spki") => [
  // The types that fit the key, which the callers know.
  key.export({ type: type as "spki", format: "pem" }).toString(),
  key.export({ type: type as "spki", format: "der" }),
];

describe("what a file names", () => {
  test("a certificate is looked for by its serial, and by its key if that is in vain", async () => {
    const key = makeKey("ecdsa-p256");
    const fields = rootFields(key, "ecdsa-sha256");
    const der = certify(key, fields);
    const found = {
      kind: "certificate",
      serial: fields.serial,
      key: fingerprint(key.spki),
    } as const;
    expect(await sought(der)).toEqual(found);
    expect(await sought(encodePem("CERTIFICATE", der))).toEqual(found);
    expect(await sought(`Bag Attributes\n${encodePem("CERTIFICATE", der)}`)).toEqual(found);
  });

  test("a request, and every form of a key, by the key's fingerprint", async () => {
    const request = csr({ key: ec });
    const key = fingerprintOf(ec.publicKey);
    expect(await sought(request)).toEqual({ kind: "request", key });
    const der = openssl(["req", "-outform", "DER"], request);
    expect(await sought(der)).toEqual({ kind: "request", key });
    for (const content of bothForms(ec.publicKey, "spki")) {
      expect(await sought(content)).toEqual({ kind: "public key", key });
    }
    const forms = [...bothForms(ec.privateKey, "pkcs8"), ...bothForms(ec.privateKey, "sec1")];
    for (const content of forms) {
      expect(await sought(content)).toEqual({ kind: "private key", key });
    }
    const rsaForms = [...bothForms(rsa.privateKey, "pkcs8"), ...bothForms(rsa.privateKey, "pkcs1")];
    for (const content of rsaForms) {
      const expected = fingerprintOf(rsa.publicKey);
      expect(await sought(content)).toEqual({ kind: "private key", key: expected });
    }
  });

  test("a private key that does not say its public half is worked out", async () => {
    for (const content of bothForms(ed.privateKey, "pkcs8")) {
      const key = fingerprintOf(ed.publicKey);
      expect(await sought(content)).toEqual({ kind: "private key", key });
    }
    const pem = ec.privateKey.export({ type: "pkcs8", format: "pem" });
    const bare = openssl(["ec", "-no_public"], pem.toString());
    const pkcs8 = openssl(["pkcs8", "-topk8", "-nocrypt"], bare);
    expect(await sought(pkcs8)).toEqual({
      kind: "private key",
      key: fingerprintOf(ec.publicKey),
    });
  });

  test("what is not looked for says so in a sentence", async () => {
    const cipher = { cipher: "aes-256-cbc", passphrase: "x" } as const;
    const encrypted = ec.privateKey.export({ type: "pkcs8", format: "pem", ...cipher });
    const old = rsa.privateKey.export({ type: "pkcs1", format: "pem", ...cipher });
    for (const content of [
      encrypted.toString(),
      old.toString(),
      "hello",
      "",
      "-----BEGIN CERTIFICATE-----\n***\n-----END CERTIFICATE-----",
      "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----",
      "-----BEGIN PKCS7-----\nMAA=\n-----END PKCS7-----",
      Uint8Array.of(0x30, 0),
      Uint8Array.of(4, 1, 1),
      new Uint8Array(2_000_000),
    ]) {
      expect(await sought(content)).toEqual({ kind: "none", sentence: expect.any(String) });
    }
  });

  test("never fails, whatever is dropped", async () => {
    const key = makeKey("ecdsa-p256");
    const kept = [
      certify(key, rootFields(key, "ecdsa-sha256")),
      openssl(["req", "-outform", "DER"], csr({ key: ec })),
      ec.privateKey.export({ type: "pkcs8", format: "der" }),
      ec.privateKey.export({ type: "sec1", format: "der" }),
    ];
    for (const octets of kept) {
      for (const broken of mutations(new Uint8Array(octets), 200, "sought")) await sought(broken);
    }
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (octets) => {
        await sought(octets);
        await sought(encodePem("PRIVATE KEY", octets));
        await sought(encodePem("EC PRIVATE KEY", octets));
      }),
      { numRuns: 300 },
    );
  });
});

describe("what a text in the search box asks for", () => {
  const hex = "ab".repeat(32);
  const base64 = "4M4GexA9bIA+Lokrfpy01lFflfuqtbn2xVXKfTVlNQE";

  test("fingerprints select a certificate or a key in every spelling the API reads alike", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.constantFrom("", ":", " ", "\u00a0"),
        fc.constantFrom(1, 2, 4),
        fc.boolean(),
        (octets, between, digits, upper) => {
          const plain = octets.toHex();
          const grouped = plain.replace(new RegExp(`.{${digits * 2}}(?=.)`, "g"), `$&${between}`);
          const spelled = [
            upper ? grouped.toUpperCase() : grouped,
            `${upper ? "SHA256" : "sha256"}:${octets.toBase64({ omitPadding: true })}`,
            `SHA256:${octets.toBase64()}`,
          ];
          for (const text of spelled) {
            expect(queryOf(` ${text}\n`)).toEqual({ certificate_sha256: text, key: text });
            expect([digestHex(text), parseFingerprint(text)]).toEqual([plain, plain]);
          }
        },
      ),
    );
    for (const text of [hex.slice(1), `${hex}0`, `SHA256:${base64.slice(1)}`, `g${hex.slice(1)}`]) {
      expect(queryOf(text)).toEqual({ q: text });
      expect(digestHex(text)).toBeUndefined();
    }
  });

  test("pins select by the key, groups of digits by the serial, the rest by names", () => {
    expect(queryOf(`${base64}=`)).toEqual({ public_key_sha256: `SHA256:${base64}=` });
    expect(queryOf("2099 f8e4 1c2a a211")).toEqual({ q: "0x2099f8e41c2aa211" });
    expect(queryOf("2f c5 47 3d 10 00 00 00 00 00 00 00 00 00 00 01")).toEqual({
      q: "0x2fc5473d100000000000000000000001",
    });
    expect(queryOf(Array.from({ length: 20 }, () => "7f").join(" "))).toEqual({
      q: `0x${"7f".repeat(20)}`,
    });
    expect(queryOf("2f c5 47 3d")).toEqual({ serial_prefix: "0x2fc5473d" });
    expect(queryOf("0x2FC5473D")).toEqual({ serial_prefix: "0x2FC5473D" });
    expect(queryOf("20:99:f8")).toEqual({ q: "20:99:f8" });
    expect(queryOf(" www.example.com ")).toEqual({ q: "www.example.com" });
    expect(queryOf("dead beef")).toEqual({ q: "dead beef" });
  });
});
