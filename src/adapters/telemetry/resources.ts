/** Reads what this process uses; the library's own collectors report wrong numbers under Bun. */

import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

import type { Metrics } from "./families.ts";

/** Sets the process metrics before every scrape; gives what stops the delay monitor. */
export function observeResources(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  metrics.beforeScrape(() => {
    metrics.set("pki_process_cpu_seconds_total", {}, processorMs() / 1000);
    metrics.set("pki_process_resident_memory_bytes", {}, process.memoryUsage.rss());
    // The engine's own statistics walk the whole heap, which holds up every request meanwhile.
    metrics.set("pki_process_heap_bytes", {}, process.memoryUsage().heapUsed);
    metrics.set("pki_process_event_loop_delay_seconds", {}, delay.percentile(99) / 1e9);
    delay.reset();
    metrics.set("pki_process_open_fds", {}, openDescriptors());
  });
  return () => delay.disable();
}

/** Processor time of all threads of this process so far, in milliseconds. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Sets `pki_component_up` from a round of readiness probes before every scrape. */
export function observeComponents(metrics: Metrics, components: () => Promise<Probed>): void {
  metrics.beforeScrape(async () => {
    const { database, hsm } = await components();
    const up = (component: { readonly status: string }) => (component.status === "down" ? 0 : 1);
    metrics.set("pki_component_up", { component: "database" }, up(database));
    metrics.set("pki_component_up", { component: "hsm" }, up(hsm));
  });
}

interface Probed {
  readonly database: { readonly status: string };
  readonly hsm: { readonly status: string };
}

/** Entries of this process's descriptor table; 0 where the system has no such folder. */
function openDescriptors(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0; // Not Linux: the metric stays at 0 rather than failing the scrape.
  }
}
