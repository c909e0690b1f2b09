/**
 * What a reload says in the log: files that are other ones under the same name, faults in words,
 * and the address in force.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { OutsideCa } from "#test/support/tls/client-certificates.ts";
import { Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { openssl } from "#test/support/instances/relying-party.ts";

let instance: Instance;
const settings = (home: string) => ({
  server: { public_url: "https://pki.example.com" },
  outbound: { ca_file: join(home, "outbound.pem") },
  auth: {
    mtls: {
      enabled: true,
      ca_file: join(home, "clients.pem"),
      bindings: [{ subject_cn: "robot", subject: "robot", roles: ["auditor"] }],
    },
  },
});
const another = () => OutsideCa.root("Outside").pem;

beforeAll(async () => {
  const home = newHome();
  for (const name of ["outbound.pem", "clients.pem"]) writeFileSync(join(home, name), another());
  instance = await Instance.start({ home, config: settings(home) });
}, 30_000);
afterAll(() => instance?.dispose());

const said = (message: string) =>
  instance.logs.flatMap((line) => (line.includes(`"${message}"`) ? [JSON.parse(line)] : []));
async function reloaded(message: string) {
  const before = said(message).length;
  instance.signal("SIGHUP");
  while (said(message).length <= before) await Bun.sleep(10);
  return said(message).at(-1);
}

test("the entry of the start has the public address that is in force", () => {
  expect(said("ready")[0].public_url).toBe("https://pki.example.com");
});

test("a file whose content has changed is told, and whether a restart is needed for it", async () => {
  expect(await reloaded("config_reloaded")).toMatchObject({ reloaded: [] });
  writeFileSync(join(instance.home, "clients.pem"), another());
  writeFileSync(join(instance.home, "outbound.pem"), another());
  const told = await reloaded("config_reloaded");
  expect([told.reloaded, told.restart_required]).toEqual([
    ["auth.mtls.ca_file"],
    "outbound.ca_file",
  ]);
  const quiet = await reloaded("config_reloaded");
  expect([quiet.reloaded, quiet.restart_required]).toEqual([[], "outbound.ca_file"]);
}, 30_000);

test("a configuration that cannot be read is told in words, without the places of the program", async () => {
  writeConfig(instance.home, { ...settings(instance.home), log: { level: "loud" } });
  const { error } = await reloaded("config_reload_failed");
  expect(error).toContain("log.level");
  expect(error).not.toMatch(/\n\s+at |\.ts:\d/);
  writeConfig(instance.home, settings(instance.home));
  await reloaded("config_reloaded");
}, 30_000);

test("of two reloads in a row the last one asked for is what is in force", async () => {
  const { home } = instance;
  const [certificate, key] = [join(home, "own.pem"), join(home, "own-key.pem")];
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const names = ["-subj", "/CN=pki.example.com", "-addext", "subjectAltName=DNS:pki.example.com"];
  await openssl([...made, ...names, "-keyout", key, "-out", certificate]);
  const usual = settings(home);
  // Its key is entered among the instance's own, so that this reload takes longer than the next.
  const own = { ...usual, server: { ...usual.server, tls_cert: certificate, tls_key: key } };
  for (let n = 0; n < 12; n++) {
    const before = said("config_reloaded").length;
    writeConfig(home, own);
    instance.signal("SIGHUP");
    await Bun.sleep(n); // Long enough for it to be read.
    writeConfig(home, usual);
    instance.signal("SIGHUP");
    while (said("config_reloaded").length < before + 1) await Bun.sleep(5);
    // If the first reload was not skipped, its certificate is in use until the second one ends,
    // and both report a change.
    const changes = () => said("config_reloaded").slice(before).filter(hasChange).length;
    while ((await usesCertificate(certificate)) || changes() % 2 === 1) await Bun.sleep(5);
    expect((await reloaded("config_reloaded")).reloaded).toEqual([]);
  }
}, 60_000);

const hasChange = ({ reloaded: changed }: { readonly reloaded: readonly string[] }) =>
  changed.length > 0;

async function usesCertificate(file: string): Promise<boolean> {
  return JSON.stringify(await instance.admin("GET", "/api/config")).includes(file);
}

test("a configuration of many lines is read again, and what is wrong in it is named", async () => {
  const { auth, ...rest } = settings(instance.home);
  const many = (last: object) => {
    const mapping = (at: number) => ({ value: `group-${at}`, roles: ["auditor"] });
    const role_mappings: object[] = Array.from({ length: 4000 }, (_, at) => mapping(at));
    role_mappings.push(last);
    writeConfig(instance.home, { ...rest, auth: { ...auth, oidc: { role_mappings } } });
  };
  many({ value: "last", roles: "auditor" });
  const { error } = await reloaded("config_reload_failed");
  expect(error).toContain("config: auth.oidc.role_mappings[4000].roles");
  many({ value: "last", roles: ["auditor"] });
  const told = await reloaded("config_reloaded");
  expect(String(told.restart_required).concat(told.reloaded)).toContain("auth.oidc.role_mappings");
}, 30_000);
