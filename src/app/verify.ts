/** `pkid verify`: the proofs over the database of a configuration, beside a server or without. */

import { storeAddress } from "#adapters/db/address.ts";
import { openForProof } from "#adapters/db/proofs/open.ts";
import { prove } from "#adapters/db/proofs/prove.ts";
import { sampled } from "#adapters/db/proofs/sample.ts";
import type { Engine } from "#adapters/db/engine/engine.ts";
import type { Heads } from "#adapters/db/engine/journal.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import type { VerifyAsked, VerifyReport, VerifySample } from "#cli/command.ts";
import type { Config } from "#config/schema.ts";
import { timestamp } from "#core/time.ts";
import { mustHaveDatabase } from "./founded.ts";
import { useProxy } from "./proxy.ts";
import { openSecrets } from "./secrets.ts";

/**
 * Looks at one committed state and changes nothing; no key is used. Throws `NoInstance` where there
 * is no SQLite database, and an Error that says so when there is no event `since`.
 */
export async function verify(config: Config, asked: VerifyAsked): Promise<VerifyReport> {
  return await withDatabase(config, async (engine, driver) => {
    const checkedAt = systemClock.now();
    const { since, onProgress } = asked;
    const { results, heads } = await prove(engine, { since, onProgress, random: systemRandom });
    return {
      checked_at: timestamp(checkedAt),
      driver,
      since,
      ...reached(heads),
      proofs: results,
    };
  });
}

/** Where the chains ended, as a report says it. */
export const reached = (heads: Readonly<Heads>) => ({
  event_seq: heads.eventSeq,
  event_hash: heads.eventHash,
  ledger_number: heads.ledgerNumber,
  ledger_hash: heads.ledgerHash,
  revocation_sequence: heads.revocationSequence,
});

/** What the running server is held against. */
export async function verifySample(
  config: Config,
  { since, event }: { readonly since: number; readonly event: number },
): Promise<VerifySample> {
  const { shards } = config.crl;
  const now = systemClock.now();
  const request = { since, event, now, shards: shards < 2 ? 0 : shards, random: systemRandom };
  return await withDatabase(config, (engine) => sampled(engine, request));
}

async function withDatabase<T>(
  config: Config,
  look: (engine: Engine, driver: VerifyReport["driver"]) => Promise<T>,
): Promise<T> {
  const secrets = openSecrets(config);
  await useProxy(config, secrets);
  const address = await storeAddress(config, secrets);
  mustHaveDatabase(address);
  const engine = await openForProof(address);
  try {
    return await look(engine, address.driver);
  } finally {
    await engine.close();
  }
}
