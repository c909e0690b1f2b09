/** Lacme, whose parts know no more than they need, against the binary. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { Ground, programAt } from "#test/support/acme/ground.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

const lacme = programAt("lacme");
/** What holds the key of the account, and what that signs with. */
const whole =
  programAt("lacme-accountd") !== undefined &&
  existsSync("/usr/share/doc/libcrypt-openssl-rsa-perl");

describe.skipIf(lacme === undefined || !whole || knotPath === undefined)("lacme", () => {
  let ground: Ground;
  let config: string;
  beforeAll(async () => {
    ground = await Ground.start();
    const { folder, trust, ports, world } = ground;
    const at = (name: string) => join(folder, name);
    await openssl(["genrsa", "-out", at("account.key"), "2048"]);
    const curve = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
    await openssl(["genpkey", "-out", at("own.key"), ...curve]);
    const account = saved(folder, "accountd.conf", `privkey = file:${at("account.key")}\n`);
    const certificates = saved(
      folder,
      "certs.conf",
      `[www]
certificate-key = ${at("own.key")}
certificate-chain = ${at("chain.pem")}
subject = /CN=a.test
subjectAltName = DNS:a.test,DNS:b.test
CAfile = ${world.chain.root}
`,
    );
    // Its parts may be other users, who know nothing of the folder of a test.
    config = saved(
      folder,
      "lacme.conf",
      `config-certs = ${certificates}
[client]
user =
group =
command = /usr/bin/env PERL_LWP_SSL_CA_FILE=${trust} /usr/libexec/lacme/client
server = ${world.directoryUrl}
[webserver]
user =
group =
listen = 127.0.0.1:${ports.http}
[accountd]
config = ${account}
`,
    );
  }, 30_000);
  afterAll(() => ground.stop());

  const run = (...line: readonly string[]) =>
    ground.run([lacme ?? "lacme", `--config=${config}`, ...line]);
  const chain = () => join(ground.folder, "chain.pem");
  const names = ["a.test", "b.test"];

  test("registers, issues, renews, and revokes", async () => {
    await run("account", "--register", "--tos-agreed", "mailto:admin@example.test");
    expect((await ground.accounts())[0]).toMatchObject({ status: "valid" });
    await run("newOrder");
    const first = await ground.expectCertified(chain(), names);
    // What has long to live is let alone.
    await run("newOrder");
    expect(await ground.expectCertified(chain(), names)).toBe(first);
    await run("newOrder", "--force");
    const second = await ground.expectCertified(chain(), names);
    expect(second).not.toBe(first);
    await run("revokeCert", chain());
    await ground.expectRevoked(second);
    await run("account", "mailto:other@example.test");
    expect((await ground.accounts())[0]).toMatchObject({ contacts: ["mailto:other@example.test"] });
  }, 60_000);
});
