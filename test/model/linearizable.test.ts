/**
 * Many clients at once on the same serials: the history each of them saw fits one order, on one
 * server and on two replicas.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { parseSerial } from "#core/ids.ts";
import { timestamp } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { linearization, type Recorded } from "#test/support/stores/linearizable.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import { type SerialCall, serialObject } from "#test/support/stores/serial-model.ts";

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharePostgres();
}, 60_000);

describe.each(["sqlite", "postgres"] as const)("on %s", (driver) => {
  let replicas: readonly Instance[] = [];
  let world: World;
  beforeAll(async () => {
    replicas = driver === "sqlite" ? [await Instance.start()] : await onePostgres();
    world = await worldOf(replicas);
  }, 90_000);
  afterAll(async () => {
    for (const instance of replicas.toReversed()) await instance.dispose();
  });

  test("Hold, release and revoke are linearizable per serial", async () => {
    const serials = await issue(world, 8);
    const histories = new Map(serials.map((serial) => [serial, [] as Recorded<SerialCall>[]]));
    const clients = Array.from({ length: 12 }, async () => {
      for (let turn = 0; turn < 14; turn++) {
        const serial = serials[Math.floor(Math.random() * serials.length)] ?? "";
        const begun = performance.now();
        const call = await anyCall(world, serial);
        histories.get(serial)?.push({ begun, ended: performance.now(), call });
      }
    });
    const bulk = Bun.sleep(150).then(async () => {
      const begun = performance.now();
      await bulkRevoke(world, serials.slice(0, 3));
      const ended = performance.now();
      const call: SerialCall = { ask: "bulk", reason: "privilegeWithdrawn" };
      for (const serial of serials.slice(0, 3)) histories.get(serial)?.push({ begun, ended, call });
    });
    await Promise.all([...clients, bulk]);
    for (const [serial, history] of histories) {
      const order = linearization(history, serialObject);
      if (order === undefined) throw new Error(`${serial}: ${JSON.stringify(history, null, 1)}`);
      expect(order.length).toBe(history.length);
    }
  }, 60_000);
});

interface World {
  readonly replicas: readonly Instance[];
  readonly ca: string;
  readonly issuer: { readonly issuerName: Uint8Array; readonly issuerSpki: Uint8Array };
  readonly token: string;
}

/** Two servers over one database; software keys lie in the data directory of the first. */
async function onePostgres(): Promise<readonly Instance[]> {
  const home = newHome();
  const database = { driver: "postgres", dsn: await server.createMigratedDatabase() };
  writeConfig(home, { database });
  expect((await runCli(home, ["migrate"])).code).toBe(0);
  const one = await Instance.start({ home, config: { database } });
  const software = {
    keystore_dir: join(one.dataDir, "keys"),
    master_key_file: join(one.dataDir, "master.key"),
  };
  return [one, await Instance.start({ config: { database, key_provider: { software } } })];
}

async function worldOf(replicas: readonly Instance[]): Promise<World> {
  const [first] = replicas;
  if (first === undefined) throw new Error("there is no instance");
  const { intermediateId: ca } = await createChain(first, "ecdsa-p256");
  const { certificate } = await first.admin<{ certificate: string }>("GET", `/api/ca/${ca}`);
  const { subject, spki } = parseCertificate(decodePem(certificate, ["CERTIFICATE"]) ?? nothing);
  const issuer = { issuerName: subject.der, issuerSpki: spki };
  return { replicas, ca, issuer, token: await first.token(["admin"]) };
}

async function issue({ replicas, ca }: World, count: number): Promise<readonly string[]> {
  const items = Array.from({ length: count }, () => ({ csr: csr() }));
  type Issued = { readonly items: readonly { readonly serial: string }[] };
  const body = { items, confirm_count: count };
  const issued = await replicas[0]?.admin<Issued>("POST", `/api/ca/${ca}/certificates:bulk`, body);
  return issued?.items.map(({ serial }) => serial) ?? [];
}

/** Holds and releases are likelier than revocations, which end the story of a serial. */
async function anyCall(world: World, serial: string): Promise<SerialCall> {
  const dice = Math.random();
  if (dice < 0.3) return await suspend(world, serial);
  if (dice < 0.55) return await release(world, serial);
  if (dice < 0.62) return await revoke(world, serial);
  return await read(world, serial);
}

async function revoke(world: World, serial: string): Promise<SerialCall> {
  const reason = Math.random() < 0.5 ? "superseded" : "cessationOfOperation";
  const answer = await post(world, "revoke", { serial, reason });
  return { ...toldBy(answer), ask: "revoke", reason };
}

async function suspend(world: World, serial: string): Promise<SerialCall> {
  const answer = await post(world, `certificates/${serial}:suspend`);
  return { ...toldBy(answer), ask: "suspend", reason: "certificateHold" };
}

async function release(world: World, serial: string): Promise<SerialCall> {
  const { code, status } = await post(world, `certificates/${serial}:release`);
  return { ask: "release", told: code ?? status ?? "", found: code === undefined ? "" : status };
}

async function bulkRevoke(world: World, serials: readonly string[]): Promise<void> {
  const body = { filter: { serials }, reason: "privilegeWithdrawn", force: true, batch_size: 1 };
  expect((await post(world, "revocations:bulk", body)).code).toBeUndefined();
}

/** Over OCSP, where answers may come from a cache. */
async function read({ replicas, ca, issuer }: World, serial: string): Promise<SerialCall> {
  const question = encodeOcspRequest({ ...issuer, serial: parseSerial(serial), hash: "sha256" });
  const path = `/api/ca/${ca}/ocsp/${Buffer.from(question).toString("base64url")}`;
  const response = await oneOf(replicas).fetch(path);
  const { basic } = parseOcspResponse(await response.bytes());
  const status = basic?.answers[0]?.status;
  if (status === undefined || status.status === "unknown") throw new Error("OCSP knows it not");
  if (status.status === "good") return { ask: "read", told: "good" };
  const told = status.reason === "certificateHold" ? "held" : "revoked";
  return { ask: "read", told, at: timestamp(status.at) };
}

interface Answer {
  readonly code?: string;
  readonly status?: string;
  readonly revoked_at?: string;
  readonly reason?: string;
}

const toldBy = ({ code, status, revoked_at, reason }: Answer) => ({
  told: code ?? status ?? "",
  at: revoked_at,
  because: reason,
});

async function post({ replicas, ca, token }: World, path: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Token ${token}`, "content-type": "application/json" };
  const response = await oneOf(replicas).fetch(`/api/ca/${ca}/${path}`, {
    method: "POST",
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Answer; // JSON by contract.
}

function oneOf(replicas: readonly Instance[]): Instance {
  const chosen = replicas[Math.floor(Math.random() * replicas.length)];
  if (chosen === undefined) throw new Error("there is no instance");
  return chosen;
}

const nothing = new Uint8Array(0);
