/** Has a person agree before a migration changes what nothing could be put back in the place of. */

import type { Config } from "#config/schema.ts";
import { parseTimestamp } from "#core/time.ts";

import type { MigrationReport } from "./command.ts";
import { agreed } from "./confirm.ts";
import type { Io } from "./io.ts";

/** A command line that migrates. */
export interface MigratingLine {
  readonly line: string;
  readonly config: Config;
  /** True when it was said with the line. */
  readonly yes: boolean;
  readonly io: Pick<Io, "ask">;
}

/**
 * Returns where a copy is made first, nothing stored is changed, or a backup is recent; else a
 * person agrees, or the line is refused (exit 2).
 */
export async function migrationAgreed(
  { line, config, yes, io }: MigratingLine,
  look: () => Promise<MigrationReport>,
): Promise<void> {
  if (yes || config.database.driver !== "postgres") return;
  const { backup } = await look();
  if (backup === undefined) return;
  const made = backup === null ? undefined : parseTimestamp(backup.created_at);
  if (made !== undefined && Date.now() - made < recentMs) return;
  const which =
    backup === null ? "it has no backup" : `its newest backup is of ${backup.created_at}`;
  await agreed(
    `${line}: PostgreSQL keeps no copy of what is there, and ${which}. A dump that was made with every replica stopped will do.`,
    false,
    io,
  );
}

/** What was issued and revoked since a backup is lost with it. */
const recentMs = 86_400_000;
