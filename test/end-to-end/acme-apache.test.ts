/**
 * Apache's mod_md against the binary: a web server that asks when to renew (RFC 9773) and says what
 * it replaces. It revokes nothing itself; what its operator revokes it replaces at once.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Ground, programAt } from "#test/support/acme/ground.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";
import { until } from "#test/support/until.ts";

const apache = programAt("apache2");
const modules = "/usr/lib/apache2/modules";
const whole = apache !== undefined && existsSync(join(modules, "mod_md.so"));

describe.skipIf(!whole || knotPath === undefined)("mod_md", () => {
  let ground: Ground;
  let folder: string;
  let server: Bun.Subprocess;
  beforeAll(async () => {
    ground = await Ground.start();
    const { kid, hmacKey } = await ground.credential();
    folder = mkdtempSync(join(tmpdir(), "pkid-apache-"));
    cpSync(ground.trust, join(folder, "trust.pem"));
    saved(folder, "httpd.conf", configIn(folder, ground, `${kid} ${hmacKey}`));
    server = Bun.spawn(
      asServer(folder).concat(apache ?? "", "-f", join(folder, "httpd.conf"), "-DFOREGROUND"),
      { stdio: ["ignore", "ignore", Bun.file(join(ground.folder, "apache.log"))] },
    );
  }, 30_000);
  afterAll(async () => {
    server?.kill("SIGTERM");
    await server?.exited;
    rmSync(folder, { recursive: true, force: true });
    await ground.stop();
  });

  /** How often it has got something that it shows from its next start on. */
  const prepared = (): number =>
    readFileSync(join(folder, "error.log"), "utf8").split("will be activated on next").length - 1;

  /** What it shows once it has got so many certificates and was told to begin anew. */
  async function shownAfter(count: number, other?: string): Promise<string> {
    await until(async () => existsSync(join(folder, "error.log")) && prepared() >= count);
    server.kill("SIGUSR1");
    return await ground.shown("a.test", other);
  }

  const names = ["a.test", "b.test"];

  let first = "";

  test("binds an account, gets a certificate by tls-alpn-01, and shows it", async () => {
    first = await ground.expectCertified(await shownAfter(1), names);
    expect((await ground.accounts())[0]?.eab_id).toStartWith("eab_");
  }, 60_000);

  test("replaces what was revoked as soon as it asks, and says so", async () => {
    const words = ["revoke", "cert", "--ca", "issuing-ecdsa-p256", first];
    expect((await ground.world.instance.cli(...words, "--reason", "superseded")).code).toBe(0);
    // It asks when it begins, and then as often as it was told.
    server.kill("SIGUSR1");
    const second = await ground.expectCertified(await shownAfter(2, first), names);
    const { items } = await ground.world.instance.admin<{
      items: { serial?: string; replaces?: string }[];
    }>("GET", "/api/acme/orders?status=valid");
    expect(items.find(({ serial }) => serial === second)?.replaces).toBe(first);
  }, 60_000);
});

/** It refuses to serve as root: then it is somebody else, who has the folder. */
function asServer(folder: string): string[] {
  if (process.getuid?.() !== 0) return [];
  const nobody = 65_534;
  for (const file of ["", "trust.pem", "httpd.conf"]) {
    chownSync(join(folder, file), nobody, nobody);
  }
  const who = [`--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  return ["setpriv", ...who];
}

const configIn = (folder: string, { world, ports }: Ground, binding: string): string => `
ServerRoot ${folder}
PidFile ${folder}/httpd.pid
ErrorLog ${folder}/error.log
LogLevel warn md:info
LoadModule mpm_event_module ${modules}/mod_mpm_event.so
LoadModule authz_core_module ${modules}/mod_authz_core.so
LoadModule socache_shmcb_module ${modules}/mod_socache_shmcb.so
LoadModule ssl_module ${modules}/mod_ssl.so
LoadModule md_module ${modules}/mod_md.so
Listen 127.0.0.1:${ports.alpn} https
Protocols acme-tls/1 http/1.1
StartServers 1
ServerLimit 1
ThreadsPerChild 16
MaxRequestWorkers 16
ServerName a.test
MDStoreDir ${folder}/md
MDCertificateAuthority ${world.directoryUrl}
MDCACertificateFile ${folder}/trust.pem
MDCertificateAgreement accepted
MDContactEmail admin@example.test
MDExternalAccountBinding ${binding}
MDPortMap http:- https:${ports.alpn}
MDPrivateKeys P-256
MDInitialDelay 1s
MDCheckInterval 1s
MDRetryDelay 1s
MDomain a.test b.test
<VirtualHost 127.0.0.1:${ports.alpn}>
  ServerName a.test
  ServerAlias b.test
  SSLEngine on
</VirtualHost>
`;
