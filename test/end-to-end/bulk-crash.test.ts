/**
 * SIGKILL in the middle of a bulk issue: repeated under its id it ends with each certificate
 * exactly once.
 */

import { expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";

const wanted = 400;

test("a bulk issue killed in the middle is finished by repeating it, with nothing twice", async () => {
  let instance = await Instance.start();
  try {
    const chain = await createChain(instance, "ecdsa-p256");
    const token = await instance.token(["issuer"]);
    const items = Array.from({ length: wanted }, (_, at) => {
      const name = `n${at}.example`;
      return { ref: name, csr: csr({ dns: [name], subject: [{ type: "CN", value: name }] }) };
    });
    const order = { items, confirm_count: wanted, operation_id: "crash", concurrency: 4 };
    const send = (to: Instance) =>
      to.fetch(`/api/ca/${chain.intermediateId}/certificates:bulk`, {
        method: "POST",
        body: JSON.stringify(order),
        headers: { authorization: `Token ${token}`, "content-type": "application/json" },
      });
    const count = () => inventory(instance, chain.intermediateId);

    const killed = send(instance).catch(() => undefined);
    while ((await count()) < 20) await Bun.sleep(2);
    await instance.kill();
    await killed;

    const { home } = instance;
    instance = await Instance.start({ home });
    const before = await count();
    expect(before).toBeGreaterThanOrEqual(20);
    expect(before).toBeLessThan(wanted);
    const response = await send(instance);
    expect(response.status).toBe(200);
    const result = (await response.json()) as Result; // JSON by contract.
    expect(result).toMatchObject({ requested: wanted, issued: wanted, failed: 0 });
    expect(new Set(result.items.map(({ serial }) => serial)).size).toBe(wanted);
    expect(await count()).toBe(wanted);
    expect((await instance.cli("audit", "verify")).code).toBe(0);
    await instance.stop();
    expect(twice(join(home, "data", "pkid.db"))).toEqual([]);
  } finally {
    await instance.dispose();
  }
}, 60_000);

interface Result {
  readonly items: readonly { readonly serial: string }[];
}

async function inventory(instance: Instance, ca: string): Promise<number> {
  const { total } = await instance.admin<{ total: number }>(
    "GET",
    `/api/ca/${ca}/certificates?limit=1`,
  );
  return total;
}

/** Names that were certified more than once, and items without the certificate they became. */
function twice(file: string): readonly unknown[] {
  const db = new Database(file, { readonly: true });
  const names = db
    .query(
      "SELECT common_name FROM certificates WHERE kind = 'leaf' GROUP BY 1 HAVING count(*) > 1",
    )
    .all();
  const lost = db
    .query(
      `SELECT position FROM bulk_items i WHERE NOT EXISTS
         (SELECT 1 FROM certificates c WHERE c.ca_id = i.ca_id AND c.serial = i.serial)`,
    )
    .all();
  db.close();
  return [...names, ...lost];
}
