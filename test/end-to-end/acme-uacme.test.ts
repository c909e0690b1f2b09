/**
 * Uacme, which is written in C, against the binary: it changes the keys of accounts, ends them, and
 * asks for addresses.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";

import { Ground, programAt } from "#test/support/acme/ground.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

const uacme = programAt("uacme");
/** It trusts what the system does: the test gives it a system of its own, which takes root. */
const alone = process.getuid?.() === 0 && programAt("unshare") !== undefined;

describe.skipIf(uacme === undefined || !alone || knotPath === undefined)("uacme", () => {
  let ground: Ground;
  let proofs: ReturnType<Ground["serveProofs"]>;
  let hook: string;
  beforeAll(async () => {
    ground = await Ground.start({ acme: { allow_ip_identifiers: true } });
    proofs = ground.serveProofs();
    hook = saved(ground.folder, "hook.sh", hookIn(proofs.folder));
    chmodSync(hook, 0o755);
  }, 30_000);
  afterAll(async () => {
    await proofs.stop();
    await ground.stop();
  });

  const run = (...line: readonly string[]) => {
    const places = ["-a", ground.world.directoryUrl, "-c", join(ground.folder, "uacme"), "-y"];
    const trusting = `mount --bind ${ground.trust} /etc/ssl/certs/ca-certificates.crt && exec "$@"`;
    const apart = ["unshare", "--mount", "sh", "-c", trusting, "sh"];
    return ground.run([...apart, uacme ?? "uacme", ...places, "-h", hook, ...line]);
  };
  const chainOf = (name: string) => join(ground.folder, "uacme", name, "cert.pem");
  const key = () => Bun.file(join(ground.folder, "uacme", "private", "key.pem")).text();

  test("makes an account, gives it another key, and goes on with that", async () => {
    await run("-t", "EC", "new", "admin@example.test");
    const before = await key();
    await run("-t", "RSA", "newkey");
    expect(await key()).not.toBe(before);
    await run("update", "other@example.test");
    await run("issue", "a.test", "b.test");
    await ground.expectCertified(chainOf("a.test"), ["a.test", "b.test"]);
    expect(await ground.accounts()).toHaveLength(1);
  }, 60_000);

  test("renews, and revokes by account and by the certificate's key", async () => {
    const first = await ground.expectCertified(chainOf("a.test"), ["a.test", "b.test"]);
    await run("-f", "issue", "a.test", "b.test");
    const second = await ground.expectCertified(chainOf("a.test"), ["a.test", "b.test"]);
    expect(second).not.toBe(first);
    await run("-r", "4", "revoke", chainOf("a.test"));
    await ground.expectRevoked(second);
    await run("-f", "issue", "a.test", "b.test");
    const third = await ground.expectCertified(chainOf("a.test"), ["a.test", "b.test"]);
    const own = join(ground.folder, "uacme", "private", "a.test", "key.pem");
    await run("-r", "1", "revoke", chainOf("a.test"), own);
    await ground.expectRevoked(third);
    // It brings the same key again, which its holder has just said is compromised.
    await expect(run("-f", "issue", "a.test", "b.test")).rejects.toThrow("badCSR");
  }, 60_000);

  test("issues for an address", async () => {
    await run("issue", "127.0.0.1");
    await ground.expectCertified(chainOf("127.0.0.1"), ["127.0.0.1"]);
  }, 60_000);

  test("ends its account, which issues nothing more", async () => {
    await run("deactivate");
    expect((await ground.accounts())[0]).toMatchObject({ status: "deactivated" });
    await expect(run("-n", "issue", "c.test")).rejects.toThrow();
  }, 60_000);
});

/** What uacme calls with method, type, identifier, token and authorization. */
const hookIn = (folder: string): string => `#!/bin/sh
[ "$2" = http-01 ] || exit 1
case "$1" in
  begin) printf %s "$5" > "${folder}/$4" ;;
  done | failed) rm -f "${folder}/$4" ;;
esac
`;
