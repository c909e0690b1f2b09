/**
 * What `publish verify` says of a snapshot: nothing against pkid's own, also after a rollover and a
 * retirement.
 */

import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { directoryTarget } from "#adapters/publish/directory.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { faultOf } from "#core/publishing/judge.ts";
import { parseManifest } from "#core/publishing/manifest.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { Publishing } from "#domain/publishing/publish.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { certificateOf, rolloverWorld, sameAgain } from "#test/support/worlds/rollover.ts";

test("after `ca retire` every artefact of the snapshot is as it must be", async () => {
  const world = await rolloverWorld();
  const path = mkdtempSync(join(tmpdir(), "pkid-judge-"));
  const target = directoryTarget({ path, keep_snapshots: 2 });
  const settings = { publish: { cas: [], include_ocsp: true }, changedMax: 9 };
  const publishing = new Publishing({ ...world, ...settings, target, directory: () => target });
  const { old } = await world.authorities.rotate(rootOrigin, world.issuing, sameAgain);
  const faults = async () => {
    world.clock.advance(1);
    await publishing.run(rootOrigin);
    const read = (name: string) => readFileSync(join(path, "current", name));
    const { artefacts } = parseManifest(read("manifest.json").toString());
    const now = world.clock.now();
    const found = artefacts.map((one) => {
      const issuer = parseCertificate(read(`${one.path.split("/")[0]}/ca.der`));
      return faultOf(one, read(one.path), issuer, now);
    });
    return { artefacts, found: found.filter(Boolean) };
  };
  expect((await faults()).found).toEqual([]);
  await world.retirement.retire(rootOrigin, old, { force: true, reason: "superseded" });
  const { artefacts, found } = await faults();
  expect(found).toEqual([]);
  const chain = artefacts.find((one) => one.path === `${old.id}/chain.pem`);
  expect(chain).toBeDefined();

  // A chain of somebody else's is none of it, whatever the manifest says.
  const stranger = Buffer.from(encodePem("CERTIFICATE", certificateOf(world.root)));
  const forged = { size: stranger.length, sha256: sha256Hex(stranger) };
  const issuer = parseCertificate(certificateOf(old));
  if (chain === undefined) throw new Error("no chain");
  expect(faultOf({ ...chain, ...forged }, stranger, issuer, world.clock.now())).toContain(
    "in its chain",
  );
});
