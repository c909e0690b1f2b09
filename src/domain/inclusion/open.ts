/**
 * Puts the parts of transparency together: SCTs before a signature, the watch over them, and
 * what was lost between.
 */

import { SctCollector } from "#domain/certificates/scts.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Revoker } from "#domain/revocation/revoke.ts";
import type { Store } from "#domain/store.ts";
import { InclusionMonitor, type InclusionSection } from "./inclusion.ts";
import type { LogClient, LogRegistry } from "#domain/transparency/logs.ts";
import { revokeLost } from "./lost.ts";

export interface TransparencyDeps {
  readonly store: Store;
  readonly client: LogClient;
  readonly clock: Clock;
  readonly random: Random;
  /** The logs there are; asked anew for each certificate. */
  readonly registry: () => LogRegistry;
  readonly settings: InclusionSection;
  /**
   * Asked when a public precertificate came to nothing; revocation is opened after transparency.
   */
  readonly revoker: () => Pick<Revoker, "revoke">;
}

/** Everything transparency does. */
export interface Transparency {
  readonly scts: SctCollector;
  readonly monitor: InclusionMonitor;
  /** Revokes the serials of public precertificates that came to nothing. */
  readonly lost: () => Promise<void>;
}

/** Opens it; nothing is read or started yet. */
export function openTransparency(deps: TransparencyDeps): Transparency {
  const { store, client, clock, random, revoker, settings, registry } = deps;
  const lost = () => revokeLost({ store, revoker });
  return {
    scts: new SctCollector({ client, registry, clock, random, lost }),
    monitor: new InclusionMonitor({ store, client, registry, clock, settings }),
    lost,
  };
}
