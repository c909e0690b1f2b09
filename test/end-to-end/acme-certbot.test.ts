/** Certbot against the binary: the client most machines have, with its ways into the DNS. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";

import { Ground, programAt } from "#test/support/acme/ground.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

const certbot = programAt("certbot");

describe.skipIf(certbot === undefined || knotPath === undefined)("certbot", () => {
  let ground: Ground;
  let dns: readonly string[];
  beforeAll(async () => {
    ground = await Ground.start();
    const { tsig, port } = ground.knot;
    const file = saved(
      ground.folder,
      "rfc2136.ini",
      [
        "dns_rfc2136_server = 127.0.0.1",
        `dns_rfc2136_port = ${port}`,
        `dns_rfc2136_name = ${tsig.name}.`,
        `dns_rfc2136_secret = ${tsig.secret}`,
        "dns_rfc2136_algorithm = HMAC-SHA256",
      ].join("\n"),
    );
    const at = ["--dns-rfc2136-credentials", file, "--dns-rfc2136-propagation-seconds", "0"];
    dns = ["--dns-rfc2136"].concat(at);
  }, 30_000);
  afterAll(() => ground.stop());

  /** One command with a folder of its own for each account. */
  const run = (account: string, ...line: readonly string[]) => {
    const folder = join(ground.folder, account);
    const places = ["config", "work", "logs"].flatMap((name) => [
      `--${name}-dir`,
      join(folder, name),
    ]);
    const server = ["--server", ground.world.directoryUrl, "--non-interactive"];
    const command = [certbot ?? "certbot"].concat(line, server, places);
    return ground.run(command, { REQUESTS_CA_BUNDLE: ground.trust });
  };
  const agreed = ["--agree-tos", "--no-eff-email", "-m", "admin@example.test"];
  const standalone = () => ["--standalone", "--http-01-port", String(ground.ports.http)];
  const chainOf = (account: string, name: string) =>
    join(ground.folder, account, "config", "live", name, "fullchain.pem");

  test("issues by http-01 for several names, renews, revokes, and ends its account", async () => {
    const names = ["a.test", "b.test"];
    const asked = names.flatMap((name) => ["-d", name]);
    await run("web", "certonly", ...standalone(), ...agreed, ...asked);
    const first = await ground.expectCertified(chainOf("web", "a.test"), names);
    await run("web", "renew", "--force-renewal", "--no-random-sleep-on-renew");
    const second = await ground.expectCertified(chainOf("web", "a.test"), names);
    expect(second).not.toBe(first);
    const which = ["--cert-name", "a.test", "--no-delete-after-revoke"];
    await run("web", "revoke", "--reason", "superseded", ...which);
    await ground.expectRevoked(second);
    await run("web", "unregister");
    expect((await ground.accounts())[0]).toMatchObject({ status: "deactivated" });
  }, 60_000);

  test("issues by dns-01 for a wildcard and its name, and revokes by the certificate's key", async () => {
    const names = ["wild.test", "*.wild.test"];
    const asked = names.flatMap((name) => ["-d", name]);
    await run("dns", "certonly", ...dns, ...agreed, ...asked);
    const chain = chainOf("dns", "wild.test");
    const serial = await ground.expectCertified(chain, names);
    const key = chain.replace("fullchain", "privkey");
    const which = ["--cert-path", chain, "--key-path", key, "--no-delete-after-revoke"];
    await run("dns", "revoke", "--reason", "keycompromise", ...which);
    await ground.expectRevoked(serial);
    const shown = await run("dns", "show_account");
    expect(shown.stdout).toContain("admin@example.test");
    await run("dns", "update_account", "--no-eff-email", "-m", "other@example.test");
    expect((await run("dns", "show_account")).stdout).toContain("other@example.test");
  }, 60_000);

  test("issues by dns-01 with hooks of its user's own, renews, and revokes", async () => {
    const names = ["hand.test", "*.hand.test"];
    const [auth, clean] = [
      hook("auth", "zone-set", `1 TXT "$CERTBOT_VALIDATION"`),
      hook("clean", "zone-unset", `TXT "$CERTBOT_VALIDATION"`),
    ];
    const manual = ["--manual", "--preferred-challenges", "dns"];
    const hooks = ["--manual-auth-hook", auth, "--manual-cleanup-hook", clean];
    const asked = names.flatMap((name) => ["-d", name]);
    await run("hand", "certonly", ...manual, ...hooks, ...agreed, ...asked);
    const chain = chainOf("hand", "hand.test");
    const first = await ground.expectCertified(chain, names);
    await run("hand", "renew", "--force-renewal", "--no-random-sleep-on-renew");
    const second = await ground.expectCertified(chain, names);
    expect(second).not.toBe(first);
    const which = ["--cert-name", "hand.test", "--no-delete-after-revoke"];
    await run("hand", "revoke", "--reason", "superseded", ...which);
    await ground.expectRevoked(second);
  }, 60_000);

  /** A script that changes the zone by what certbot tells it. */
  function hook(name: string, verb: string, rdata: string): string {
    const knotc = `knotc -b -s "${ground.knot.control}"`;
    const file = saved(
      ground.folder,
      `${name}.sh`,
      `#!/bin/sh
set -e
PATH=$PATH:/usr/sbin
${knotc} zone-begin test
${knotc} ${verb} test "_acme-challenge.$CERTBOT_DOMAIN." ${rdata}
${knotc} zone-commit test
`,
    );
    chmodSync(file, 0o755);
    return file;
  }

  test("binds its account with a credential, which the server remembers", async () => {
    const { kid, hmacKey } = await ground.credential();
    const eab = ["--eab-kid", kid, "--eab-hmac-key", hmacKey];
    await run("bound", "register", ...agreed, ...eab);
    expect((await ground.accounts())[0]).toMatchObject({ status: "valid", eab_id: kid });
    const again = run("again", "register", ...agreed, ...eab);
    await expect(again).rejects.toThrow("the external account binding does not hold");
  }, 60_000);
});
