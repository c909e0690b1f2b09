/**
 * The canary of one instance: which CAs are probed and when, what is recorded of it, and what is
 * remembered (CAN-1).
 */

import { type CaId, caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds, parseTimestamp } from "#core/time.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import { keepProbe, type LastProbe, lastProbesOf } from "./last-probes.ts";
import { type ProbeDeps, probe } from "./probe.ts";
import type { ProbeReport } from "./stages.ts";

/** `canary`. */
export interface CanarySections {
  readonly canary: {
    readonly enabled: boolean;
    readonly interval_minutes: number;
    /** Ids or labels. */
    readonly cas: readonly string[];
    readonly profile: string;
    readonly timeout_seconds: number;
  };
}

export interface CanaryDeps extends ProbeDeps {
  /** In force. */
  readonly config: () => CanarySections;
  /** False while the disk is nearly full: then nothing is probed by the clock. */
  readonly hasRoom: () => boolean;
  /** Told of every probe that came to an end, once it is on record. */
  readonly onProbe: (report: ProbeReport) => void;
}

/** Probes CAs, by the clock and on demand. */
export class Canary {
  readonly #deps: CanaryDeps;
  #running = false;
  #halted = false;

  constructor(deps: CanaryDeps) {
    this.#deps = deps;
  }

  /**
   * Probes the configured CAs now, or one of any, and tells what came of each. Refuses
   * `operation_running` while this process probes already, `not_found` for a CA that is not there,
   * and `missing_field` where none is named and none is configured.
   */
  async run(origin: Origin, only?: CaId): Promise<readonly ProbeReport[]> {
    const references = only === undefined ? this.#configured() : [await this.#referenceTo(only)];
    if (references.length === 0) throw refuse("missing_field", { field: "ca_id" }, noneNamed);
    if (this.#running) throw refuse("operation_running", { operation_id: "canary" });
    return await this.#alone(async () => {
      const reports: ProbeReport[] = [];
      for (const reference of references) reports.push(...(await this.#probe(origin, reference)));
      return reports;
    });
  }

  /**
   * Probes each configured CA whose last probe was `canary.interval_minutes` ago or more; of
   * several replicas one does. What is wrong with a CA is on record and keeps no other from being
   * probed.
   */
  async runDue(origin: Origin): Promise<void> {
    if ((await this.#due()).length === 0 || this.#running) return;
    await this.#alone(() =>
      this.#deps.store.exclusively("canary", async () => {
        for (const reference of await this.#due()) {
          // Whoever had the lease before may have come so far meanwhile, or work beside us.
          if ((await this.#due()).includes(reference)) await this.#probe(origin, reference);
        }
      }),
    );
  }

  /** No further stage begins; what was issued is revoked. */
  halt(): void {
    this.#halted = true;
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    this.#running = true;
    try {
      return await work();
    } finally {
      this.#running = false;
    }
  }

  #configured(): readonly string[] {
    return [...new Set(this.#deps.config().canary.cas)];
  }

  /** As the CA is configured, so that its probe is remembered under that name; else its id. */
  async #referenceTo(id: CaId): Promise<string> {
    const { cas } = this.#deps.store.read;
    const wanted = await cas.byId(id);
    if (wanted === undefined || wanted.internal) throw refuse("not_found");
    for (const reference of this.#configured()) {
      const ca = (await cas.byId(caId(reference))) ?? (await cas.byLabel(reference));
      if (ca?.lineage === wanted.lineage) return reference;
    }
    return id;
  }

  async #due(): Promise<readonly string[]> {
    const { store, clock, config, hasRoom } = this.#deps;
    const { enabled, interval_minutes: minutes } = config().canary;
    if (!enabled || this.#halted || !hasRoom()) return [];
    const configured = this.#configured();
    const last = await lastProbesOf(store, configured);
    const now = clock.now();
    return configured.filter((wanted) => {
      const before = last.find(({ reference }) => reference === wanted);
      const at = parseTimestamp(before?.at ?? "");
      // One from the future is of a clock that has been set back since.
      return at === undefined || at > now || now >= addSeconds(at, minutes * 60);
    });
  }

  /** One report, or none where the probe was halted. */
  async #probe(origin: Origin, reference: string): Promise<readonly ProbeReport[]> {
    const { config, onProbe } = this.#deps;
    const { profile, timeout_seconds: timeoutSeconds } = config().canary;
    const halted = () => this.#halted;
    const order = { origin, reference, profile, timeoutSeconds, halted };
    const report = await probe(this.#deps, order);
    if (report === undefined) return [];
    await this.#record(origin, report);
    onProbe(report);
    return [report];
  }

  async #record(origin: Origin, report: ProbeReport): Promise<void> {
    const { store, clock } = this.#deps;
    const { ca, reference, serial, result, stage, reason } = report;
    const configured = this.#configured();
    const others: readonly LastProbe[] = await lastProbesOf(store, configured);
    const detail = { ca: ca?.label ?? reference, stage, reason };
    const event = {
      ...authorOf(origin, ca?.tenant),
      action: "canary.probe",
      result,
      tenant: ca?.tenant,
      caId: ca?.id,
      serial,
      detail,
    } as const;
    const now = clock.now();
    await store.atomically(async (tx) => {
      if (configured.includes(reference)) await keepProbe(tx, others, report, now);
      await tx.audit.appendEvent(event, now);
    });
  }
}

const noneNamed = "No CA is configured (canary.cas); name one.";
