/**
 * What ACME has under way when an instance ends, and that it goes on in the instance that comes
 * after it.
 */

import { expect } from "bun:test";

import { command } from "#test/support/instances/first-certificate.ts";
import { bindingOf } from "#test/support/worlds/binding.ts";

import type { AcmeClient, AuthorizationObject, Downloaded, Order } from "./client.ts";
import { newCsr } from "./csr.ts";
import { newKey } from "./keys.ts";
import type { AcmeWorld } from "./world.ts";

/** What was there before. */
export interface Left {
  readonly client: AcmeClient;
  /** A credential that one account was bound with, and one more may be. */
  readonly credential: { readonly id: string; readonly hmac_key: string };
  /** What the client has, and what is to be replaced by a plan that is running. */
  readonly had: Downloaded;
  readonly name: string;
  readonly plan: string;
  /** Proved, and not finalized. */
  readonly ready: Order;
  /** One that nobody has proved, and one whose proof is looked for. */
  readonly pending: Order;
  readonly processing: Order;
  /** Nonces that a request was made with, and that nobody has used. */
  readonly nonces: { readonly used: string; readonly unused: string };
}

/** Has all of it. */
export async function leftBehind(world: AcmeWorld): Promise<Left> {
  const acme = (...argv: string[]) => command(world.instance, ["acme", ...argv]);
  const made = await acme("eab", "create", "--name", "web", "--max-uses", "2", "--any-identifier");
  const credential = { id: String(made.id), hmac_key: String(made.hmac_key) };
  const client = await bound(world, credential, 201);
  const name = world.name();
  const had = await client.obtain([name], world.show);
  const ready = await client.order([world.name("ready")]);
  await client.prove(ready, "http-01", world.show);
  const pending = await client.order([world.name("pending")]);
  const processing = await client.order([world.name("processing")]);
  await beginProof(world, client, processing);
  const path = `/api/ca/${world.chain.intermediateId}/acme-replacements`;
  const asked = { all: true, per_second: 10, within_seconds: 3600 };
  const { id: plan } = await world.instance.admin<{ id: string }>("POST", path, asked);
  const nonces = { used: await client.nonce(), unused: await client.nonce() };
  return { client, credential, had, name, plan, ready, pending, processing, nonces };
}

/** After an archive: what it does not know. */
export async function useNonce({ client, nonces, had }: Left): Promise<void> {
  const answer = await client.post(client.kid ?? "", {}, { nonce: nonces.used });
  expect([had.chain.length > 0, answer.status]).toEqual([true, 200]);
}

/** An account that was bound with the credential, or that was refused. */
async function bound(world: AcmeWorld, { id, hmac_key }: Left["credential"], status: number) {
  const key = newKey();
  const client = await world.stranger(key);
  const url = client.directory.newAccount;
  const externalAccountBinding = bindingOf(id, hmac_key, { jwk: key.jwk, url });
  const answer = await client.register({ externalAccountBinding });
  expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
  return client;
}

/** Says that the proof is there, which it is not. */
async function beginProof(world: AcmeWorld, client: AcmeClient, order: Order): Promise<void> {
  const url = order.authorizations[0] ?? "";
  const { challenges, identifier } = await client.read<AuthorizationObject>(url);
  const challenge = challenges.find(({ type }) => type === "http-01");
  if (challenge === undefined) throw new Error("there is no http-01");
  world.deceive(client.proof(challenge, identifier));
  await client.read(challenge.url, {});
}

/** What every successor of an instance does; `isVoid`: of challenges and nonces nothing is left. */
export async function goesOn(world: AcmeWorld, left: Left, isVoid: boolean): Promise<void> {
  const { client, had, name, plan, ready } = left;
  await noncesAre(left, isVoid);
  const known = await client.register({ onlyReturnExisting: true });
  expect([known.status, JSON.parse(known.text).status]).toEqual([200, "valid"]);
  await bound(world, left.credential, 201);
  await bound(world, left.credential, 403);

  const { der } = await newCsr({ names: ready.identifiers.map(({ value }) => value) });
  expect(await client.finalize(ready, der)).toMatchObject({ status: "valid" });
  if (isVoid) await voided(left);
  else await client.prove(left.pending, "http-01", world.show);

  const progress = () => world.instance.admin<object>("GET", `/api/acme/replacements/${plan}`);
  expect(await progress()).toMatchObject({ status: "running", total: 1, replaced: 0 });
  const renewal = JSON.parse((await client.renewalInfo(had.leaf)).text);
  expect(Date.parse(renewal.suggestedWindow.end)).toBeLessThan(Date.now() + 3_600_000);
  const { order } = await client.obtain([name], world.show, {
    more: { replaces: had.leaf.certId },
  });
  expect(order.status).toBe("valid");
  expect(await progress()).toMatchObject({ total: 1, replaced: 1 });

  const proven = await world.instance.cli("verify");
  expect([proven.code, proven.stdout]).toEqual([0, expect.stringContaining("Every proof holds.")]);
  expect((await world.instance.cli("db", "check", "--deep")).code).toBe(0);
}

/** Every order that waited says so, and a new one for the same name is served. */
async function voided({ client, pending, processing }: Left): Promise<void> {
  for (const order of [pending, processing]) {
    const { status, error } = await client.refreshed(order);
    const type = "urn:ietf:params:acme:error:serverInternal";
    expect([status, error]).toEqual(["invalid", expect.objectContaining({ type })]);
    const authorization = await client.read<AuthorizationObject>(order.authorizations[0] ?? "");
    const states = authorization.challenges.map((one) => one.status);
    expect([authorization.status, ...new Set(states)]).toEqual(["invalid", "invalid"]);
  }
}

async function noncesAre({ client, nonces }: Left, isVoid: boolean): Promise<void> {
  const ask = async (nonce: string) => (await client.post(client.kid ?? "", {}, { nonce })).status;
  expect([await ask(nonces.used), await ask(nonces.unused)]).toEqual([400, isVoid ? 400 : 200]);
  expect(await ask(nonces.unused)).toBe(400);
}
