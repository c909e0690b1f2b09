/**
 * The step between precertificate and certificate: the precertificate kept, the SCTs of logs
 * collected, the final octets made.
 */

import type { ClearedPlan } from "#core/policy/gates.ts";
import { type CtPolicy, ctMet, ctNeeds } from "#core/policy/transparency.ts";
import { assert, refuse } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import {
  entryLeafHash,
  leafIndexOf,
  parseSctList,
  type PrecertEntry,
  sctList,
} from "#core/transparency/sct.ts";
import { finalTbs, withoutPoison } from "#core/x509/precertificate.ts";
import type { CaSigner } from "#domain/authorities/signers.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { LogClient, LogRegistry } from "#domain/transparency/logs.ts";
import type { InclusionRecord } from "#domain/transparency/store.ts";
import { type Collected, collectScts, type LogSct } from "#domain/transparency/submission.ts";
import type { CertificateRecord, CtFacts } from "./store.ts";

/** Octets to be signed in place of the precertificate's, and what is recorded of their SCTs. */
export interface FinalPlan {
  readonly tbs: Uint8Array;
  readonly facts: CtFacts;
  /** The SCTs to watch, once there is a certificate. */
  readonly inclusions: (certificate: CertificateRecord) => readonly InclusionRecord[];
}

export interface SctDeps {
  readonly client: LogClient;
  readonly registry: () => LogRegistry;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Called after an intent with a kept precertificate came to nothing; what it throws is tried
   * again by a job.
   */
  readonly lost: () => Promise<void>;
}

/** Collects the SCTs for precertificates of one instance. */
export class SctCollector {
  readonly #deps: SctDeps;

  constructor(deps: SctDeps) {
    this.#deps = deps;
  }

  /** Submits and waits, outside any unit. Refuses `ct_policy_unmet` (CT-5). */
  async collect(
    policy: CtPolicy,
    cleared: ClearedPlan,
    signer: CaSigner,
    precertificate: Uint8Array,
  ): Promise<FinalPlan> {
    const { plan, issuer } = cleared;
    const needs = ctNeeds(policy, (plan.notAfter - plan.notBefore) / 1000 + 1);
    const tbs = withoutPoison(cleared.tbs);
    const entry = { issuerKeyHash: Uint8Array.fromHex(issuer.spkiSha256), tbs };
    const collected = await collectScts(this.#deps, {
      logs: this.#deps.registry().selected(policy.logs),
      entry,
      needs,
      policy,
      chain: [precertificate, ...signer.issuers],
    });
    if (!collected.met && !policy.failOpen) {
      throw refuse("ct_policy_unmet", {
        required: needs.scts,
        received: collected.scts.length,
        logs: collected.outcomes,
      });
    }
    const scts = collected.scts.map(({ sct }) => sct);
    const list = scts.length === 0 ? undefined : sctList(scts);
    const operators = collected.scts.map(({ log }) => log.operator);
    // sct_list_form: what is going to be signed is read back before it is.
    const count = list === undefined ? 0 : parseSctList(list.value).length;
    assert(count === scts.length, "an SCT list reads back");
    assert(policy.failOpen || ctMet(needs, operators), "an SCT list meets its policy");
    return {
      tbs: finalTbs(cleared.tbs, list),
      facts: factsOf(collected),
      inclusions: (certificate) => this.#inclusions(certificate, collected.scts, entry),
    };
  }

  /**
   * Tells that a precertificate came to nothing. Never throws: the refusal matters more, and a job
   * tries again.
   */
  async lost(): Promise<void> {
    try {
      await this.#deps.lost();
    } catch {
      // The row stays unsettled, and the job that looks for such rows reports what keeps it from
      // settling them.
    }
  }

  #inclusions(
    certificate: CertificateRecord,
    logScts: readonly LogSct[],
    entry: PrecertEntry,
  ): readonly InclusionRecord[] {
    const { caId, tenant, serial } = certificate;
    return logScts.map(({ log, sct }) => ({
      id: this.#deps.random.uuid(),
      caId,
      tenant,
      serial,
      logName: log.name,
      logId: sct.logId.toHex(),
      sctTimestamp: sct.timestamp,
      status: "pending" as const,
      leafHash: entryLeafHash(sct, entry).toHex(),
      sctLeafIndex: indexOf(sct.extensions),
      dueAt: addSeconds(sct.timestamp, log.mmdSeconds),
      treeSize: undefined,
      leafIndex: undefined,
      checks: 0,
      lastError: "",
      alerted: false,
      firstCheckedAt: undefined,
      lastCheckedAt: undefined,
      includedAt: undefined,
    }));
  }
}

function factsOf({ met, scts: logScts, outcomes }: Collected): CtFacts {
  const operators = logScts.map(({ log }) => log.operator);
  return {
    status: met ? "submitted" : "failed_open",
    sctCount: logScts.length,
    operators: [...new Set(operators)],
    logs: outcomes,
  };
}

/** A leaf index that cannot be read is one the log did not give; the SCT stands without it. */
function indexOf(extensions: Uint8Array): number | undefined {
  try {
    return leafIndexOf(extensions);
  } catch {
    return undefined; // See above: the monitor fails such an SCT of a static log.
  }
}
