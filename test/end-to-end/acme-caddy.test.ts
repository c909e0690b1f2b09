/**
 * Caddy against the binary: a web server that gets, shows, renews and replaces its certificates by
 * itself. It has no command to revoke one: whoever holds the key of its account does.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import type { AcmeClient } from "#test/support/acme/client.ts";
import { factsOf } from "#test/support/acme/csr.ts";
import { brief, Ground, programAt } from "#test/support/acme/ground.ts";
import { keyOf } from "#test/support/acme/keys.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

const caddy = programAt("caddy");

/** A site with what its issuer is told beside the directory, which is the first one. */
interface Site {
  readonly name: string;
  readonly issuer: readonly string[];
  readonly directory?: string;
}

describe.skipIf(caddy === undefined || knotPath === undefined)("caddy", () => {
  let ground: Ground;
  beforeAll(async () => {
    const directories = {
      brief: { path: "/brief", ca_label: "issuing-ecdsa-p256", profile: "brief" },
    };
    ground = await Ground.start({ acme: { directories }, config: { profiles: [brief] } });
  }, 30_000);
  afterAll(() => ground.stop());

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
  async function serving(sites: readonly Site[], test: () => Promise<void>): Promise<void> {
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
      // The server of OCSP answers is this one too.
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

  test("gets certificates by tls-alpn-01 and http-01, shows and renews them", async () => {
    const directory = `${ground.world.base}/brief/directory`;
    const sites = [
      { name: "a.test", issuer: ["disable_http_challenge"], directory },
      { name: "b.test", issuer: ["disable_tlsalpn_challenge"], directory },
    ];
    await serving(sites, async () => {
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

  test("binds its account with a credential, and replaces what that account has revoked", async () => {
    const { kid, hmacKey } = await ground.credential();
    const bound = ["disable_http_challenge", "email bound@example.test", `eab ${kid} ${hmacKey}`];
    const sites = [{ name: "c.test", issuer: bound }];
    let first = "";
    await serving(sites, async () => {
      first = await ground.expectCertified(await ground.shown("c.test"), ["c.test"]);
    });
    expect((await ground.accounts()).find((one) => one.eab_id === kid)).toBeDefined();
    const account = await accountOf("bound@example.test");
    const leaf = factsOf(readFileSync(join(ground.folder, "c.test.pem"), "utf8"));
    expect((await account.revoke(leaf.der, 4)).status).toBe(200);
    await ground.expectRevoked(first);
    // What it was told before is good for hours.
    rmSync(join(storage(), "ocsp"), { recursive: true, force: true });
    await serving(sites, async () => {
      await ground.expectCertified(await ground.shown("c.test", first), ["c.test"]);
    });
  }, 60_000);

  /** Its account, by the key it keeps. */
  async function accountOf(email: string): Promise<AcmeClient> {
    const files = readdirSync(storage(), { recursive: true }).map(String);
    const file = files.find((one) => one.includes(email) && one.endsWith(".key")) ?? "";
    const privateKey = createPrivateKey(readFileSync(join(storage(), file)));
    const key = keyOf("ES256", { privateKey, publicKey: createPublicKey(privateKey) });
    const client = await ground.world.stranger(key);
    expect((await client.register({ onlyReturnExisting: true })).status).toBe(200);
    return client;
  }
});
