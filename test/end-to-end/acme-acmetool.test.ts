/** Acmetool, which keeps what is wanted and gets it by itself, against the binary. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { Ground, programAt } from "#test/support/acme/ground.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

const acmetool = programAt("acmetool");

describe.skipIf(acmetool === undefined || knotPath === undefined)("acmetool", () => {
  let ground: Ground;
  let proofs: ReturnType<Ground["serveProofs"]>;
  let state: string;
  beforeAll(async () => {
    ground = await Ground.start();
    proofs = ground.serveProofs();
    state = join(ground.folder, "state");
    mkdirSync(join(state, "conf"), { recursive: true });
    const challenge = { "webroot-paths": [proofs.folder], "http-self-test": false };
    const request = { provider: ground.world.directoryUrl, challenge };
    // YAML reads JSON.
    saved(join(state, "conf"), "target", JSON.stringify({ request }));
    saved(join(state, "conf"), "responses", '"acme-enter-email": "admin@example.test"\n');
  }, 30_000);
  afterAll(async () => {
    await proofs.stop();
    await ground.stop();
  });

  const run = (...line: readonly string[]) =>
    ground.run([acmetool ?? "acmetool", "--batch", "--state", state, "--hooks", state, ...line], {
      SSL_CERT_FILE: ground.trust,
    });
  const live = () => join(state, "live", "a.test", "fullchain");

  // What is to be revoked its version 0.2 writes down and asks nobody for.
  test("gets what is wanted, and gets it anew once that is gone", async () => {
    await run("want", "a.test", "b.test");
    const first = await ground.expectCertified(live(), ["a.test", "b.test"]);
    expect((await ground.accounts())[0]).toMatchObject({ status: "valid" });
    rmSync(join(state, "certs"), { recursive: true });
    rmSync(join(state, "live"), { recursive: true });
    await run("reconcile");
    const second = await ground.expectCertified(live(), ["a.test", "b.test"]);
    expect(second).not.toBe(first);
  }, 60_000);
});
