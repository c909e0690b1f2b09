/** Lists the archives that the events of this instance record. */

import { detailValues } from "#core/audit/detail.ts";
import { type Instant, parseTimestamp } from "#core/time.ts";
import type { Store } from "#domain/store.ts";

/** Archive that a `backup.run` event of this instance names. */
export interface RecordedArchive {
  readonly artifact: string;
  /** Lowercase hex SHA-256 of the encrypted archive. */
  readonly sha256: string;
  /** Time of the event. */
  readonly at: Instant;
}

/**
 * Lists the archives in `names` that an event of this instance names, newest first. A file name
 * or a sidecar is not enough: other programs can write to the same directory or bucket.
 */
export async function listRecordedArchives(
  { read }: Pick<Store, "read">,
  names: ReadonlySet<string>,
): Promise<readonly RecordedArchive[]> {
  const recorded: RecordedArchive[] = [];
  const filter = { reach: "platform", action: "backup.run", result: "success" } as const;
  for (let before: number | undefined; recorded.length < names.size; ) {
    const { items } = await read.audit.events(filter, pageSize, before);
    for (const { detail, timestamp } of items) {
      const values = detailValues(detail);
      const [artifact, sha256] = [values.get("artifact") ?? "", values.get("sha256")];
      const at = parseTimestamp(timestamp);
      if (!names.has(artifact) || sha256 === undefined || at === undefined) continue;
      recorded.push({ artifact, sha256, at });
    }
    before = items.at(-1)?.seq;
    if (items.length < pageSize || before === undefined) break;
  }
  return recorded;
}

const pageSize = 500;
