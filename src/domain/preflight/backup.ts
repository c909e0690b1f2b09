/** Whether there is an archive to begin from, whether it has been tried, and who can open it. */

import {
  failed,
  type Finding,
  gathered,
  passed,
  skipped,
  warned,
} from "#core/preflight/finding.ts";
import { type Instant, parseTimestamp } from "#core/time.ts";
import { lastDrill, lastScheduled } from "#domain/backup/backups.ts";
import type { Store } from "#domain/store.ts";

/** The last run; `intervalHours` is undefined where none is made by schedule. */
export async function backupFresh(
  store: Pick<Store, "read">,
  now: Instant,
  intervalHours: number | undefined,
): Promise<Finding> {
  if (intervalHours === undefined) return warned("No backup is made by schedule (`backup`).");
  const last = await lastScheduled(store);
  const at = parseTimestamp(last?.at ?? "");
  if (last === undefined || at === undefined) return warned("No backup has ended yet.");
  if (last.result === "error") return failed(`The backup of ${last.at} failed: ${last.fault}`);
  const told = `The last backup is of ${last.at}`;
  const intervals = (now - at) / 3_600_000 / intervalHours;
  if (intervals > 3) return failed(`${told}.`);
  if (intervals > 1.5) return warned(`${told}.`);
  return passed(`${told}: ${last.artifact}.`);
}

/** The last drill; `backedUp` is false where there is nothing to try. */
export async function restoreVerified(
  store: Pick<Store, "read">,
  now: Instant,
  backedUp: boolean,
): Promise<Finding> {
  if (!backedUp) return skipped("No backup is made by schedule (`backup`).");
  const last = await lastDrill(store);
  const at = parseTimestamp(last?.at ?? "");
  if (last === undefined || at === undefined) return warned("No archive has been tried yet.");
  if (last.result === "error") return failed(`The drill of ${last.at} failed: ${last.fault}`);
  const told = `The drill of ${last.at} with ${last.artifact} succeeded`;
  return (now - at) / 86_400_000 > 7 ? warned(`${told}, and none since.`) : passed(`${told}.`);
}

/** Who can open the archives, as configured. */
export interface Openers {
  readonly enabled: boolean;
  readonly recipients: readonly string[];
  readonly hasPassphrase: boolean;
  /** The file that opens them is on this host. */
  readonly identityHere: boolean;
  /** What is wrong with a recipient; undefined for a sound one. */
  readonly fault: (recipient: string) => string | undefined;
}

/** Judges them. */
export function openersLeft(of: Openers): Finding {
  const { enabled, recipients, hasPassphrase, identityHere, fault } = of;
  const sound = recipients.filter((one) => fault(one) === undefined);
  if (!enabled && recipients.length === 0 && !hasPassphrase) {
    return skipped("Nothing is backed up (`backup`).");
  }
  if (sound.length === 0 && !hasPassphrase) return failed("No recipient is valid.");
  const findings: Finding[] = [];
  if (sound.length < recipients.length) {
    findings.push(failed(`${recipients.length - sound.length} recipients are not valid.`));
  }
  if (!hasPassphrase && sound.length === 1) {
    findings.push(warned("One recipient alone can open the archives."));
  }
  if (identityHere) {
    findings.push(warned("An identity that opens them is on this host (`backup.verify`)."));
  }
  const told = hasPassphrase ? "The passphrase opens" : `${sound.length} recipients open`;
  return gathered(findings, `${told} the archives.`);
}
