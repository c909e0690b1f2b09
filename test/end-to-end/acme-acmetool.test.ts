/**
 * Acmetool, which keeps what is wanted and renews it by itself, against the binary. What is to be
 * revoked its version 0.2 writes down and asks nobody for: another client does, by the key.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { factsOf } from "#test/support/acme/csr.ts";
import { brief, Ground, programAt } from "#test/support/acme/ground.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

const acmetool = programAt("acmetool");
const finder = programAt("certbot");
const whole = acmetool !== undefined && finder !== undefined && knotPath !== undefined;

describe.skipIf(!whole)("acmetool", () => {
  let ground: Ground;
  let proofs: ReturnType<Ground["serveProofs"]>;
  let state: string;
  beforeAll(async () => {
    ground = await Ground.start({ acme: { profile: "brief" }, config: { profiles: [brief] } });
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
  const live = (file: string) => join(state, "live", "a.test", file);
  const serial = () => factsOf(readFileSync(live("cert"), "utf8")).serial;

  test("gets what is wanted, lets it alone, renews it in time, and has it revoked", async () => {
    const names = ["a.test", "b.test"];
    await run("want", ...names);
    const first = await ground.expectCertified(live("fullchain"), names);
    expect(await ground.accounts()).toMatchObject([{ status: "valid" }]);
    await run("reconcile");
    expect(serial()).toBe(first);
    while (serial() === first) {
      await Bun.sleep(500);
      await run("reconcile");
    }
    const second = await ground.expectCertified(live("fullchain"), names);
    await ground.revokeByKey(live("cert"), live("privkey"));
    await ground.expectRevoked(second);
  }, 60_000);
});
