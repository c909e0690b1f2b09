/** Reads from the instance which archives its events record, and its ledger key. */

import { detailValues } from "#core/audit/detail.ts";
import type { Client } from "./client.ts";
import { rowsAt, textAt } from "./rows.ts";

/** Requirements of an instance on the archives that its drill tries. */
export interface ArchiveHistory {
  /** Fingerprint of the ledger key of the instance. */
  readonly ledgerKey: string;
  /** Lowercase hex SHA-256 by file name, newest first, as `backup.run` events record it. */
  readonly digests: ReadonlyMap<string, string>;
}

/** Loads the history from the sign ledger and from the events of the instance. */
export async function loadArchiveHistory(client: Client): Promise<ArchiveHistory> {
  const ledger = await client.list("hsm.audit_log", { kind: "genesis", limit: 1 }, false);
  const digests = new Map<string, string>();
  const query = { action: "backup.run", result: "success", limit: 500 } as const;
  for await (const page of client.pages("event.list", query, true)) {
    for (const row of rowsAt(page, "items")) {
      const values = detailValues(textAt(row, "detail"));
      const [artifact, sha256] = [values.get("artifact"), values.get("sha256")];
      if (artifact === undefined || sha256 === undefined || digests.has(artifact)) continue;
      digests.set(artifact, sha256);
    }
  }
  const [genesis] = rowsAt(ledger, "items");
  return { ledgerKey: textAt(genesis ?? {}, "signer_fingerprint"), digests };
}
