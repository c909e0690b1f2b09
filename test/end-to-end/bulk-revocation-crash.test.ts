/**
 * SIGKILL inside a bulk revocation, again and again: it ends with each serial revoked by exactly
 * one event.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server.stop());

describe.each(["sqlite", "postgres"] as const)("on %s", (driver) => {
  test("Bulk revocation revokes exactly the confirmed set, one event each, and resumes", async () => {
    const home = newHome();
    const config = driver === "sqlite" ? {} : { database: { driver, dsn: await migrated(home) } };
    let instance = await Instance.start({ home, config });
    try {
      const { intermediateId: ca } = await createChain(instance, "ecdsa-p256");
      const issued = await issue(instance, ca);
      const serials = [...issued, ...Array.from({ length: bare }, (_, at) => String(at + 1))];
      const order = {
        reason: "superseded",
        filter: { serials },
        confirm_count: serials.length,
        operation_id: "crash",
        batch_size: 5,
      };
      const path = `/api/ca/${ca}/revocations:bulk`;
      const drifted = instance.admin("POST", path, { ...order, confirm_count: 1 });
      await expect(drifted).rejects.toThrow("confirm_count_mismatch");
      expect(await revoked(instance, ca)).toBe(0);

      const killed = instance.admin("POST", path, order).catch(() => undefined);
      let before = 0;
      for (let round = 1; round <= 3 && before < serials.length; round++) {
        // The first run answers a caller, the others were resumed at the start.
        while ((await revoked(instance, ca)) <= before) await Bun.sleep(1);
        await Bun.sleep(Math.random() * 40);
        await instance.kill();
        instance = await Instance.start({ home, config });
        before = await revoked(instance, ca);
        if (round === 1) expect(before).toBeLessThan(serials.length);
      }
      await killed;
      // Who asks before the start has resumed the run carries it on; later ones learn its end.
      await repeated(instance, path, order);
      const result = await repeated(instance, path, order);
      expect(result).toMatchObject({ planned: 0, revoked: 0, already_skipped: serials.length });

      expect(await revoked(instance, ca)).toBe(serials.length);
      const told = await events(instance, "cert.revoke");
      expect(told.length).toBe(serials.length);
      const numbers = told.map(({ serial }) => BigInt(serial));
      expect(numbers.toReversed()).toEqual(serials.map(BigInt).sort((a, b) => (a < b ? -1 : 1)));
      expect(told.every(({ detail }) => / bulk_op=crash sequence=\d+$/.test(detail))).toBe(true);
      const [denied, summary] = (await events(instance, "cert.revoke_bulk")).toReversed();
      expect(denied).toMatchObject({ result: "denied" });
      expect(summary?.detail).toContain(
        `planned=${serials.length} revoked=${serials.length} upgraded=0 already_skipped=0 `,
      );
      expect((await instance.cli("audit", "verify")).code).toBe(0);
    } finally {
      await instance.dispose();
    }
  }, 120_000);
});

interface Event {
  readonly serial: string;
  readonly detail: string;
  readonly result: string;
}

async function migrated(home: string): Promise<string> {
  const dsn = await server.createMigratedDatabase();
  writeConfig(home, { database: { driver: "postgres", dsn } });
  expect((await runCli(home, ["migrate"])).code).toBe(0);
  return dsn;
}

async function issue(instance: Instance, ca: string): Promise<readonly string[]> {
  const items = Array.from({ length: 40 }, (_, at) => {
    const name = `n${at}.example`;
    return { csr: csr({ dns: [name], subject: [{ type: "CN", value: name }] }) };
  });
  const body = { items, confirm_count: items.length };
  const path = `/api/ca/${ca}/certificates:bulk`;
  type Issued = { readonly items: readonly { readonly serial: string }[] };
  const result = await instance.admin<Issued>("POST", path, body);
  return result.items.map(({ serial }) => serial);
}

async function revoked(instance: Instance, ca: string): Promise<number> {
  const { total } = await instance.admin<{ total: number }>("GET", `/api/ca/${ca}/revoked?limit=1`);
  return total;
}

/** The answer under the same id, once the run that goes on by itself has ended. */
async function repeated(instance: Instance, path: string, order: object): Promise<object> {
  for (;;) {
    try {
      return await instance.admin<object>("POST", path, order);
    } catch (error) {
      if (!String(error).includes("operation_running")) throw error;
      await Bun.sleep(20);
    }
  }
}

/** Newest first. */
async function events(instance: Instance, action: string): Promise<readonly Event[]> {
  const all: Event[] = [];
  for (let cursor = ""; ; ) {
    type Page = { readonly items: readonly Event[]; readonly next_cursor: string };
    const query = `action=${action}&limit=500${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const page = await instance.admin<Page>("GET", `/api/events?${query}`);
    all.push(...page.items);
    cursor = page.next_cursor;
    if (cursor === "") return all;
  }
}

const bare = 1500;
