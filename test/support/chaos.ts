/** SIGKILL under load, again and again, and the comparison of what clients were told with what is stored. */

import { Database } from "bun:sqlite";
import { join } from "node:path";

import { createChain } from "./first-certificate.ts";
import { Instance, type InstanceOptions } from "./instance.ts";
import { newCsr } from "./relying-party.ts";

export interface ChaosPlan {
  readonly kills: number;
  readonly clients: number;
  /** Longest time under load before a kill. */
  readonly loadMsMax: number;
  /** The round, from 1, in which the issuing CA is rolled over under load, before the kill. */
  readonly rotateAt?: number;
  readonly options?: InstanceOptions;
  readonly progress?: (line: string) => void;
}

/** What clients were told, and every way in which the store disagrees. */
export interface ChaosReport {
  readonly issued: number;
  readonly revoked: number;
  readonly orphans: number;
  /** Empty when every promise was kept. */
  readonly broken: readonly string[];
}

/** Facts acknowledged to clients: serial → certificate (PEM) and its CA, and serials acknowledged as revoked. */
interface Acknowledged {
  readonly certificates: Map<string, { readonly pem: string; readonly ca: string }>;
  readonly revoked: Map<string, string>;
}

/** Runs the plan on one instance and gives the report; the instance and its files are removed. */
export async function chaos(plan: ChaosPlan): Promise<ChaosReport> {
  const told: Acknowledged = { certificates: new Map(), revoked: new Map() };
  let instance = await Instance.start(plan.options);
  const { home } = instance;
  const chain = await createChain(instance, "ecdsa-p256");
  const csr = await newCsr(home, "chaos.example.test");
  const { secret } = await instance.admin<{ secret: string }>("POST", "/api/tokens", {
    ...{ name: "chaos", roles: ["issuer"] },
  });
  for (let kill = 1; kill <= plan.kills; kill++) {
    const stopped = { now: false };
    const client = new Client(instance, chain.intermediateId, secret, csr, told);
    const clients = Array.from({ length: plan.clients }, () => client.run(stopped));
    await Bun.sleep(50 + Math.random() * plan.loadMsMax);
    if (kill === plan.rotateAt) await rotated(instance, chain.intermediateId, client);
    // A busy machine may need longer until there is anything to lose.
    await eventually(() => client.issued >= plan.clients && client.revoked > 0);
    await instance.kill();
    stopped.now = true;
    await Promise.all(clients);
    instance = await Instance.start({ ...plan.options, home });
    const { size } = told.certificates;
    plan.progress?.(`kill ${kill}: ${size} issued, ${told.revoked.size} revoked so far`);
  }
  const broken = await onlineChecks(instance, told);
  const verify = await instance.cli("audit", "verify");
  if (verify.code !== 0) broken.push(`pkid audit verify: ${verify.stdout}${verify.stderr}`);
  await instance.stop();
  const { orphans, findings } = storedChecks(join(home, "data", "pkid.db"), told);
  broken.push(...findings);
  const cas = new Set([...told.certificates.values()].map(({ ca }) => ca));
  if (plan.rotateAt !== undefined && cas.size !== 2) broken.push(`${cas.size} CAs issued`);
  await instance.dispose();
  return { issued: told.certificates.size, revoked: told.revoked.size, orphans, broken };
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
    private readonly csr: string,
    private readonly told: Acknowledged,
  ) {}

  async run(stopped: { now: boolean }): Promise<void> {
    this.loops += 1;
    for (let n = 0; !stopped.now; n++) {
      try {
        const issued = await this.post(this.ca, "issue", { csr: this.csr });
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
        // The server was killed under the request: nothing was promised.
        await Bun.sleep(5);
      }
    }
  }

  private async post(ca: string, verb: string, body: object): Promise<Record<string, unknown>> {
    const response = await this.instance.fetch(`/api/ca/${ca}/${verb}`, {
      ...{ method: "POST", body: JSON.stringify(body) },
      headers: { authorization: `Token ${this.secret}`, "content-type": "application/json" },
    });
    // A cut-off answer fails to parse, so that only complete answers count as promises.
    const answer = (await response.json()) as Record<string, unknown>; // JSON by contract.
    if (!response.ok) throw new Error(`${response.status}`);
    return answer;
  }
}

async function onlineChecks(instance: Instance, told: Acknowledged): Promise<string[]> {
  const broken: string[] = [];
  let sampled = 0;
  for (const [serial, { pem, ca }] of told.certificates) {
    if (sampled++ % 50 !== 0) continue;
    const record = await instance.admin<{ certificate: string; status: string }>(
      ...(["GET", `/api/ca/${ca}/certificates/${serial}`] as const),
    );
    if (record.certificate !== pem) broken.push(`inventory shows another ${serial}`);
    const expected = told.revoked.has(serial) ? ["revoked"] : ["good", "revoked"];
    if (!expected.includes(record.status)) broken.push(`${serial} is ${record.status}`);
  }
  return broken;
}

/** Reads the stopped database directly: an answer the server cannot embellish. */
function storedChecks(file: string, told: Acknowledged) {
  // Nobody opens this file again: the indexes only make the questions below quick.
  const db = new Database(file);
  db.run("CREATE INDEX chaos_artifact ON ledger (artifact)");
  db.run("CREATE INDEX chaos_op ON ledger (op_id)");
  db.run("CREATE INDEX chaos_event ON events (serial)");
  db.run("CREATE INDEX chaos_serial ON certificates (serial)");
  const findings: string[] = [];
  const one = (sql: string, ...values: string[]) => db.query(sql).get(...values);
  for (const [serial, { pem }] of told.certificates) {
    const row = one("SELECT certificate, status FROM certificates WHERE serial = ?", serial) as {
      certificate: Uint8Array;
      status: string;
    } | null; // Columns as selected.
    const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64");
    if (row === null) findings.push(`certificate ${serial} was delivered and is not in inventory`);
    else if (!der.equals(row.certificate)) findings.push(`certificate ${serial} differs`);
    const issue = "SELECT seq FROM events WHERE action = 'cert.issue' AND serial = ?";
    if (one(issue, serial) === null) findings.push(`certificate ${serial} has no event`);
  }
  for (const serial of told.revoked.keys()) {
    if (one("SELECT serial FROM revocations WHERE serial = ?", serial) === null) {
      findings.push(`revocation of ${serial} was acknowledged and is lost`);
    }
  }
  const count = (sql: string) => Number((one(sql) as { n: number }).n); // One row by construction.
  for (const [sentence, sql] of stored) {
    const n = count(sql);
    if (n !== 0) findings.push(`${n} × ${sentence}`);
  }
  const orphans = count("SELECT count(*) n FROM intents WHERE state = 'orphaned'");
  db.close();
  return { orphans, findings };
}

/** Sentences that must be false, each with the query that counts the rows it is true for. */
const stored: readonly (readonly [string, string])[] = [
  [
    "a stored certificate without exactly one successful ledger outcome",
    `SELECT count(*) n FROM certificates c WHERE c.kind = 'leaf' AND 1 <> (SELECT count(*) FROM ledger l
       WHERE l.kind = 'outcome' AND l.result = 'success' AND l.artifact = c.serial AND l.ca_id = c.ca_id)`,
  ],
  [
    "a successful leaf signature in the ledger without a stored certificate",
    `SELECT count(*) n FROM ledger l WHERE l.kind = 'outcome' AND l.result = 'success' AND l.purpose = 'certificate'
       AND NOT EXISTS (SELECT 1 FROM certificates c WHERE c.serial = l.artifact AND c.ca_id = l.ca_id)`,
  ],
  [
    "a ledger outcome without exactly one earlier intent of equal digest",
    `SELECT count(*) n FROM ledger o WHERE o.kind = 'outcome' AND 1 <> (SELECT count(*) FROM ledger i
       WHERE i.kind = 'intent' AND i.op_id = o.op_id AND i.digest = o.digest AND i.number < o.number)`,
  ],
  [
    "a ledger intent without outcome after a clean stop",
    `SELECT count(*) n FROM ledger i WHERE i.kind = 'intent'
       AND NOT EXISTS (SELECT 1 FROM ledger o WHERE o.kind = 'outcome' AND o.op_id = i.op_id)`,
  ],
  [
    // The successor's own certificate is closed in the ledger in the unit that supersedes the old key and records that.
    "a leaf intended on a superseded key after its rotation",
    `SELECT count(*) n FROM ledger i JOIN cas old ON old.id = i.ca_id JOIN cas new ON new.id = old.successor
       JOIN ledger rotation ON rotation.kind = 'outcome' AND rotation.artifact = new.serial AND rotation.ca_id = new.parent
       WHERE i.kind = 'intent' AND i.purpose IN ('certificate', 'precertificate') AND i.number > rotation.number`,
  ],
  [
    "a rotated CA without exactly one event and one ledger entry of its rotation",
    `SELECT count(*) n FROM cas old JOIN cas new ON new.id = old.successor
       WHERE 1 <> (SELECT count(*) FROM events e WHERE e.action = 'ca.rotate' AND e.result = 'success' AND e.serial = new.serial)
       OR 1 <> (SELECT count(*) FROM ledger l WHERE l.kind = 'outcome' AND l.artifact = new.serial AND l.ca_id = new.parent)`,
  ],
  [
    "a revocation without an event",
    `SELECT count(*) n FROM revocations r WHERE NOT EXISTS (SELECT 1 FROM events e
       WHERE e.action = 'cert.revoke' AND e.result = 'success' AND e.serial = r.serial)`,
  ],
  [
    "a certificate event without a certificate",
    `SELECT count(*) n FROM events e WHERE e.action = 'cert.issue' AND e.result = 'success'
       AND NOT EXISTS (SELECT 1 FROM certificates c WHERE c.serial = e.serial)`,
  ],
];
