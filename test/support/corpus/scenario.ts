/**
 * Fills an instance with records of every kind that a user keeps, so that later builds must open
 * them. Validities are long: certificates and tokens of the scenario are valid in ten years too.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { AcmeWorld } from "#test/support/acme/world.ts";
import { falseTime } from "#test/support/instances/false-time.ts";
import { type Chain, command, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, writeConfig } from "#test/support/instances/instance.ts";
import { livedConfig, livedWithAcme } from "#test/support/instances/lived.ts";
import { OpensslCa } from "#test/support/instances/openssl-ca.ts";
import { logIn, register } from "#test/support/instances/person.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { shareSecondPerson } from "#test/support/instances/second-person.ts";
import { SoftAuthenticator } from "#test/support/instances/soft-authenticator.ts";
import { type CorpusRecords, listRecords } from "./records.ts";

/** Certificate of the scenario and the OCSP status that it has at the end. */
export interface CorpusLeaf {
  readonly serial: string;
  readonly certificate: string;
  /** `good`, or the reason of its revocation as openssl prints it. */
  readonly status: string;
}

/** Content of a filled instance that tests compare. */
export interface CorpusInventory {
  /** Id of the issuing CA `issuing-kept`. */
  readonly issuing: string;
  /** PEM certificates of the issuing CA and of its root. */
  readonly intermediate: string;
  readonly root: string;
  readonly leaves: readonly CorpusLeaf[];
  /** Serials that retention has moved to the archive table. */
  readonly archived: readonly string[];
  /** Request for a certificate that a later build issues. */
  readonly csr: string;
  /** Request with a blocked key. */
  readonly blockedCsr: string;
  /** Secret of an API token with the role `issuer`. */
  readonly token: string;
  readonly rootPassword: string;
  /** Id of an executed approval and of a pending approval. */
  readonly approvals: { readonly executed: string; readonly pending: string };
  /** Hashes of a link in both chains, in lowercase hex. */
  readonly hashes: { readonly event: string; readonly ledgerEntry: string };
  /** Records at the end of `createBaseRecords`. */
  readonly records: CorpusRecords;
}

/** Instance with the records of the inventory; its server runs. */
export interface BaseInstance {
  readonly instance: Instance;
  readonly inventory: CorpusInventory;
}

const rootPassword = livedConfig.root_user.password;

/** Issuing for the profile `payments` needs an approval, creating a token does not. */
const baseApprovals = { enabled: true, thresholds: { "cert.issue": 1 } };

const serverProfile = {
  name: "server",
  key_usages: ["digitalSignature", "keyEncipherment"],
  ext_key_usages: ["serverAuth"],
  default_validity_days: 9000,
  max_validity_days: 9000,
};

/** Settings of the instance, except listeners and database. */
export const corpusConfig = {
  ...livedConfig,
  profiles: [
    serverProfile,
    {
      ...serverProfile,
      name: "device",
      ext_key_usages: ["clientAuth"],
      default_validity_days: 8000,
    },
    { ...serverProfile, name: "payments", require_approval: true },
  ],
  publish: { include_ocsp: true },
  retention: { enabled: true, min_age_days: 30, schedule: { interval_hours: 8760 } },
  auth: {
    webauthn: {
      enabled: true,
      rp_id: "example.com",
      origins: ["https://pki.example.com"],
      step_up_operations: [],
    },
  },
};

/** Settings with which a second person can approve, too. */
const withSecondPerson = {
  ...corpusConfig,
  auth: { ...corpusConfig.auth, ...shareSecondPerson().auth },
};

/**
 * Creates the records of the inventory in `home`: few, so that archives and exports are small.
 *
 * @param database `database` section of the configuration; its schema is migrated
 */
export async function createBaseRecords(home: string, database: object): Promise<BaseInstance> {
  const { chain, archived } = await issueInThePast(home, { ...corpusConfig, ...database });
  const config = { ...withSecondPerson, ...database, approvals: baseApprovals };
  const instance = await Instance.start({ home, config });
  const leaves = await issueLeaves(instance, chain);
  await fillAccess(instance);
  const approvals = await parkTwoRequests(instance, chain);
  const blockedCsr = await blockKey(instance, chain);
  const { secret } = await createToken(instance, "corpus", ["issuer", "auditor"]);
  const inventory = {
    issuing: chain.intermediateId,
    intermediate: readFileSync(chain.intermediate, "utf8"),
    root: readFileSync(chain.root, "utf8"),
    leaves,
    archived,
    csr: await newCsr(chain.folder, "later.example.test"),
    blockedCsr,
    token: secret,
    rootPassword,
    approvals,
    hashes: {
      event: await findNewestHash(instance, "/api/events"),
      ledgerEntry: await findNewestHash(instance, "/api/hsm/audit-log"),
    },
    records: await listRecords(instance, chain.intermediateId, false),
  };
  return { instance, inventory };
}

/** Starts the server with presigned OCSP responses, and signs them; archives are without them. */
export async function presignResponses(home: string, database: object): Promise<Instance> {
  const config = { ...corpusConfig, ...database, presign: { enabled: true } };
  const instance = await Instance.start({ home, config });
  await instance.admin("POST", "/api/ocsp:presign");
  return instance;
}

/**
 * Adds everything that `live` and ACME clients do, an imported CA and a rotated KEK.
 *
 * @returns the world, whose server runs; the caller stops it
 */
export async function addFurtherRecords(home: string, database: object): Promise<AcmeWorld> {
  const config = { ...corpusConfig, ...database };
  const before = await Instance.start({ home, config });
  const chain = await createChain(before, "ecdsa-p256", "ecdsa-p256", 14_600);
  await before.stop();
  const shared = { ...withSecondPerson, ...database };
  const { world } = await livedWithAcme({ config: shared, existing: { home, chain } });
  // The corpus does not include the certificate of the second person's CA.
  writeConfig(home, { ...world.config, auth: corpusConfig.auth });
  await importForeignCa(world.instance);
  await command(world.instance, ["keys", "kek", "rotate"]);
  return world;
}

/** Creates a chain 100 days ago and archives two certificates that have expired since. */
async function issueInThePast(home: string, config: object) {
  const time = falseTime();
  time.set(-100 * 86_400);
  const before = await Instance.start({ home, config: { ...config }, env: time.env });
  const chain = await createChain(before, "ecdsa-p384", "kept", 14_600);
  const csr = await newCsr(chain.folder, "old.example.test");
  const archived: string[] = [];
  for (const validityDays of [1, 2]) {
    const request = { csr, validity_days: validityDays };
    const path = `/api/ca/${chain.intermediateId}/issue`;
    archived.push((await before.admin<{ serial: string }>("POST", path, request)).serial);
  }
  await revoke(before, chain, archived[1]);
  // Without an earlier run, the job runs at the next start too and archives one of them.
  await command(before, ["retention", "run"]);
  await before.stop();
  time.remove();
  const after = await Instance.start({ home, config: { ...config } });
  await after.admin("POST", "/api/monitor/clock:accept");
  for (let run = 0; run < 2; run++) {
    await command(after, ["crl", "publish", "--ca", "issuing-kept"]);
  }
  const report = await command(after, ["retention", "run"]);
  if (report.archived !== 2) throw new Error(`retention: ${JSON.stringify(report)}`);
  await after.stop();
  return { chain, archived };
}

/** Issues certificates of several profiles and key types, and changes the status of some. */
async function issueLeaves(instance: Instance, chain: Chain): Promise<readonly CorpusLeaf[]> {
  const leaves: CorpusLeaf[] = [];
  for (const { name, keyType, profile, status } of leafPlan) {
    const files = ["--key-out", join(chain.folder, `${name}.key`), "--key-type", keyType];
    const line = ["cert", "issue", "--ca", "issuing-kept", "--profile", profile];
    const issued = await command(instance, [...line, "--name", name, ...files]);
    const [serial, certificate] = [String(issued.serial), String(issued.certificate)];
    leaves.push({ serial, certificate, status });
    if (status === "certificateHold") {
      await command(instance, ["revoke", "suspend", "--ca", "issuing-kept", serial]);
    } else if (status !== "good") await revoke(instance, chain, serial, status);
  }
  const renewed = ["cert", "renew", "--ca", "issuing-kept", leaves[0]?.serial ?? ""];
  await command(instance, renewed);
  await command(instance, ["crl", "publish", "--ca", "issuing-kept"]);
  const [late] = leaves.splice(-1);
  if (late === undefined) throw new Error("no certificate is planned");
  // After the base CRL: this revocation is in the delta CRL only.
  await revoke(instance, chain, late.serial, "cessationOfOperation");
  return leaves.concat({ ...late, status: "cessationOfOperation" });
}

const leafPlan = [
  { name: "www.example.test", keyType: "ecdsa-p256", profile: "server", status: "good" },
  { name: "mail.example.test", keyType: "rsa-2048", profile: "server", status: "keyCompromise" },
  { name: "sensor.example.test", keyType: "ed25519", profile: "device", status: "superseded" },
  {
    name: "gate.example.test",
    keyType: "ecdsa-p384",
    profile: "device",
    status: "certificateHold",
  },
  { name: "pq.example.test", keyType: "ml-dsa-44", profile: "device", status: "good" },
  { name: "late.example.test", keyType: "ecdsa-p256", profile: "server", status: "good" },
] as const;

/** Creates tenants, quotas, grants, tokens and a passkey. */
async function fillAccess(instance: Instance): Promise<void> {
  await command(instance, ["tenant", "create", "--slug", "web", "--name", "Web platform"]);
  await command(instance, ["tenant", "quota", "web", "--certs-per-day", "5000"]);
  const root = ["ca", "init-root", "--label", "web-root", "--cn", "Web root", "--tenant", "web"];
  const algorithm = ["--algorithm", "pqc", "--key-type", "ml-dsa-44"];
  await command(instance, [...root, ...algorithm, "--validity-days", "9000"]);
  await instance.token(["issuer"], { tenant_id: "web" });
  const grant = ["grant", "add", "--resource", "issuing-kept", "--role", "ca-issuer"];
  await command(instance, [...grant, "--user", "alice@example.com"]);
  await command(instance, [...grant, "--group", "operators", "--scope", "subtree"]);
  const { id } = await createToken(instance, "revoked", ["auditor"]);
  await command(instance, ["token", "revoke", id]);
  const key = new SoftAuthenticator({ origin: "https://pki.example.com", rpId: "example.com" });
  const registered = await register(instance, await logIn(instance, rootPassword), key);
  if (registered.body.id === undefined) throw new Error(JSON.stringify(registered));
}

/** Requests two certificates that need approval; a second person approves the first one. */
async function parkTwoRequests(instance: Instance, { folder, intermediateId }: Chain) {
  const ids: string[] = [];
  for (const name of ["pay-1.example.test", "pay-2.example.test"]) {
    const request = { csr: await newCsr(folder, name), profile: "payments" };
    const path = `/api/ca/${intermediateId}/issue`;
    const parked = await instance.admin<{ approval_id: string }>("POST", path, request);
    ids.push(parked.approval_id);
  }
  const [executed = "", pending = ""] = ids;
  const approved = await shareSecondPerson().approve(instance, executed);
  if (approved.status !== "executed") throw new Error(JSON.stringify(approved));
  return { executed, pending };
}

const createToken = (instance: Instance, name: string, roles: readonly string[]) =>
  instance.admin<{ id: string; secret: string }>("POST", "/api/tokens", {
    name,
    roles,
    scope: "platform",
    expires_at: "2066-01-01T00:00:00Z",
  });

/** Blocks the key of a new request and returns the request. */
async function blockKey(instance: Instance, chain: Chain): Promise<string> {
  const csr = await newCsr(chain.folder, "blocked.example.test");
  const file = ["--csr", join(chain.folder, "blocked.example.test.csr")];
  await command(instance, ["keys", "block", "add", ...file, "--reason", "copied in 2026"]);
  return csr;
}

async function importForeignCa(instance: Instance): Promise<void> {
  const foreign = await OpensslCa.make();
  await foreign.issue("before.example.test");
  await foreign.revoke(await foreign.issue("lost.example.test"));
  await foreign.sign();
  await command(instance, ["import", "openssl", foreign.directory, "--label", "imported"]);
}

/** Returns the hash of the newest link; links that follow repeat it. */
async function findNewestHash(instance: Instance, path: string): Promise<string> {
  const { items } = await instance.admin<{ items: readonly { readonly hash: string }[] }>(
    "GET",
    `${path}?limit=1`,
  );
  const [newest] = items;
  if (newest === undefined) throw new Error(`${path} has links`);
  return newest.hash;
}

const revoke = (instance: Instance, chain: Chain, serial = "", reason = "superseded") =>
  instance.admin("POST", `/api/ca/${chain.intermediateId}/revoke`, { serial, reason });
