/** PKCS#12 stores hold against OpenSSL, NSS and Java, written and read. */

import { beforeAll, describe, expect, test } from "bun:test";
import { createCipheriv, createPrivateKey, pbkdf2Sync } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

import { DerError } from "#core/asn1/cursor.ts";
import { explicit, implicit, integer, octetString, oid, sequence } from "#core/asn1/der.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { encodePkcs12, keysInPkcs12, openPkcs12 } from "#cli/pkcs12.ts";
import { ran } from "#test/support/child.ts";
import { selectByRun } from "#test/support/run-length.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-p12-"));
const at = (name: string) => join(folder, name);
const pem = (name: string) => readFileSync(at(name), "utf8");
const der = (name: string) => decodePem(pem(name), ["CERTIFICATE"]) ?? new Uint8Array();
const ciphers = ["aes-256", "3des"] as const;
const passphrase = "geheim ß€";

beforeAll(async () => {
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  await run(`openssl req -x509 ${key} -subj /CN=CA -keyout ca.key -out ca.pem`);
  await run(`openssl req -new ${key} -subj /CN=leaf -keyout leaf.key -out leaf.csr`);
  await run("openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -set_serial 7 -out leaf.pem");
  for (const cipher of ciphers) writeFileSync(at(`${cipher}.p12`), store(cipher));
  writeFileSync(at("pass"), `${passphrase}\n`);
}, 60_000);

function store(cipher: (typeof ciphers)[number], secret = passphrase): Uint8Array {
  const key = createPrivateKey(pem("leaf.key")).export({ format: "der", type: "pkcs8" });
  const certificates = [der("leaf.pem"), der("ca.pem")];
  const friendlyName = "www ä";
  return encodePkcs12({ key: new Uint8Array(key), certificates, friendlyName }, secret, cipher);
}

describe.each(ciphers)("a store with %s", (cipher) => {
  const file = at(`${cipher}.p12`);

  test("is read by OpenSSL, key and path", async () => {
    const legacy = cipher === "3des" ? "-legacy" : "";
    const { stdout } = await run(`openssl pkcs12 -in ${file} -passin file:pass -nodes ${legacy}`);
    for (const name of ["leaf.pem", "ca.pem", "leaf.key"]) {
      expect(stdout.replace(/\s/g, "")).toContain(pem(name).replace(/\s/g, ""));
    }
    expect(stdout).toContain("friendlyName: www");
  });

  test("is read by NSS", async () => {
    const db = mkdtempSync(join(folder, "nss-"));
    await run(`certutil -N -d sql:${db} --empty-password`);
    await run(`pk12util -i ${file} -d sql:${db} -w pass`);
    expect((await run(`certutil -K -d sql:${db}`)).stdout).toContain("www");
  });

  test.skipIf(!existsSync("/usr/bin/keytool"))(
    "is read by Java",
    async () => {
      const ascii = at(`${cipher}-ascii.p12`);
      writeFileSync(ascii, store(cipher, "changeit"));
      const { stdout } = await run(`keytool -list -v -keystore ${ascii} -storepass changeit`);
      expect(stdout).toContain("PrivateKeyEntry");
      expect(stdout).toContain("Certificate chain length: 2");
    },
    60_000,
  );

  test("is read here, and with another passphrase by nobody", () => {
    const octets = readFileSync(file);
    const opened = openPkcs12(octets, passphrase);
    expect(opened).toEqual({
      keys: 1,
      certificates: [der("leaf.pem"), der("ca.pem")],
      names: ["www ä"],
    });
    expect(openPkcs12(octets, "geheim")).toBe(undefined);
    expect(openPkcs12(octets, "")).toBe(undefined);
  });
});

test("stores of OpenSSL are read, also old ones", async () => {
  const ways = [
    "",
    "-legacy -keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES",
    "-macalg sha512",
    "-certpbe NONE",
  ];
  for (const way of ways) {
    await run(
      `openssl pkcs12 -export -in leaf.pem -inkey leaf.key -name n -passout pass:x -out o.p12 ${way}`,
    );
    expect({ way, opened: openPkcs12(readFileSync(at("o.p12")), "x") }).toEqual({
      way,
      opened: { keys: 1, certificates: [der("leaf.pem")], names: ["n"] },
    });
  }
});

test("what a store may cost is bounded for all its parts together", () => {
  const [salt, rounds] = [new Uint8Array(16), 1_000_000];
  const cipher = createCipheriv("aes-256-cbc", pbkdf2Sync("", salt, rounds, 32, "sha1"), salt);
  const octets = Buffer.concat([cipher.update(sequence()), cipher.final()]);
  const derivation = sequence(
    oid("1.2.840.113549.1.5.12"),
    sequence(octetString(salt), integer(rounds)),
  );
  const scheme = sequence(oid("2.16.840.1.101.3.4.1.42"), octetString(salt));
  const algorithm = sequence(oid("1.2.840.113549.1.5.13"), sequence(derivation, scheme));
  const plain = oid("1.2.840.113549.1.7.1");
  const sealed = sequence(integer(0), sequence(plain, algorithm, implicit(0, octets)));
  const part = sequence(oid("1.2.840.113549.1.7.6"), explicit(0, sealed));
  const of = (parts: number) => {
    const safes = sequence(...Array.from({ length: parts }, () => part));
    return sequence(integer(3), sequence(plain, explicit(0, octetString(safes))));
  };
  expect(openPkcs12(of(2), "")).toEqual({ keys: 0, certificates: [], names: [] });
  expect(() => openPkcs12(of(6), "")).toThrow(DerError);
}, 60_000);

test("any damage is a refusal and no crash", () => {
  const octets = readFileSync(at("aes-256.p12"));
  fc.assert(
    fc.property(fc.nat(250), fc.integer({ min: 1, max: 255 }), (where, flip) => {
      const damaged = new Uint8Array(octets);
      // Past the iterations of the key, which may be a few million in a damaged store too.
      const spot = where < 60 ? where : octets.length - where;
      damaged[spot] = (damaged[spot] ?? 0) ^ flip;
      try {
        openPkcs12(damaged, "x");
      } catch (error) {
        expect(error).toBeInstanceOf(DerError);
      }
    }),
    { numRuns: selectByRun(10, 30) },
  );
}, 60_000);

async function run(line: string) {
  const done = await ran(line.split(" ").filter(Boolean), { cwd: folder, env: { HOME: folder } });
  if (done.code !== 0) throw new Error(`${line}: ${done.stdout}${done.stderr}`);
  return done;
}

test("the private keys of a store come out as they went in, with its passphrase alone", async () => {
  const key = createPrivateKey(pem("leaf.key")).export({ format: "der", type: "pkcs8" });
  for (const cipher of ciphers) {
    expect(keysInPkcs12(store(cipher), passphrase)).toEqual([new Uint8Array(key)]);
    expect(keysInPkcs12(store(cipher), "another")).toBeUndefined();
  }
  const export12 = "openssl pkcs12 -export -inkey leaf.key -in leaf.pem -passout file:pass";
  for (const [name, more] of [
    ["usual", ""],
    ["without-mac", "-nomac"],
    ["without-encryption", "-keypbe NONE -certpbe NONE"],
  ]) {
    await run(`${export12} ${more} -out ${name}.p12`);
    const [found, second] = keysInPkcs12(readFileSync(at(`${name}.p12`)), passphrase) ?? [];
    expect(
      createPrivateKey({ key: Buffer.from(found ?? []), format: "der", type: "pkcs8" }),
    ).toEqual(createPrivateKey(pem("leaf.key")));
    expect(second).toBeUndefined();
  }
});

test("any damage keeps the keys of a store in, and is no crash", () => {
  const whole = store("aes-256");
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (where, flip) => {
      const damaged = whole.slice();
      damaged[where] = (damaged[where] ?? 0) ^ flip;
      try {
        const keys = keysInPkcs12(damaged, passphrase) ?? [];
        expect(keys.length).toBeLessThan(2);
      } catch (error) {
        expect(error).toBeInstanceOf(DerError);
      }
    }),
    { numRuns: selectByRun(20, 60) },
  );
}, 60_000);
