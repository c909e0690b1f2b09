/** Health, readiness and metrics: what a load balancer and a scraper ask, without a credential. */

import { codingOf } from "#core/content-codings.ts";
import { formatRollback } from "#core/history/mark.ts";
import { Problem } from "#core/problems.ts";
import { oneOf, optional, shape, type ValueOf, words } from "#core/shape.ts";
import { operation } from "#domain/access/operation.ts";
import { Outcome } from "#domain/access/outcome.ts";
import { noTarget } from "#domain/access/targets.ts";
import type { Keys } from "#domain/keys.ts";
import type { Store } from "#domain/store.ts";
import { described, type PublicHandler } from "#http/public.ts";

export interface Build {
  readonly version: string;
  readonly commit?: string;
  readonly runtime: string;
}

export interface HealthDeps {
  readonly store: Pick<Store, "ping" | "rollback">;
  readonly keys: Pick<Keys, "facts">;
  readonly build: Build;
  /** True once the process is on its way out. */
  readonly draining: () => boolean;
  /** RFC 1952, without holding the thread. */
  readonly gzipped: (text: string) => Promise<Uint8Array<ArrayBuffer>>;
  readonly exposition: () => Promise<{ readonly type: string; readonly text: string }>;
}

/** What the probes ask. */
export interface ProbeDeps extends Pick<HealthDeps, "store" | "keys"> {
  /** False while the disk is nearly full. */
  readonly hasRoom: () => boolean;
  /** Returns the reason why the clock pauses issuance; undefined if it does not. */
  readonly issuancePause: () => string | undefined;
}

const componentShape = shape({
  status: oneOf(["up", "down", "skipped", "leader", "follower"]),
  detail: optional(words()),
  error: optional(words()),
});
const componentsShape = shape({
  database: componentShape,
  hsm: componentShape,
  leadership: componentShape,
});
const readinessShape = shape({
  status: oneOf(["ready", "not_ready"]),
  components: componentsShape,
});
const livenessShape = shape({
  status: oneOf(["ok"]),
  build: shape({ version: words(), commit: optional(words()), runtime: words() }),
});

/** One component of `/readyz`. */
export type Component = ValueOf<typeof componentShape>;
export type Components = ValueOf<typeof componentsShape>;

/** Asks database and key provider whether they work; many askers share one round of probes. */
export class Probes {
  readonly #deps: ProbeDeps;
  #latest: { readonly at: number; readonly components: Promise<Components> } | undefined;

  constructor(deps: ProbeDeps) {
    this.#deps = deps;
  }

  /** Ends within 3 s; an answer younger than a second is given again, so that asking is no load. */
  components(): Promise<Components> {
    const now = performance.now();
    if (this.#latest === undefined || now - this.#latest.at > sharedMs) {
      this.#latest = { at: now, components: this.#probe() };
    }
    return this.#latest.components;
  }

  async #probe(): Promise<Components> {
    const [database, hsm] = await Promise.all([
      within(this.#database(), databaseDown),
      within(this.#keys(), keysDown),
    ]);
    return { database, hsm, leadership: { status: "leader", detail: "single process" } };
  }

  async #database(): Promise<Component> {
    const rollback = this.#deps.store.rollback();
    if (rollback !== undefined) return { status: "down", error: formatRollback(rollback) };
    const room = this.#deps.hasRoom();
    // Little room may be none at all: then revocation is refused, too, which only a write can tell.
    await this.#deps.store.ping(!room);
    // Not down: what relying parties ask for, and revocation, go on (configuration
    // `database.min_free_mb`, PRC-4).
    if (!room) {
      return { status: "up", detail: "The disk is nearly full; issuance is refused." };
    }
    const pause = this.#deps.issuancePause();
    return pause === undefined ? { status: "up" } : { status: "up", detail: pause };
  }

  async #keys(): Promise<Component> {
    const providers = await this.#deps.keys.facts();
    if (providers.length === 0) return { status: "skipped" };
    const detail = providers.map(({ provider }) => provider).join(", ");
    const down = providers.find(({ available }) => !available);
    if (down === undefined) return { status: "up", detail };
    return { ...keysDown, detail, ...(down.error === undefined ? {} : { error: down.error }) };
  }
}

/** The handlers of the health rows. */
export function healthHandlers(deps: HealthDeps, probes: Probes) {
  const live = operation({
    summary: "Says that the process serves HTTP; asks no dependency.",
    target: noTarget,
    output: livenessShape,
    run: async () => ({ status: "ok" as const, build: deps.build }),
  });
  return {
    "health.live": live,
    "health.live_api": live,
    "health.ready": operation({
      summary: "Says whether database and key provider are healthy.",
      target: noTarget,
      output: readinessShape,
      run: async () => readiness(await probes.components(), deps.draining()),
    }),
    "metrics.read": described(metricsRead(deps), {
      summary: "What this process has counted, for Prometheus.",
      gives: ["text/plain"],
    }),
  };
}

type Readiness = ValueOf<typeof readinessShape>;

/**
 * PRC-3: what is away is told here, and is not told any more once it is back. Leadership never
 * decides; a draining server is not ready whatever its components are.
 */
export const isReady = ({ database, hsm }: Components, draining: boolean): boolean =>
  database.status !== "down" && hsm.status !== "down" && !draining;

function readiness(components: Components, draining: boolean): Readiness | Outcome<Readiness> {
  if (isReady(components, draining)) return { status: "ready", components };
  return new Outcome("unready", { status: "not_ready", components }, { retryAfterSeconds: 5 });
}

/** Metrics as text, and compressed once a client has requested that. */
interface Exposition {
  readonly type: string;
  readonly text: string;
  gzipped: Promise<Uint8Array<ArrayBuffer>> | undefined;
}

/**
 * Returns the metrics, which all requests of one second share: computing them takes long with many
 * CAs, and any client may request them.
 */
function shareExposition(exposition: HealthDeps["exposition"]): () => Promise<Exposition> {
  let latest: { readonly at: number; readonly metrics: Promise<Exposition> } | undefined;
  return () => {
    const now = performance.now();
    if (latest !== undefined && now - latest.at <= sharedMs) return latest.metrics;
    const metrics = exposition().then(({ type, text }) => ({ type, text, gzipped: undefined }));
    const current = { at: now, metrics };
    latest = current;
    metrics.catch(() => {
      // A failure is not kept: the next request computes the metrics again.
      if (latest === current) latest = undefined;
    });
    return metrics;
  };
}

function metricsRead(deps: Pick<HealthDeps, "exposition" | "gzipped">): PublicHandler {
  const read = shareExposition(deps.exposition);
  return async ({ request }) => {
    const metrics = await read();
    const { type, text } = metrics;
    const headers = new Headers({
      "content-type": type,
      "cache-control": "no-store",
      vary: "accept-encoding",
    });
    const coding = codingOf(request.headers.get("accept-encoding") ?? "", ["gzip"]);
    if (coding === undefined) {
      headers.set("content-length", String(Buffer.byteLength(text)));
      return new Response(text, { headers });
    }
    // Three hundred kilobytes that are mostly the same words, for whoever asks every few seconds.
    metrics.gzipped ??= deps.gzipped(text);
    const octets = await metrics.gzipped;
    headers.set("content-encoding", coding);
    headers.set("content-length", String(octets.byteLength));
    return new Response(octets, { headers });
  };
}

/**
 * The probe's answer, or `down` when it fails or takes longer than 3 s; its own words stay inside.
 */
async function within(probe: Promise<Component>, down: Component): Promise<Component> {
  let timer: Timer | undefined;
  const late = new Promise<Component>((resolve) => {
    timer = setTimeout(() => resolve(down), probeMsMax);
  });
  // A failed probe is an answer, not an error; a refusal has a sentence from the closed list.
  const settled = probe.catch((error: unknown) =>
    error instanceof Problem ? { ...down, error: error.message } : down,
  );
  const component = await Promise.race([settled, late]);
  clearTimeout(timer);
  return component;
}

const databaseDown: Component = { status: "down", error: "The database does not answer." };
const keysDown: Component = { status: "down", error: "The key provider does not answer." };
const probeMsMax = 3_000;
const sharedMs = 1_000;
