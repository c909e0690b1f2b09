/** Lists records of an instance that only administrators see, as the corpus compares them. */

import type { Instance } from "#test/support/instances/instance.ts";

/** Names and ids by the name of the list, each list sorted. */
export type CorpusRecords = Readonly<Record<string, readonly string[]>>;

/** Path and field of each list. */
const recordPaths = {
  cas: ["/api/ca?limit=200", "label"],
  tenants: ["/api/tenants", "slug"],
  tokens: ["/api/tokens", "name"],
  approvals: ["/api/approvals?limit=200", "id"],
  blockedKeys: ["/api/blocked-keys", "reason"],
} as const;

const acmePaths = {
  accounts: ["/api/acme/accounts?limit=200", "id"],
  credentials: ["/api/acme/eab?limit=200", "id"],
} as const;

/**
 * Lists all records; grants are listed for the CA.
 *
 * @param withAcme includes accounts and credentials, which need ACME to be enabled
 */
export async function listRecords(
  instance: Instance,
  ca: string,
  withAcme: boolean,
): Promise<CorpusRecords> {
  const grants = [`/api/grants?resource=ca/${ca}`, "entity_id"] as const;
  const lists = { ...recordPaths, ...(withAcme ? acmePaths : {}), grants };
  const entries = Object.entries(lists).map(async ([name, [path, field]]) => {
    const { items } = await instance.admin<{ items: readonly Readonly<Record<string, string>>[] }>(
      "GET",
      path,
    );
    return [name, items.map((row) => String(row[field])).sort()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
