/** Caddy against the binary: a web server that gets and shows its certificates by itself. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Ground, programAt } from "#test/support/acme/ground.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";
import { until } from "#test/support/until.ts";

const caddy = programAt("caddy");

describe.skipIf(caddy === undefined || knotPath === undefined)("caddy", () => {
  let ground: Ground;
  beforeAll(async () => {
    ground = await Ground.start();
  }, 30_000);
  afterAll(() => ground.stop());

  /** Runs it with one site, until the test has seen enough. */
  async function serving(site: string, issuer: string, test: () => Promise<void>): Promise<void> {
    const { world, ports, trust, folder } = ground;
    const file = saved(
      folder,
      "Caddyfile",
      `{
  admin off
  storage file_system ${join(folder, "caddy")}
  default_bind 127.0.0.1
  http_port ${ports.http}
  https_port ${ports.alpn}
  skip_install_trust
}
${site} {
  tls {
    issuer acme ${world.directoryUrl} {
      trusted_roots ${trust}
      ${issuer}
    }
  }
  respond "hello"
}
`,
    );
    const log = Bun.file(join(folder, "caddy.log"));
    const child = Bun.spawn([caddy ?? "caddy", "run", "--config", file, "--adapter", "caddyfile"], {
      env: { HOME: folder, PATH: process.env.PATH ?? "" },
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

  /** What openssl is shown for a name, once there is something. */
  async function shown(name: string): Promise<string> {
    const place = ["-connect", `127.0.0.1:${ground.ports.alpn}`, "-servername", name];
    const line = ["s_client", "-showcerts", ...place];
    let text = "";
    await until(async () => {
      ({ text } = await openssl(line, { mustPass: false }));
      return text.includes("BEGIN CERTIFICATE");
    });
    return saved(ground.folder, `${name}.pem`, text);
  }

  test.each([
    ["tls-alpn-01", "a.test", "disable_http_challenge"],
    ["http-01", "b.test", "disable_tlsalpn_challenge"],
  ])(
    "gets a certificate by %s, and shows it to who knows the root",
    async (_how, name, issuer) => {
      await serving(name, issuer, async () => {
        const serial = await ground.expectCertified(await shown(name), [name]);
        expect(serial).not.toBe("");
      });
    },
    20_000,
  );

  test("binds its account with a credential", async () => {
    const { kid, hmacKey } = await ground.credential();
    const bound = `disable_http_challenge\n      email bound@example.test\n      eab ${kid} ${hmacKey}`;
    await serving("c.test", bound, async () => {
      await ground.expectCertified(await shown("c.test"), ["c.test"]);
    });
    expect((await ground.accounts())[0]).toMatchObject({ eab_id: kid });
  }, 20_000);
});
