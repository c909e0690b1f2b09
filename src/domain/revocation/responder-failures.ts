/**
 * Puts on record why a CA has no responder: every time in the log, in the chain when that is news
 * (RSP-2).
 */

import type { CaId } from "#core/ids.ts";
import type { GateReport } from "#core/policy/gates.ts";
import { Problem } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { aboutCa } from "#domain/authorities/events.ts";
import { refusingGates } from "#domain/certificates/events.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { systemOrigin } from "./system-origin.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly onFailure: (ca: CaId, error: unknown) => void;
}

/** Remembers what it has told last, by CA. */
export class ResponderFailures {
  readonly #deps: Deps;
  readonly #told = new Map<CaId, { readonly reasons: string; readonly at: Instant }>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Logs the failure, and appends an event unless the same one was told within the hour: anyone may
   * ask, so that many questions must not make the chain grow. Does not throw.
   */
  async tell(ca: CaRecord, error: unknown): Promise<void> {
    const { store, clock, onFailure } = this.#deps;
    onFailure(ca.id, error);
    const at = clock.now();
    const reasons = reasonsOf(error);
    const told = this.#told.get(ca.id);
    if (told?.reasons === reasons && Math.abs(at - told.at) < againMs) return;
    this.#told.set(ca.id, { reasons, at });
    try {
      await store.atomically((tx) => tx.audit.appendEvent(eventOf(ca, error, reasons), at));
    } catch (lost) {
      // The database is away, which may be why there is no responder; the log has both.
      this.#told.delete(ca.id);
      onFailure(ca.id, lost);
    }
  }

  /** There is a responder now; the next failure is news. */
  forget(ca: CaId): void {
    this.#told.delete(ca);
  }
}

function eventOf(ca: CaRecord, error: unknown, reasons: string) {
  const denied = error instanceof Problem && error.code === "gate_refused";
  const origin = systemOrigin("ocsp");
  return {
    ...aboutCa(origin, ca),
    action: "cert.issue" as const,
    result: denied ? ("denied" as const) : ("error" as const),
    targetName: ca.label,
    detail: { requester: origin.principal.subject, reasons },
  };
}

/**
 * The gates that refused, or the word of any other refusal; what is no refusal is in the log only.
 */
function reasonsOf(error: unknown): string {
  if (!(error instanceof Problem)) return "internal";
  const { gates } = error.facts;
  // A `gate_refused` of the ceremony says what every gate said.
  const refusing = Array.isArray(gates) ? refusingGates(gates as readonly GateReport[]) : "";
  return refusing === "" ? error.code : refusing;
}

const againMs = 3_600_000;
