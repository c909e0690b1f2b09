/** A canary in memory over a root and an issuing CA; what it asks can be answered wrongly. */

import { passingRequest } from "#adapters/passing-request.ts";
import { pathsHere } from "#adapters/paths/thread.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { Canary, type CanaryDeps, type CanarySections } from "#domain/canary/canary.ts";
import type { ProbeReport } from "#domain/canary/stages.ts";
import { caRequest, initRoot, rootOrigin } from "./issuance.ts";
import { revokingWorld, type RevokingOptions } from "./revoking-world.ts";

export interface CanaryOptions extends RevokingOptions {
  /** Stands in for what the domain would do. */
  readonly instead?: (deps: CanaryDeps) => Partial<CanaryDeps>;
}

/** Root `root`, CA `issuing` below it, and a canary that probes the latter. */
export async function canaryWorld({ instead, ...options }: CanaryOptions = {}) {
  const world = revokingWorld({ activating: true, ...options });
  const { store, clock, authorities, revoker, refresh } = world;
  const root = await initRoot(world, { label: "root" });
  const below = (label: string): Promise<CaRecord> =>
    authorities.issueIntermediate(rootOrigin, root, caRequest({ label }));
  const issuing = await below("issuing");
  const settings: { canary: CanarySections["canary"] } = {
    canary: {
      enabled: true,
      interval_minutes: 15,
      cas: ["issuing"],
      profile: "canary",
      timeout_seconds: 60,
    },
  };
  const room = { enough: true };
  const probes: ProbeReport[] = [];
  const faults: unknown[] = [];
  const deps: CanaryDeps = {
    ...world,
    revoker,
    paths: pathsHere,
    stopwatch: clock.stopwatch,
    patience: { within: (_seconds, work) => work },
    request: passingRequest,
    publishDue: () => refresh.deltas(),
    // A list begins a second after the one before it, so time has to pass.
    pause: async () => clock.advance(1),
    config: () => settings,
    hasRoom: () => room.enough,
    onFault: (error) => faults.push(error),
    onProbe: (report) => probes.push(report),
  };
  const canary = new Canary({ ...deps, ...instead?.(deps) });
  const events = () => store.listEvents();
  const told = () => events().filter(({ action }) => action === "canary.probe");
  /** What was issued to probes, by its status and reason. */
  const canaries = () =>
    store
      .listRows("certificates")
      .filter(({ marker }) => marker === "canary")
      .map(({ status, reason }) => `${status} ${reason ?? ""}`);
  const set = (more: Partial<CanarySections["canary"]>) => {
    settings.canary = { ...settings.canary, ...more };
  };
  return { ...world, root, issuing, below, canary, set, room, probes, faults, told, canaries };
}

export type CanaryWorld = Awaited<ReturnType<typeof canaryWorld>>;
