/**
 * The proofs over what an archive holds: `pkid verify --archive`, and part of every drill and of
 * every restore.
 */

import { openForProof } from "#adapters/db/proofs/open.ts";
import { prove } from "#adapters/db/proofs/prove.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import type { ArchiveSource, VerifyAsked, VerifyReport } from "#cli/command.ts";
import type { Config } from "#config/schema.ts";
import { ArchiveUnfit } from "#core/backup/archive.ts";
import type { ReadArchive } from "#core/backup/reading.ts";
import { Proof, type ProofResult } from "#core/proofs/proofs.ts";
import { timestamp } from "#core/time.ts";
import { reached } from "#app/verify.ts";
import { Scratch } from "./scratch.ts";
import { scratchPlace } from "./scratch-place.ts";

/**
 * Unpacks the archive beside the instance of `config`, or among temporary files where there is
 * none, proves what is in it and removes it again: no key is used, and nobody else is asked. Throws
 * `ArchiveUnfit` for one that does not verify as a whole, and `Failure`.
 */
export async function verifyArchive(
  config: Config,
  source: ArchiveSource,
  asked: VerifyAsked,
  workerUrl: string,
): Promise<VerifyReport> {
  const scratch = new Scratch(scratchPlace(config.data_dir), workerUrl);
  try {
    const checkedAt = systemClock.now();
    const read = await scratch.unpack(source);
    const { results, heads } = await provenIn(scratch, asked);
    return {
      checked_at: timestamp(checkedAt),
      driver: "sqlite",
      archive: {
        instance_id: read.manifest.instance_id,
        created_at: read.manifest.created_at,
        ledger_key: read.signedBy,
      },
      since: asked.since,
      ...reached(heads),
      proofs: [wholeArchive(read), ...results],
    };
  } finally {
    scratch.remove();
  }
}

/**
 * Proves what was unpacked before anybody works with it; gives the number of proofs, and throws
 * `ArchiveUnfit` that names the first that does not hold.
 */
export async function mustBeProven(scratch: Scratch): Promise<number> {
  const { results } = await provenIn(scratch, { since: 0 });
  const failed = results.find(({ violations }) => violations > 0);
  if (failed === undefined) return results.length;
  throw new ArchiveUnfit(
    `What the archive holds is not proven. ${failed.says}: ${failed.first[0] ?? ""}`,
  );
}

async function provenIn(
  scratch: Scratch,
  asked: Pick<VerifyAsked, "since"> & Partial<VerifyAsked>,
) {
  const engine = await openForProof({
    driver: "sqlite",
    path: scratch.database,
    busy_timeout_ms: 5000,
  });
  try {
    return await prove(engine, {
      ...asked,
      fresh: true,
      verified: scratch.takeVerified(),
      aside: scratch.aside,
      random: systemRandom,
    });
  } finally {
    await engine.close();
  }
}

/** An archive that was read to its end is one: whatever is wrong with it was thrown. */
function wholeArchive({ digests }: ReadArchive): ProofResult {
  const proof = new Proof("archive");
  proof.checked = digests.members.length;
  return proof.result;
}
