/** What a probe of a CA goes through, in order, and what it tells. */

import type { Serial } from "#core/ids.ts";
import type { CaRecord } from "#domain/authorities/store.ts";

/** The stages of a probe, each of which needs the ones before it (CAN-1). */
export const stages = [
  "resolve",
  "issue",
  "chain",
  "ocsp_good",
  "crl",
  "revoke",
  "ocsp_revoked",
  "delta",
] as const;
export type Stage = (typeof stages)[number];

/** What came of a probe or of a stage of it. */
export const probeResults = ["success", "error"] as const;
export type ProbeResult = (typeof probeResults)[number];

/** A stage that was begun. */
export interface StageReport {
  readonly stage: Stage;
  readonly milliseconds: number;
  readonly result: ProbeResult;
}

/** One probe of one CA. */
export interface ProbeReport {
  /** As it was asked for: an id or a label. */
  readonly reference: string;
  /** The CA that was probed; undefined where none was found. */
  readonly ca: Pick<CaRecord, "id" | "tenant" | "label"> | undefined;
  /** Of the certificate, once there was one. */
  readonly serial: Serial | undefined;
  readonly result: ProbeResult;
  /** The stage that failed, which is the last one. */
  readonly stage: Stage | undefined;
  /** Why it failed: the code of a refusal, or a few words. */
  readonly reason: string | undefined;
  /** All stages together. */
  readonly milliseconds: number;
  readonly stages: readonly StageReport[];
}

/** What relying parties would be served is not what it should be; the message says in which way. */
export class WrongAnswer extends Error {
  override readonly name = "WrongAnswer";
}
