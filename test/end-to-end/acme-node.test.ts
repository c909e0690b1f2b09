/** The library most Node programs enrol with, against the binary: alternates, keys, preferences. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Agent } from "node:https";

import * as acme from "acme-client";

import { Ground } from "#test/support/acme/ground.ts";
import { saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

describe.skipIf(knotPath === undefined)("acme-client", () => {
  let ground: Ground;
  let proofs: ReturnType<Ground["serveProofs"]>;
  beforeAll(async () => {
    ground = await Ground.start();
    proofs = ground.serveProofs();
    acme.axios.defaults.httpsAgent = new Agent({ ca: readFileSync(ground.trust) });
  }, 30_000);
  afterAll(async () => {
    acme.axios.defaults.httpsAgent = undefined;
    await proofs.stop();
    await ground.stop();
  });

  const newClient = (accountKey: Buffer, more: object = {}) =>
    new acme.Client({ directoryUrl: ground.world.directoryUrl, accountKey, ...more });

  /** Puts proofs into the folder, or into the DNS. */
  const challenges = {
    challengeCreateFn: async (
      { identifier }: acme.Authorization,
      { type, token }: { type: string; token: string },
      text: string,
    ) => {
      if (type === "http-01") saved(proofs.folder, token, text);
      else await ground.knot.set(`_acme-challenge.${identifier.value}`, "TXT", `"${text}"`);
    },
    challengeRemoveFn: async () => {},
    skipChallengeVerification: true,
  };

  test("issues for keys of both kinds, renews, revokes, and ends its account", async () => {
    for (const [accountKey, csrKey] of [
      [await acme.crypto.createPrivateEcdsaKey("P-384"), await acme.crypto.createPrivateKey()],
      [await acme.crypto.createPrivateKey(), await acme.crypto.createPrivateEcdsaKey()],
    ] as const) {
      const client = newClient(accountKey);
      const serials: string[] = [];
      for (let time = 0; time < 2; time++) {
        const [, csr] = await acme.crypto.createCsr({ altNames: ["a.test", "b.test"] }, csrKey);
        const pem = await client.auto({ csr, termsOfServiceAgreed: true, ...challenges });
        const file = saved(ground.folder, "node.pem", pem);
        serials.push(await ground.expectCertified(file, ["a.test", "b.test"]));
        if (time === 0) continue;
        await client.revokeCertificate(pem, { reason: 4 });
        await ground.expectRevoked(serials.at(-1) ?? "");
      }
      expect(new Set(serials).size).toBe(2);
      const ended = await client.updateAccount({ status: "deactivated" });
      expect(ended.status).toBe("deactivated");
    }
  }, 60_000);

  test("issues for a wildcard by the DNS, and goes on with another key of its account", async () => {
    const client = newClient(await acme.crypto.createPrivateEcdsaKey());
    await client.createAccount({ termsOfServiceAgreed: true, contact: ["mailto:a@example.test"] });
    await client.updateAccountKey(await acme.crypto.createPrivateEcdsaKey("P-521"));
    const names = ["*.wild.test", "wild.test"];
    for (const name of names) {
      const [, csr] = await acme.crypto.createCsr({ altNames: [name] });
      const challengePriority = ["dns-01"];
      const pem = await client.auto({ csr, challengePriority, ...challenges });
      await ground.expectCertified(saved(ground.folder, "wild.pem", pem), [name]);
    }
    expect(await ground.accounts()).toHaveLength(3);
  }, 60_000);

  test("binds its account with a credential", async () => {
    const { kid, hmacKey } = await ground.credential();
    const externalAccountBinding = { kid, hmacKey };
    const accountKey = await acme.crypto.createPrivateEcdsaKey();
    const client = newClient(accountKey, { externalAccountBinding });
    await client.createAccount({ termsOfServiceAgreed: true });
    expect((await ground.accounts())[0]).toMatchObject({ eab_id: kid, status: "valid" });
  }, 60_000);
});
