/** Fills the database of a stopped instance with old orders of ACME, each with its proof. */

import { Database } from "bun:sqlite";

/** What to fill it with. */
export interface OrderFilling {
  readonly ca: string;
  /** Ids of the accounts they are of, in turns. */
  readonly accounts: readonly string[];
  readonly rows: number;
}

/** Gives how many were stored per second. */
export async function fillOrders(file: string, filling: OrderFilling): Promise<number> {
  const database = new Database(file);
  database.run("pragma synchronous = off");
  database.run("pragma cache_size = -262144");
  const store = storing(database, filling);
  const begun = performance.now();
  for (let at = 0; at < filling.rows; ) {
    database.run("begin");
    for (const end = Math.min(filling.rows, at + 10_000); at < end; at++) store(at);
    database.run("commit");
    await Bun.sleep(0);
  }
  database.run("pragma wal_checkpoint(truncate)");
  database.close();
  return filling.rows / ((performance.now() - begun) / 1000);
}

/** Writes an order of a minute ago for the last one, and a second more for each before it. */
function storing(database: Database, { ca, accounts, rows }: OrderFilling): (at: number) => void {
  const order = database.prepare(
    `insert into acme_orders (id, account, directory, tenant, ca_id, status, identifiers,
      authorizations, profile, created_at, expires_at, ends_at, certificate_ca,
      certificate_serial, certificate_not_after)
      values (?, ?, 'default', 'default', ?, 'valid', ?, ?, 'server', ?, ?, ?, ?, ?, ?)`,
  );
  const proof = database.prepare(
    `insert into acme_authorizations (id, account, directory, identifier_type, identifier,
      wildcard, status, created_at, expires_at, method, challenges, ordered)
      values (?, ?, 'default', 'dns', ?, 0, 'valid', ?, ?, 'http-01', ?, 1)`,
  );
  const challenge = database.prepare(
    `insert into acme_challenges (id, authorization_id, account, type, token, status,
      validated_at, attempts) values (?, ?, ?, 'http-01', ?, 'valid', ?, 1)`,
  );
  const link = database.prepare(
    "insert into acme_order_authorizations (authorization_id, order_id) values (?, ?)",
  );
  const last = Date.now() - 60_000;
  return (at) => {
    const created = last - (rows - at) * 1000;
    const [id, proofId, challengeId] = [idAt(created), idAt(created), idAt(created)];
    const account = accounts[at % accounts.length] ?? "";
    const name = `old-${at}.example.test`;
    const [expires, notAfter] = [created + 7 * dayMs, created + 90 * dayMs];
    const serial = BigInt(
      `0x5${Buffer.from(crypto.getRandomValues(new Uint8Array(15))).toString("hex")}`,
    );
    const identifiers = JSON.stringify([{ type: "dns", value: name }]);
    proof.run(proofId, account, name, created, expires, JSON.stringify([challengeId]));
    challenge.run(challengeId, proofId, account, "t".repeat(43), created);
    link.run(proofId, id);
    order.run(
      id,
      account,
      ca,
      identifiers,
      JSON.stringify([proofId]),
      created,
      expires,
      notAfter,
      ca,
      String(serial),
      notAfter,
    );
  };
}

/** Ids sort by time, as those of the instance do. */
const idAt = (at: number): string => Bun.randomUUIDv7("hex", at);

const dayMs = 86_400_000;
