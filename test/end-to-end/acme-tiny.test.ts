/**
 * Acme-tiny, two hundred lines that get a certificate for a request and do nothing else, against
 * the binary. It renews by being run again, and revokes nothing: another client does, by the key.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";

import { Ground, programAt } from "#test/support/acme/ground.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

const tiny = programAt("acme-tiny");
const finder = programAt("certbot");

describe.skipIf(tiny === undefined || finder === undefined || knotPath === undefined)(
  "acme-tiny",
  () => {
    let ground: Ground;
    let proofs: ReturnType<Ground["serveProofs"]>;
    beforeAll(async () => {
      ground = await Ground.start();
      proofs = ground.serveProofs();
    }, 30_000);
    afterAll(async () => {
      await proofs.stop();
      await ground.stop();
    });

    const names = ["a.test", "b.test"];
    const at = (name: string) => join(ground.folder, name);

    /** Gets a certificate for the request, and gives its file. */
    async function issued(...more: readonly string[]): Promise<string> {
      const files = ["--account-key", at("account.key"), "--csr", at("own.csr")];
      const places = ["--acme-dir", proofs.folder, "--directory-url", ground.world.directoryUrl];
      // It would look for its own file by the names of the system.
      const line = [tiny ?? "acme-tiny", "--disable-check"].concat(files, places, more);
      const { stdout } = await ground.run(line, { SSL_CERT_FILE: ground.trust });
      return saved(ground.folder, "chain.pem", stdout);
    }

    test("gets a certificate for a request, and another one for the same, by one account", async () => {
      await openssl(["genrsa", "-out", at("account.key"), "2048"]);
      const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", at("own.key")];
      const asked = ["-subj", "/CN=a.test", "-addext", "subjectAltName=DNS:a.test,DNS:b.test"];
      await openssl(["req", "-new", "-out", at("own.csr")].concat(key, asked));
      const first = await ground.expectCertified(
        await issued("--contact", "mailto:admin@example.test"),
        names,
      );
      const second = await ground.expectCertified(await issued(), names);
      expect(second).not.toBe(first);
      expect(await ground.accounts()).toMatchObject([
        { status: "valid", contacts: ["mailto:admin@example.test"] },
      ]);
      await ground.revokeByKey(at("chain.pem"), at("own.key"));
      await ground.expectRevoked(second);
    }, 60_000);
  },
);
