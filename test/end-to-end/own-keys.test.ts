/** A subscriber who brings a key of the instance itself gets no certificate for it. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { newCsr, openssl } from "#test/support/instances/relying-party.ts";

const home = newHome();
let instance: Instance;
let caId: string;
let tls: { readonly tls_cert: string; readonly tls_key: string };

beforeAll(async () => {
  tls = await selfSigned("serving");
  instance = await Instance.start({ home, config: { server: tls } });
  caId = (await createChain(instance, "ecdsa-p256")).intermediateId;
}, 30_000);

afterAll(async () => {
  await instance.stop();
  rmSync(home, { recursive: true, force: true });
});

async function selfSigned(name: string) {
  const [tls_cert, tls_key] = [join(home, `${name}.pem`), join(home, `${name}.pem.key`)];
  await openssl([
    "req",
    "-x509",
    "-nodes",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-subj",
    "/CN=localhost",
    "-days",
    "30",
    "-keyout",
    tls_key,
    "-out",
    tls_cert,
  ]);
  return { tls_cert, tls_key };
}

async function csrWith(keyFile: string): Promise<string> {
  const request = [
    "-subj",
    "/CN=leaf.example.test",
    "-addext",
    "subjectAltName=DNS:leaf.example.test",
  ];
  return (await openssl(["req", "-new", "-key", keyFile, ...request])).text;
}

async function asked(csr: string): Promise<string> {
  try {
    await instance.admin("POST", `/api/ca/${caId}/issue`, { csr });
    return "issued";
  } catch (error) {
    return /"code":"(own_key)"/.exec(String(error))?.[1] ?? String(error);
  }
}

test("KCK-2: the key of the operator's serving certificate is refused, another is not", async () => {
  expect(await asked(await csrWith(tls.tls_key))).toBe("own_key");
  expect(await asked(await newCsr(home, "free.example.test"))).toBe("issued");
});

test("KCK-2: also one that a reload brings, and the one before it", async () => {
  const before = join(home, "before.key");
  copyFileSync(tls.tls_key, before);
  const later = await selfSigned("later");
  copyFileSync(later.tls_cert, tls.tls_cert);
  copyFileSync(later.tls_key, tls.tls_key);
  instance.signal("SIGHUP");
  await instance.logged("config_reloaded");
  expect(await asked(await csrWith(later.tls_key))).toBe("own_key");
  expect(await asked(await csrWith(before))).toBe("own_key");
}, 30_000);
