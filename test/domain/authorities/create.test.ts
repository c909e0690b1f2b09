/** CAs: created through the ceremony, bound by their parents, verified by openssl. */

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { encodePem } from "#core/asn1/pem.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { pemBundle } from "#domain/authorities/bundle.ts";
import {
  caWish,
  csr,
  initRoot,
  issuanceWorld,
  leafWish,
  rootOrigin,
} from "#test/support/issuance.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-create-"));
afterAll(() => rmSync(folder, { recursive: true }));

const algorithms: readonly KeyType[] = ["ecdsa-p256", "ecdsa-p384", "rsa-2048", "ed25519"];

for (const keyType of algorithms) {
  test(`openssl verifies root, intermediate and leaf with ${keyType} keys`, async () => {
    const world = issuanceWorld({ urlBase: "https://pki.example" });
    const root = await initRoot(world, { keyType });
    const intermediate = await world.authorities.issueIntermediate(
      rootOrigin,
      root,
      caWish({ label: "issuing", keyType, maxPathLength: 0 }),
    );
    const wish = leafWish({ csr: csr({ keyType }) });
    const issued = await world.issuance.issue(rootOrigin, intermediate, wish);
    const write = (name: string, der: Uint8Array) => {
      const path = join(folder, `${keyType}-${name}.pem`);
      writeFileSync(path, encodePem("CERTIFICATE", der));
      return path;
    };
    const rootPath = write("root", root.certificate ?? new Uint8Array());
    const chainPath = join(folder, `${keyType}-chain.pem`);
    writeFileSync(chainPath, pemBundle(issued.intermediates));
    const leafPath = write("leaf", issued.certificate);
    const at = String(Math.floor(world.clock.now() / 1000));
    const verify = ["verify", "-x509_strict", "-purpose", "sslserver", "-attime", at];
    const run = Bun.spawnSync([
      ...["openssl", ...verify, "-CAfile", rootPath, "-untrusted", chainPath, leafPath],
    ]);
    expect(run.stderr.toString()).toBe("");
    expect(run.stdout.toString()).toContain(": OK");
    expect(issued.intermediates).toHaveLength(1);
  });
}
