/**
 * SIGKILL under load, again and again, and the comparison of what clients were told with what is
 * stored.
 */

import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, type InstanceOptions } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

import { BulkClient } from "./chaos-bulk.ts";
import { type Acknowledged, storedChecks } from "./chaos-checks.ts";
import { ChaosLogs } from "./chaos-logs.ts";

export interface ChaosPlan {
  readonly kills: number;
  readonly clients: number;
  /** Longest time under load before a kill. */
  readonly loadMsMax: number;
  /** The round, from 1, in which the issuing CA is rolled over under load, before the kill. */
  readonly rotateAt?: number;
  /**
   * Every certificate is shown to two transparency logs, and bulk issues of so many items run
   * beside the clients.
   */
  readonly bulkItems?: number;
  readonly options?: InstanceOptions;
  readonly progress?: (line: string) => void;
}

/** What clients were told, and every way in which the store disagrees. */
export interface ChaosReport {
  readonly issued: number;
  readonly revoked: number;
  readonly orphans: number;
  /** Bulk issues that ended, and how many of them only after a kill. */
  readonly bulks: number;
  readonly resumed: number;
  /** Precertificates that transparency logs were shown. */
  readonly logged: number;
  /** Empty when every guarantee was kept. */
  readonly broken: readonly string[];
}

/** Runs the plan on one instance and gives the report; the instance and its files are removed. */
export async function chaos(plan: ChaosPlan): Promise<ChaosReport> {
  const told: Acknowledged = { certificates: new Map(), revoked: new Map() };
  const logs = plan.bulkItems === undefined ? undefined : new ChaosLogs();
  const options = { ...plan.options, config: { ...plan.options?.config, ...logs?.config } };
  let instance = await Instance.start(options);
  const { home } = instance;
  const chain = await createChain(instance, "ecdsa-p256");
  const csr = await newCsr(home, "chaos.example.test");
  const secret = await instance.token(["issuer"]);
  const body = { csr, ...(logs === undefined ? {} : { profile: "logged" }) };
  const bulk = new BulkClient(chain.intermediateId, secret, plan.bulkItems ?? 0, told);
  for (let kill = 1; kill <= plan.kills; kill++) {
    const stopped = { now: false };
    const client = new Client(instance, chain.intermediateId, secret, body, told);
    const clients = Array.from({ length: plan.clients }, () => client.run(stopped));
    if (logs !== undefined) clients.push(bulk.run(instance, stopped));
    await Bun.sleep(50 + Math.random() * plan.loadMsMax);
    if (kill === plan.rotateAt) await rotated(instance, chain.intermediateId, client);
    // A busy machine may need longer until there is anything to lose.
    await eventually(() => client.issued >= plan.clients && client.revoked > 0);
    await instance.kill();
    stopped.now = true;
    await Promise.all(clients);
    instance = await Instance.start({ ...options, home });
    const { size } = told.certificates;
    plan.progress?.(`kill ${kill}: ${size} issued, ${told.revoked.size} revoked so far`);
  }
  await bulk.finish(instance);
  const broken = await onlineChecks(instance, told);
  const verify = await instance.cli("audit", "verify");
  if (verify.code !== 0) broken.push(`pkid audit verify: ${verify.stdout}${verify.stderr}`);
  await instance.stop();
  await logs?.stop();
  const logged = logs?.serials ?? [];
  const { orphans, findings } = storedChecks(join(home, "data", "pkid.db"), told, logged);
  broken.push(...findings);
  const cas = new Set([...told.certificates.values()].flatMap(({ ca }) => ca ?? []));
  if (plan.rotateAt !== undefined && cas.size !== 2) broken.push(`${cas.size} CAs issued`);
  await instance.dispose();
  const counts = { issued: told.certificates.size, revoked: told.revoked.size, orphans };
  const { ended: bulks, resumed } = bulk;
  return { ...counts, bulks, resumed, logged: logged.length, broken };
}

/** Rolls the CA over while clients issue, and lets them go on with its successor for a while. */
async function rotated(instance: Instance, ca: string, client: Client): Promise<void> {
  await eventually(() => client.issued > 0);
  await instance.admin("POST", `/api/ca/${ca}/rotate`, {});
  const before = client.issued;
  // Every client may have had one request under way.
  await eventually(() => client.issued > before + client.loops);
}

/** Waits until something has happened; the caller's own limit ends a wait for what never does. */
async function eventually(happened: () => boolean): Promise<void> {
  while (!happened()) await Bun.sleep(10);
}

/** One subscriber's loop: issues, and revokes every fourth of what it got. */
class Client {
  /** Acknowledged to all loops of this client. */
  issued = 0;
  revoked = 0;
  loops = 0;

  constructor(
    private readonly instance: Instance,
    private readonly ca: string,
    private readonly secret: string,
    private readonly body: object,
    private readonly told: Acknowledged,
  ) {}

  async run(stopped: { now: boolean }): Promise<void> {
    this.loops += 1;
    for (let n = 0; !stopped.now; n++) {
      try {
        const issued = await this.post(this.ca, "issue", this.body);
        const serial = String(issued.serial);
        // The one asked, or its successor.
        const ca = String(issued.ca_id);
        this.told.certificates.set(serial, { pem: String(issued.certificate), ca });
        this.issued += 1;
        if (n % 4 === 3) {
          const answer = await this.post(ca, "revoke", { serial, reason: "superseded" });
          this.told.revoked.set(serial, String(answer.revoked_at));
          this.revoked += 1;
        }
      } catch {
        // The server was killed under the request: nothing was said to be done.
        await Bun.sleep(5);
      }
    }
  }

  private async post(ca: string, verb: string, body: object): Promise<Record<string, unknown>> {
    const response = await this.instance.fetch(`/api/ca/${ca}/${verb}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { authorization: `Token ${this.secret}`, "content-type": "application/json" },
    });
    // A cut-off answer fails to parse, so that only complete answers count as done.
    const answer = (await response.json()) as Record<string, unknown>; // JSON by contract.
    if (!response.ok) throw new Error(`${response.status}`);
    return answer;
  }
}

async function onlineChecks(instance: Instance, told: Acknowledged): Promise<string[]> {
  const broken: string[] = [];
  let sampled = 0;
  for (const [serial, { pem, ca }] of told.certificates) {
    if (ca === undefined || sampled++ % 50 !== 0) continue;
    const record = await instance.admin<{ certificate: string; status: string }>(
      "GET",
      `/api/ca/${ca}/certificates/${serial}`,
    );
    if (record.certificate !== pem) broken.push(`inventory shows another ${serial}`);
    const expected = told.revoked.has(serial) ? ["revoked"] : ["good", "revoked"];
    if (!expected.includes(record.status)) broken.push(`${serial} is ${record.status}`);
  }
  return broken;
}
