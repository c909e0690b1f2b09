/** What a field for requests or certificates takes: that, encoded anew, and never a private key. */

import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import fc from "fast-check";

import { decodePem, encodePem } from "#core/asn1/pem.ts";
import { openssl } from "#test/support/encodings/openssl.ts";
import { certify, makeKey, rootFields } from "#test/support/encodings/x509.ts";
import { mutations } from "#test/support/fuzz/mutations.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { givenIn, givenInFile, type Wanted } from "#web/x509/given.ts";

const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const ed = generateKeyPairSync("ed25519").privateKey;
const request = csr();
const root = makeKey("ecdsa-p256");
const certificate = encodePem("CERTIFICATE", certify(root, rootFields(root, "ecdsa-sha256")));
const fields: readonly Wanted[] = ["request", "certificate", "certificates"];

const derOf = (key: KeyObject, type: "pkcs8" | "pkcs1" | "sec1") =>
  // The types that fit the key, which the callers know.
  new Uint8Array(key.export({ type: type as "pkcs8", format: "der" }));

const secrets = [
  derOf(ec, "pkcs8"),
  derOf(ec, "sec1"),
  derOf(rsa, "pkcs8"),
  derOf(rsa, "pkcs1"),
  derOf(ed, "pkcs8"),
  new Uint8Array(
    ec.export({ type: "pkcs8", format: "der", cipher: "aes-256-cbc", passphrase: "a secret" }),
  ),
];

describe("a private key", () => {
  const spellings = secrets.flatMap((der) => [
    encodePem("PRIVATE KEY", der),
    encodePem("CERTIFICATE REQUEST", der),
    encodePem("CERTIFICATE", der),
    der.toBase64(),
    der.toBase64().replace(/.{64}/g, "$&\r\n  "),
    `${request}${encodePem("EC PRIVATE KEY", der)}`,
    `${certificate}${encodePem("CERTIFICATE", der)}`,
    encodePem("PRIVATE KEY", der).slice(0, 80),
  ]);

  test.each(fields)("is not taken for a %s, whatever it is called", (wanted) => {
    for (const text of spellings) {
      expect(givenIn(text, wanted)).toMatchObject({
        kind: "refused",
        sentence: expect.stringMatching(/sent/),
      });
    }
  });

  test.each(fields)("is not taken for a %s out of a file either", async (wanted) => {
    for (const der of secrets) {
      expect(await givenInFile(new Blob([der]), wanted)).toMatchObject({ kind: "refused" });
      const text = encodePem("CERTIFICATE REQUEST", der);
      expect(await givenInFile(new Blob([text]), wanted)).toMatchObject({ kind: "refused" });
    }
  });

  test("is not in what is taken, wherever it stands in a text", () => {
    const key = derOf(ed, "pkcs8").toBase64();
    const place = fc.nat(request.length);
    fc.assert(
      fc.property(place, (at) => {
        const given = givenIn(request.slice(0, at) + key + request.slice(at), "request");
        expect(given.kind === "taken" && given.pem.includes(key)).toBe(false);
      }),
    );
  });
});

describe("a request or a certificate", () => {
  test("is taken as PEM, base64 and DER, and sent without the text around it", async () => {
    const der = decodePem(request, ["CERTIFICATE REQUEST"]) ?? new Uint8Array();
    const taken = { kind: "taken", pem: encodePem("CERTIFICATE REQUEST", der) } as const;
    for (const text of [request, `Subject: a\n${request}\nbye`, der.toBase64()]) {
      expect(givenIn(text, "request")).toEqual(taken);
    }
    expect(givenIn(request.replaceAll("CERTIFICATE", "NEW CERTIFICATE"), "request")).toEqual(taken);
    expect(await givenInFile(new Blob([Uint8Array.from(der)]), "request")).toEqual(taken);
    expect(await givenInFile(new Blob([request]), "request")).toEqual(taken);
    const text = openssl(["x509", "-text"], certificate).toString();
    expect(givenIn(text, "certificate")).toEqual({ kind: "taken", pem: certificate });
  });

  test("is one where one is wanted, and any number in a chain", () => {
    const two = certificate + certificate;
    expect(givenIn(two, "certificates")).toEqual({ kind: "taken", pem: two });
    expect(givenIn(two, "certificate").kind).toBe("refused");
    expect(givenIn(certificate, "request")).toEqual({
      kind: "refused",
      sentence: "This is a certificate, not a certification request. Nothing was sent.",
    });
    expect(givenIn(request, "certificate").kind).toBe("refused");
    expect(givenIn(" \n", "request")).toEqual({ kind: "nothing" });
  });

  test("that is too large is refused as a whole, with both sizes", async () => {
    const file = new Blob([request, " ".repeat(200_000)]);
    expect(await givenInFile(file, "request")).toMatchObject({
      sentence: expect.stringContaining("98,304 at most"),
    });
    expect(givenIn(request + " ".repeat(200_000), "request").kind).toBe("refused");
  });

  test("never fails, whatever the octets are, and what is taken can be taken again", async () => {
    const der = decodePem(request, ["CERTIFICATE REQUEST"]) ?? new Uint8Array();
    for (const broken of mutations(der, 500, "given")) {
      const given = await givenInFile(new Blob([Uint8Array.from(broken)]), "request");
      if (given.kind === "taken") expect(givenIn(given.pem, "request")).toEqual(given);
    }
  });
});
