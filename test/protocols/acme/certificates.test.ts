/** Chains as accounts download them: the usual one, and those through cross certificates. */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { type AcmeClient, refusalOf } from "#test/support/acme/client.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { x509 } from "#test/support/encodings/peculiar.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";

let world: AcmeWorld;
let client: AcmeClient;
let otherRoot: string;
beforeAll(async () => {
  world = await AcmeWorld.start();
  const request = { label: "other-root", subject: { cn: "Other Root" }, key_type: "ecdsa-p256" };
  const made = await world.instance.admin<{ id: string; certificate: string }>(
    "POST",
    "/api/ca/init-root",
    request,
  );
  otherRoot = saved(world.chain.folder, "other-root.pem", made.certificate);
  const body = { subject_ca_id: world.chain.intermediateId };
  await world.instance.admin("POST", `/api/ca/${made.id}/cross-signs`, body);
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

test("RFC 8555 §7.4.2: every chain has links to the others, and ends below a root", async () => {
  const { order, chain, alternates } = await client.obtain([world.name()], world.show);
  expect(alternates).toEqual([`${order.certificate}/1`]);
  const other = await client.download(alternates[0] ?? "");
  expect(other.chain[0]).toBe(chain[0] ?? "");
  expect(other.chain[1]).not.toBe(chain[1] ?? "");
  for (const [pems, root] of [
    [chain, world.chain.root],
    [other.chain, otherRoot],
  ] as const) {
    const leaf = saved(world.chain.folder, "leaf.pem", pems[0] ?? "");
    const between = saved(world.chain.folder, "between.pem", pems.slice(1).join("\n"));
    const { text } = await openssl(["verify", "-CAfile", root, "-untrusted", between, leaf]);
    expect(text).toContain("OK");
    for (const pem of pems) {
      const { subject, issuer } = new x509.X509Certificate(pem);
      expect(subject).not.toBe(issuer);
    }
  }
});

test("there are no other chains, and none for another account", async () => {
  const { order } = await client.obtain([world.name()], world.show);
  for (const n of ["0", "2", "01", "-1", "x", "99999"]) {
    const answer = await client.post(`${order.certificate}/${n}`, undefined);
    expect(refusalOf(answer)).toBe("404 malformed");
  }
  const stranger = await world.client();
  const answer = await stranger.post(`${order.certificate}/1`, undefined);
  expect(refusalOf(answer)).toBe("403 unauthorized");
});
