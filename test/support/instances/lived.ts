/**
 * An instance that has done a little of everything: chains of one and of two algorithms,
 * partitions, holds, bulk, renewals, cross certificates, rollover, approvals, ACME, and a restart.
 */

import { Database } from "bun:sqlite";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { once } from "#core/once.ts";
import { newKey } from "#test/support/acme/keys.ts";
import { leftBehind } from "#test/support/acme/left.ts";
import { AcmeWorld, type AcmeWorldOptions } from "#test/support/acme/world.ts";

import { type Chain, command, createChain } from "./first-certificate.ts";
import type { Instance } from "./instance.ts";
import { newCsr, saved } from "./relying-party.ts";
import { shareSecondPerson } from "./second-person.ts";

/** Configuration under which all of it can be done. */
export const livedConfig = {
  server: { public_http: { enabled: true, address: "127.0.0.1:0" } },
  crl: { shards: 2, base_url: "http://crl.example.test" },
  root_user: { password: "correct horse battery" },
  auth: shareSecondPerson().auth,
  approvals: { enabled: true, thresholds: { "token.create": 1 } },
};

/** What was done, as far as others go on with it. */
export interface Lived {
  readonly chain: Chain;
  /** Serials of the issuing CA, by what became of them. */
  readonly serials: Readonly<Record<"good" | "revoked" | "held" | "released", string>>;
}

/** Does all of it; the issuing CA of a chain that is there is `issuing-ecdsa-p256`. */
export async function live(instance: Instance, known?: Chain): Promise<Lived> {
  const chain = known ?? (await createChain(instance, "ecdsa-p256"));
  const ca = chain.intermediateId;
  const certificates = `/api/ca/${ca}/certificates`;
  const csr = await newCsr(chain.folder, "lived.example.test");
  const issued = async () =>
    (await instance.admin<{ serial: string }>("POST", `/api/ca/${ca}/issue`, { csr })).serial;
  const [good, revoked, held, released, later, upgraded] = await Promise.all(
    Array.from({ length: 6 }, issued),
  );
  const revoke = (serial = "", reason = "superseded") =>
    instance.admin("POST", `/api/ca/${ca}/revoke`, { serial, reason });
  const hold = (serial = "", action = "suspend") =>
    instance.admin("POST", `${certificates}/${serial}:${action}`, {});
  await revoke(revoked);
  for (const serial of [held, released, upgraded]) await hold(serial);
  await command(instance, ["crl", "publish", "--ca", "issuing-ecdsa-p256"]);
  await hold(released, "release");
  await revoke(upgraded, "affiliationChanged");
  await revoke("123456789012345678901234567890");
  await command(instance, ["crl", "publish", "--ca", "issuing-ecdsa-p256"]);
  await revoke(later);
  await instance.admin("POST", `/api/ca/${ca}/renew`, { serial: good });
  await bulk(instance, chain);
  await hybrid(instance, chain);
  await parked(instance);
  await command(instance, ["ocsp", "check", "--ca", "issuing-ecdsa-p256", good ?? ""]);
  await instance.cli("preflight", "--only", "keys.ca");
  await command(instance, ["ca", "csr", "--label", "outside", "--cn", "Outside"]);
  await command(instance, ["ca", "rotate", "issuing-ecdsa-p256"]);
  const serials = { good, revoked, held, released } as Lived["serials"]; // Six were issued.
  return { chain, serials };
}

/** Runs the scenario on an instance that has served ACME before; the caller stops its world. */
export async function livedWithAcme(options: AcmeWorldOptions = { config: livedConfig }): Promise<{
  readonly world: AcmeWorld;
  readonly lived: Lived;
}> {
  const world = await AcmeWorld.start(options);
  await liveAcme(world);
  return { world, lived: await live(world.instance, world.chain) };
}

/**
 * Returns the database of such an instance after its end. The test files of a process share it:
 * they copy the file and do not change it.
 */
export const shareLivedDatabase = once(async () => {
  const { world, lived } = await livedWithAcme();
  await world.instance.stop();
  const path = join(mkdtempSync(join(tmpdir(), "pkid-lived-")), "honest.db");
  const source = new Database(join(world.instance.dataDir, "pkid.db"));
  source.run("vacuum into ?", [path]);
  source.close();
  await world.stop();
  return { path, serials: lived.serials };
});

/** Accounts, credentials, orders and plans in every state they can be left in. */
async function liveAcme(world: AcmeWorld): Promise<void> {
  const { client, had, name, pending } = await leftBehind(world);
  const acme = (...argv: string[]) => command(world.instance, ["acme", ...argv]);
  const given = await acme("eab", "create", "--name", "gone", "--any-identifier");
  await acme("eab", "revoke", String(given.id));
  await client.obtain([name], world.show, { more: { replaces: had.leaf.certId } });
  await client.changeKey(newKey());
  const [authorization = ""] = pending.authorizations;
  await client.post(authorization, { status: "deactivated" });
  const gone = await world.client();
  await gone.obtain([world.name("gone")], world.show);
  await gone.order([world.name("never")]);
  await gone.deactivate();
  const path = `/api/ca/${world.chain.intermediateId}/acme-replacements`;
  const asked = { all: true, per_second: 10, within_seconds: 3600 };
  const planned = () => world.instance.admin<{ id: string }>("POST", path, asked);
  await acme("replacement", "cancel", (await planned()).id);
  await planned();
}

async function bulk(instance: Instance, { folder, intermediateId }: Chain): Promise<void> {
  for (const name of ["one", "two", "three"]) {
    const csr = await newCsr(folder, `${name}.bulk.example.test`);
    await instance.admin("POST", `/api/ca/${intermediateId}/issue`, { csr });
  }
  const selected = ["--pattern", "*.bulk.example.test", "--reason", "superseded"];
  const label = ["--ca", "issuing-ecdsa-p256"];
  await command(instance, ["revoke", "bulk", ...label, ...selected, "--confirm", "3"]);
}

/** A hybrid chain, a certificate of it, and a cross certificate for its root. */
async function hybrid(instance: Instance, { folder }: Chain): Promise<void> {
  const own = join(folder, "hybrid");
  mkdirSync(own);
  const algorithm = ["--algorithm", "hybrid", "--key-type", "ecdsa-p256"];
  const root = ["ca", "init-root", "--label", "hybrid-root", "--cn", "Hybrid root"];
  await command(instance, [...root, ...algorithm]);
  const issuing = ["ca", "issue-intermediate", "--parent", "hybrid-root", "--label", "hybrid"];
  await command(instance, [...issuing, "--cn", "Hybrid", ...algorithm]);
  const csr = saved(own, "hybrid.csr", await newCsr(own, "hybrid.example.test"));
  const { serial } = await command(instance, ["cert", "issue", "--ca", "hybrid", "--csr", csr]);
  await command(instance, ["revoke", "cert", "--ca", "hybrid", String(serial)]);
  await command(instance, ["crl", "publish", "--ca", "hybrid"]);
  const cross = ["ca", "cross-sign", "--issuer", "root-ecdsa-p256"];
  await command(instance, [...cross, "--subject-ca", "hybrid-root"]);
}

/** A token that one asks for and another one approves, who keeps its secret. */
async function parked(instance: Instance): Promise<void> {
  const { approval_id } = await instance.admin<{ approval_id: string }>("POST", "/api/tokens", {
    name: "lived",
    roles: ["auditor"],
    scope: "platform",
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  await shareSecondPerson().approve(instance, approval_id);
}
