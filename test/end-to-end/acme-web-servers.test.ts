/** Web servers that get, serve and renew their certificates by ACME, against one instance. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createPrivateKey, createPublicKey } from "node:crypto";
import {
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { AcmeClient } from "#test/support/acme/client.ts";
import { factsOf } from "#test/support/acme/csr.ts";
import { brief, Ground, programAt } from "#test/support/acme/ground.ts";
import { keyOf } from "#test/support/acme/keys.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";
import { until } from "#test/support/until.ts";

const directories = {
  brief: { path: "/brief", ca_label: "issuing-ecdsa-p256", profile: "brief" },
};
let shared: Ground | undefined;
beforeAll(async () => {
  if (knotPath === undefined) return;
  shared = await Ground.start({ acme: { directories }, config: { profiles: [brief] } });
}, 30_000);
afterAll(() => shared?.stop());

/** Returns the ground for one client: its own folder, and its own accounts only. */
async function startClient(name: string): Promise<Ground> {
  if (shared === undefined) throw new Error("the ground starts before its clients");
  return await shared.withClient(name);
}

/** Caddy has no command to revoke: the holder of its account key does. */
const caddy = programAt("caddy");

/** A site with the settings of its issuer. The directory is the first one by default. */
interface Site {
  readonly name: string;
  readonly issuer: readonly string[];
  readonly directory?: string;
}

describe.skipIf(caddy === undefined || knotPath === undefined)("caddy", () => {
  let ground: Ground;
  beforeAll(async () => {
    ground = await startClient("caddy");
  }, 30_000);

  const storage = () => join(ground.folder, "caddy");

  const siteText = ({ name, issuer, directory = ground.world.directoryUrl }: Site): string => `
${name} {
  tls {
    issuer acme ${directory} {
      trusted_roots ${ground.trust}
      ${issuer.join("\n      ")}
    }
  }
  respond "hello"
}
`;

  /** Runs it with these sites, until the test has seen enough. */
  async function serveSites(sites: readonly Site[], test: () => Promise<void>): Promise<void> {
    const { ports, trust, folder } = ground;
    const file = saved(
      folder,
      "Caddyfile",
      `{
  admin off
  storage file_system ${storage()}
  default_bind 127.0.0.1
  http_port ${ports.http}
  https_port ${ports.alpn}
  skip_install_trust
  renew_interval 1s
}
${sites.map(siteText).join("")}`,
    );
    const log = Bun.file(join(folder, "caddy.log"));
    const child = Bun.spawn([caddy ?? "caddy", "run", "--config", file, "--adapter", "caddyfile"], {
      // The OCSP responder is this server too.
      env: { HOME: folder, PATH: process.env.PATH ?? "", SSL_CERT_FILE: trust },
      stdio: ["ignore", log, log],
    });
    const ended = child.exited.then(() => {
      throw new Error(readFileSync(join(folder, "caddy.log"), "utf8"));
    });
    try {
      await Promise.race([test(), ended]);
    } finally {
      ended.catch(() => {});
      child.kill("SIGTERM");
      await child.exited;
    }
  }

  test("caddy gets certificates by tls-alpn-01 and http-01, serves and renews them", async () => {
    const directory = `${ground.world.base}/brief/directory`;
    const sites = [
      { name: "a.test", issuer: ["disable_http_challenge"], directory },
      { name: "b.test", issuer: ["disable_tlsalpn_challenge"], directory },
    ];
    await serveSites(sites, async () => {
      const first = new Map<string, string>();
      for (const { name } of sites) {
        first.set(name, await ground.expectCertified(await ground.shown(name), [name]));
      }
      for (const [name, serial] of first) {
        const second = await ground.expectCertified(await ground.shown(name, serial), [name]);
        expect(second).not.toBe(serial);
      }
    });
  }, 60_000);

  test("caddy binds its account with a credential, and replaces a certificate that it revoked", async () => {
    const { kid, hmacKey } = await ground.credential();
    const bound = ["disable_http_challenge", "email bound@example.test", `eab ${kid} ${hmacKey}`];
    const sites = [{ name: "c.test", issuer: bound }];
    let first = "";
    await serveSites(sites, async () => {
      first = await ground.expectCertified(await ground.shown("c.test"), ["c.test"]);
    });
    expect((await ground.accounts()).find((one) => one.eab_id === kid)).toBeDefined();
    const account = await findAccount("bound@example.test");
    const leaf = factsOf(readFileSync(join(ground.folder, "c.test.pem"), "utf8"));
    expect((await account.revoke(leaf.der, 4)).status).toBe(200);
    await ground.expectRevoked(first);
    // The OCSP response that it has is valid for hours.
    rmSync(join(storage(), "ocsp"), { recursive: true, force: true });
    await serveSites(sites, async () => {
      await ground.expectCertified(await ground.shown("c.test", first), ["c.test"]);
    });
  }, 60_000);

  /** Returns its account, by the key that it stores. */
  async function findAccount(email: string): Promise<AcmeClient> {
    const files = readdirSync(storage(), { recursive: true }).map(String);
    const file = files.find((one) => one.includes(email) && one.endsWith(".key")) ?? "";
    const privateKey = createPrivateKey(readFileSync(join(storage(), file)));
    const key = keyOf("ES256", { privateKey, publicKey: createPublicKey(privateKey) });
    const client = await ground.world.stranger(key);
    expect((await client.register({ onlyReturnExisting: true })).status).toBe(200);
    return client;
  }
});

/** Apache does not revoke. It immediately replaces a certificate that its operator revoked. */
const apache = programAt("apache2");
const modules = "/usr/lib/apache2/modules";
const hasApache = apache !== undefined && existsSync(join(modules, "mod_md.so"));

describe.skipIf(!hasApache || knotPath === undefined)("mod_md", () => {
  let ground: Ground;
  let folder: string;
  let server: Bun.Subprocess;
  beforeAll(async () => {
    ground = await startClient("apache");
    const { kid, hmacKey } = await ground.credential();
    folder = mkdtempSync(join(tmpdir(), "pkid-apache-"));
    cpSync(ground.trust, join(folder, "trust.pem"));
    saved(folder, "httpd.conf", buildConfig(folder, ground, `${kid} ${hmacKey}`));
    server = Bun.spawn(
      selectServerUser(folder).concat(
        apache ?? "",
        "-f",
        join(folder, "httpd.conf"),
        "-DFOREGROUND",
      ),
      { stdio: ["ignore", "ignore", Bun.file(join(ground.folder, "apache.log"))] },
    );
  }, 30_000);
  afterAll(async () => {
    server?.kill("SIGTERM");
    await server?.exited;
    rmSync(folder, { recursive: true, force: true });
  });

  /** Returns the number of certificates that it serves from its next start on. */
  const countActivations = (): number =>
    readFileSync(join(folder, "error.log"), "utf8").split("will be activated on next").length - 1;

  /** Returns the certificate that it serves after a restart with this many certificates. */
  async function restartWithCertificates(count: number, other?: string): Promise<string> {
    await until(async () => existsSync(join(folder, "error.log")) && countActivations() >= count);
    server.kill("SIGUSR1");
    return await ground.shown("a.test", other);
  }

  const names = ["a.test", "b.test"];

  let first = "";

  test("mod_md binds an account, gets a certificate by tls-alpn-01, and serves it", async () => {
    first = await ground.expectCertified(await restartWithCertificates(1), names);
    expect((await ground.accounts())[0]?.eab_id).toStartWith("eab_");
  }, 60_000);

  test("mod_md replaces a revoked certificate after its next check, and names it in the order", async () => {
    const line = ["revoke", "cert", "--ca", "issuing-ecdsa-p256", first];
    expect((await ground.world.instance.cli(...line, "--reason", "superseded")).code).toBe(0);
    // It checks when it starts, and then at the configured interval.
    server.kill("SIGUSR1");
    const second = await ground.expectCertified(await restartWithCertificates(2, first), names);
    const { items } = await ground.world.instance.admin<{
      items: { serial?: string; replaces?: string }[];
    }>("GET", "/api/acme/orders?status=valid");
    expect(items.find(({ serial }) => serial === second)?.replaces).toBe(first);
  }, 60_000);
});

/** Returns the prefix that runs it as another user than root, which owns the folder. */
function selectServerUser(folder: string): string[] {
  if (process.getuid?.() !== 0) return [];
  const userId = 65_534;
  for (const file of ["", "trust.pem", "httpd.conf"]) {
    chownSync(join(folder, file), userId, userId);
  }
  const identity = [`--reuid=${userId}`, `--regid=${userId}`, "--clear-groups"];
  return ["setpriv", ...identity];
}

const buildConfig = (folder: string, { world, ports }: Ground, binding: string): string => `
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
