/**
 * Whoever makes a CA learns that its certificates will carry no address to ask about revocations,
 * wherever the server is.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { binary, Instance } from "#test/support/instances/instance.ts";

const told = /^warning: Certificates of this instance carry no CRL and no OCSP address[^\n]*\n$/;
const instances: Instance[] = [];
let bare: Instance;
let addressed: Instance;
beforeAll(async () => {
  bare = await Instance.start();
  instances.push(bare);
  const server = { public_url: "https://pki.example.test" };
  addressed = await Instance.start({ config: { server } });
  instances.push(addressed);
}, 60_000);
afterAll(async () => {
  for (const instance of instances) await instance.dispose();
});

/** From another directory, with nothing but the environment to go by. */
async function remotely(instance: Instance, ...words: string[]) {
  const env = {
    PKID_URL: instance.url.replace("127.0.0.1", "localhost"),
    PKID_TOKEN: await instance.token(["admin"]),
    PKID_CA_FILE: join(instance.dataDir, "serving-ca.pem"),
  };
  return await ran([binary, "ca"].concat(words), { cwd: "/", env });
}

const root = (label: string) => ["init-root", "--label", label, "--cn", label];
const below = (label: string) =>
  ["issue-intermediate", "--parent", label, "--label", `${label}-2`].concat(["--cn", "I"]);

test("a server that names no address has it said, asked from here and from elsewhere", async () => {
  for (const words of [root("far"), below("far")]) {
    const far = await remotely(bare, ...words);
    expect([far.code, far.stderr]).toEqual([0, expect.stringMatching(told)]);
  }
  for (const words of [root("near"), below("near")]) {
    const near = await bare.cli("ca", ...words);
    expect([near.code, near.stderr]).toEqual([0, expect.stringMatching(told)]);
  }
}, 60_000);

test("a server that names addresses has nothing to say", async () => {
  for (const words of [root("far"), below("far")]) {
    const far = await remotely(addressed, ...words);
    expect([far.code, far.stderr]).toEqual([0, ""]);
  }
  const near = await addressed.cli("ca", ...root("near"));
  expect([near.code, near.stderr]).toEqual([0, ""]);
}, 60_000);
