/** Backups, asked for over the admin socket: the archive is what is answered. */

import { refuse } from "#core/problems.ts";
import {
  decimal,
  flag,
  list,
  many,
  oneOf,
  optional,
  otherwise,
  shape,
  text,
  words,
} from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import type { Origin } from "#domain/actor.ts";
import { Document } from "#domain/access/outcome.ts";
import { thePlatform } from "#domain/access/targets.ts";
import { ArchiveUnfit, type Protection } from "#core/backup/archive.ts";
import type { Backups } from "#domain/backup/backups.ts";
import type { OperationName } from "#operations";
import { count, time } from "./shapes.ts";

export interface BackupHandlerDeps {
  readonly backups: Backups;
  /** What is configured: recipients, or a passphrase; undefined where there is neither. */
  readonly configured: () => Promise<Protection | undefined>;
  /** Makes the backup of the schedule; gives its name. Refuses `unprocessable`. */
  readonly makeNow: (by: Origin) => Promise<string>;
  /** What is wrong with a recipient, as a phrase. */
  readonly recipientFault: (recipient: string) => string | undefined;
  /** How events name those who can open an archive. */
  readonly openersOf: (protection: Protection) => readonly string[];
}

/** Handlers of `backup.run`, `backup.status` and `backup.drilled`. */
export function backupHandlers(deps: BackupHandlerDeps) {
  const { backups } = deps;
  return {
    "backup.run": archiveNow(deps),
    "backup.make": operation({
      summary: "Makes the backup that the schedule would make, now.",
      target: thePlatform,
      output: shape({ artifact: words() }),
      refuses: ["operation_running", "unprocessable", "key_unavailable"],
      run: async ({ origin }) => ({ artifact: await deps.makeNow(origin) }),
    }),
    "backup.status": operation({
      summary: "Tells which backup was made last, and how the last drill ended.",
      target: thePlatform,
      output: statusShape,
      run: async () => {
        const { backup, drill } = await backups.last();
        return { ...(backup && { backup }), ...(drill && { drill }) };
      },
    }),
    "backup.drilled": operation({
      summary: "Records how a drill of an archive ended.",
      target: thePlatform,
      input: {
        artifact: text({ min: 1, max: 255, characters: "line" }),
        result: oneOf(["success", "error"]),
        fault: otherwise(text({ max: 1024, characters: "line" }), ""),
        /** How long it took; absent where the archive was not opened. */
        seconds: optional(decimal({ min: 0, max: 1e9 })),
      },
      output: statusShape,
      run: async ({ input, origin }) => {
        await backups.drilled(origin, input, input.seconds);
        const { backup, drill } = await backups.last();
        return { ...(backup && { backup }), ...(drill && { drill }) };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function archiveNow(deps: BackupHandlerDeps) {
  return operation({
    summary: "Answers one encrypted archive of everything, as it is at this moment.",
    target: thePlatform,
    input: {
      recipients: otherwise(list(text({ min: 1, max: 4096 }), 0, recipientsMax), []),
      passphrase: optional(text({ min: 16, max: 1024 })),
      include_config: otherwise(flag(), true),
    },
    output: { media: ["application/octet-stream"] },
    refuses: ["conflicting_fields", "operation_running", "unprocessable", "key_unavailable"],
    run: async ({ input, origin }) => {
      const protection = (await given(deps, input)) ?? (await deps.configured());
      if (protection === undefined) {
        throw refuse(
          "unprocessable",
          {},
          "Nobody could open the archive: name a recipient or a passphrase, or set backup.recipients.",
        );
      }
      const asked = { protection, withConfiguration: input.include_config };
      const { artifact, pieces } = await deps.backups.begin(
        origin,
        asked,
        deps.openersOf(protection),
      );
      return new Document({
        content: await startArchive(pieces),
        type: "application/octet-stream",
        fileName: artifact,
        fleeting: true,
      });
    },
  });
}

/**
 * Waits for the first chunk, so that an archive that could not be restored is refused before the
 * response starts.
 */
async function startArchive(
  archive: AsyncGenerator<Uint8Array>,
): Promise<AsyncGenerator<Uint8Array>> {
  try {
    const first = await archive.next();
    return resume(first, archive);
  } catch (error) {
    if (error instanceof ArchiveUnfit) throw refuse("unprocessable", {}, error.message);
    throw error;
  }
}

async function* resume(
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    if (first.done !== true) yield first.value;
    yield* rest;
  } finally {
    // A client that disconnects ends the archive.
    await rest.return(undefined);
  }
}

async function given(
  { recipientFault }: BackupHandlerDeps,
  input: { readonly recipients: readonly string[]; readonly passphrase: string | undefined },
): Promise<Protection | undefined> {
  const { recipients, passphrase } = input;
  if (passphrase !== undefined && recipients.length > 0) {
    throw refuse("conflicting_fields", { fields: ["recipients", "passphrase"] });
  }
  for (const [at, recipient] of recipients.entries()) {
    const reason = recipientFault(recipient);
    if (reason !== undefined) throw refuse("invalid_field", { field: `recipients[${at}]`, reason });
  }
  if (passphrase !== undefined) return { passphrase };
  return recipients.length > 0 ? { recipients } : undefined;
}

const statusShape = shape({
  backup: optional(
    shape({
      artifact: words(),
      created_at: time,
      seq: count,
      sha256: words(),
      size: count,
      recipients: many(words()),
      instance_id: words(),
      version: words(),
      schema_version: count,
      /** By the ledger key, lowercase hex; absent in records of earlier releases. */
      signature: optional(shape({ value: words(), spki: words() })),
    }),
  ),
  drill: optional(
    shape({
      artifact: words(),
      at: time,
      result: oneOf(["success", "error"]),
      fault: words(),
      succeeded_at: optional(words()),
    }),
  ),
});

const recipientsMax = 64;
