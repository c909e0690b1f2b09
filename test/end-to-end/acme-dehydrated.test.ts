/** Dehydrated, which is a shell script, against the binary. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";

import { Ground, programAt } from "#test/support/acme/ground.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

const dehydrated = programAt("dehydrated");

describe.skipIf(dehydrated === undefined || knotPath === undefined)("dehydrated", () => {
  let ground: Ground;
  let proofs: ReturnType<Ground["serveProofs"]>;
  let config: string;
  beforeAll(async () => {
    ground = await Ground.start();
    proofs = ground.serveProofs();
    const { kid, hmacKey } = await ground.credential();
    const settings = {
      CA: ground.world.directoryUrl,
      CURL_OPTS: `--cacert ${ground.trust}`,
      BASEDIR: ground.folder,
      WELLKNOWN: proofs.folder,
      CONTACT_EMAIL: "admin@example.test",
      KEY_ALGO: "prime256v1",
      EAB_KID: kid,
      EAB_HMAC_KEY: hmacKey,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"`);
    config = saved(ground.folder, "config", `${lines.join("\n")}\n`);
  }, 30_000);
  afterAll(async () => {
    await proofs.stop();
    await ground.stop();
  });

  const run = (...line: readonly string[]) =>
    ground.run([dehydrated ?? "dehydrated", "--config", config, ...line]);
  const chain = () => join(ground.folder, "certs", "a.test", "fullchain.pem");
  const names = ["a.test", "b.test"];

  test("registers, issues, renews, revokes, and ends its account", async () => {
    await run("--register", "--accept-terms");
    expect((await ground.accounts())[0]).toMatchObject({ status: "valid" });
    await run("--cron", "--domain", names.join(" "), "--challenge", "http-01");
    const first = await ground.expectCertified(chain(), names);
    await run("--cron", "--force", "--domain", names.join(" "), "--challenge", "http-01");
    const second = await ground.expectCertified(chain(), names);
    expect(second).not.toBe(first);
    await run("--revoke", chain().replace("fullchain", "cert"));
    await ground.expectRevoked(second);
    await run("--account");
    await run("--deactivate");
    expect((await ground.accounts())[0]).toMatchObject({ status: "deactivated" });
  }, 60_000);
});
