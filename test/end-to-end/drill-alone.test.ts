/** A drill asks nobody, whatever the configuration has the instance ask before it issues. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { instant } from "#core/time.ts";
import { backedUp } from "#test/support/instances/backed-up.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, writeConfig } from "#test/support/instances/instance.ts";
import { newCsr, saved } from "#test/support/instances/relying-party.ts";
import { CtLog } from "#test/support/servers/ct-log.ts";
import { caa, type DnsServer, startDnsServer } from "#test/support/servers/dns-server.ts";

const identifier = "ca.example.net";
let log: CtLog;
let server: DnsServer;
let instance: Instance;
let config: Readonly<Record<string, unknown>>;
/** In the place of the built-in one. */
const profile = {
  name: "server",
  key_usages: ["digitalSignature"],
  ext_key_usages: ["serverAuth"],
  max_validity_days: 90,
  ct: { enabled: true, min_scts: 1 },
  caa: { mode: "enforce" },
};
beforeAll(async () => {
  log = new CtLog({ now: () => instant(Date.now()) });
  server = await startDnsServer();
  server.zone.set("www.example.test", [caa("issue", identifier)]);
  const { url, spki } = log;
  const known = {
    name: "log",
    url,
    operator: "log",
    public_key: Buffer.from(spki).toString("base64"),
  };
  config = {
    certificate_transparency: { logs: [known] },
    caa: { identifier, dns_resolver: `127.0.0.1:${server.port}` },
    profiles: [profile],
  };
  instance = await Instance.start({ config });
}, 30_000);
afterAll(async () => {
  await instance.dispose();
  await Promise.all([log.stop(), server.stop()]);
});

test("BAK-3: a drill submits nothing to logs, asks no name server, and issues what no profile or quota of the instance admits", async () => {
  const chain = await createChain(instance, "ecdsa-p256");
  const csr = saved(chain.folder, "www.csr", await newCsr(chain.folder, "www.example.test"));
  const before = log.submissions;
  const issued = await instance.cli("cert", "issue", "--ca", "issuing-ecdsa-p256", "--csr", csr);
  expect([issued.code, log.submissions]).toEqual([0, before + 1]);
  expect(server.heard.length).toBeGreaterThan(0);
  const quota = ["tenant", "quota", "default", "--certs-per-day", "1"];
  expect((await instance.cli(...quota)).code).toBe(0);
  const again = await instance.cli("cert", "issue", "--ca", "issuing-ecdsa-p256", "--csr", csr);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("quota")]);

  const { archive, identity } = await backedUp(instance);
  // The server's own certificate is none of these names, so that it is not started with them.
  const names = { permitted_dns: ["example.test"], permitted_ips: [] };
  writeConfig(instance.home, { ...config, profiles: [{ ...profile, names }] });
  const [submissions, heard] = [log.submissions, server.heard.length];
  const drilled = await instance.cli("backup", "verify", archive, "--identity", identity, "--json");
  expect([drilled.code, drilled.stderr]).toEqual([0, ""]);
  expect(JSON.parse(drilled.stdout)).toMatchObject({ revoked: true });
  expect([log.submissions, server.heard.length]).toEqual([submissions, heard]);
}, 60_000);
