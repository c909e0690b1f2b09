/** Transparency logs: which ones there are, and what they can be asked. */

import type { SignedHead } from "#core/transparency/heads.ts";
import type { LogKey } from "#core/transparency/log-keys.ts";
import type { Sct } from "#core/transparency/sct.ts";
import type { Tile } from "#core/transparency/tiles.ts";

/** A log of the registry. */
export interface CtLog {
  readonly name: string;
  readonly operator: string;
  readonly api: "rfc6962" | "static";
  /** Submission address without final slash. */
  readonly url: string;
  /** Where the tree is read, without final slash. */
  readonly monitoringUrl: string;
  readonly key: LogKey;
  /** Seconds within which the log must show what it gave an SCT for. */
  readonly mmdSeconds: number;
  /** False for a log that takes nothing more: switched off, read-only, retired. */
  readonly usable: boolean;
}

/** The logs the configuration names. */
export class LogRegistry {
  private readonly logs: readonly CtLog[];

  constructor(logs: readonly CtLog[]) {
    this.logs = logs;
  }

  /** The usable logs among these names; all usable ones when none is named. */
  selected(names: readonly string[]): readonly CtLog[] {
    return this.logs.filter(
      ({ name, usable }) => usable && (names.length === 0 || names.includes(name)),
    );
  }

  /** The log with this id in lower hex, usable or not. */
  byId(logId: string): CtLog | undefined {
    return this.logs.find(({ key }) => key.logId.toHex() === logId);
  }
}

/**
 * The network as far as logs are concerned. Every method throws `LogFault`, and at once when
 * `signal` is aborted.
 */
export interface LogClient {
  /**
   * Submits a precertificate with its issuers above it and gives the SCT as answered, not verified
   * (RFC 6962 §4.2).
   */
  submit(log: CtLog, chain: readonly Uint8Array[], limits: Limits): Promise<Sct>;
  /** The newest head: get-sth, or the checkpoint of a static log; its signature is not verified. */
  head(log: CtLog, limits: Limits): Promise<SignedHead>;
  /** Where the leaf is and its audit path (get-proof-by-hash). */
  inclusion(
    log: CtLog,
    leafHash: Uint8Array,
    treeSize: number,
    limits: Limits,
  ): Promise<{ readonly leafIndex: number; readonly path: readonly Uint8Array[] }>;
  /** The proof that the second tree continues the first (get-sth-consistency). */
  consistency(
    log: CtLog,
    first: number,
    second: number,
    limits: Limits,
  ): Promise<readonly Uint8Array[]>;
  /** The hashes of a tile of a static log, as many as its width. */
  tile(log: CtLog, tile: Tile, limits: Limits): Promise<readonly Uint8Array[]>;
  /** Waits; ends early when the signal is aborted. */
  pause(seconds: number, signal: AbortSignal): Promise<void>;
}

/** For one request. */
export interface Limits {
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

/** Why a log gave nothing. */
export class LogFault extends Error {
  override readonly name = "LogFault";
  /** `rejected`: the log does not want it, and asking again changes nothing. */
  readonly reason: "rejected" | "unavailable" | "malformed" | "timeout";

  constructor(reason: LogFault["reason"], sentence: string) {
    super(sentence);
    this.reason = reason;
  }
}
