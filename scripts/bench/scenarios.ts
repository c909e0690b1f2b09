/** The scenarios by name, in the order in which they run. */

import { createHsmToken } from "#test/support/keys/soft-token.ts";
import { access } from "./access.ts";
import { acme } from "./acme.ts";
import { answers } from "./answers.ts";
import type { ScenarioName } from "./arguments.ts";
import { attacks } from "./attacks.ts";
import { backup } from "./backup.ts";
import { bulk } from "./bulk.ts";
import { bulkRevocation } from "./bulk-revocation.ts";
import { consolePages } from "./console.ts";
import { crls } from "./crl.ts";
import { feed } from "./feed.ts";
import { bareServer, rawCommits, rawSigning } from "./floors.ts";
import { gates } from "./gates.ts";
import { inventory } from "./inventory.ts";
import { keys } from "./keys.ts";
import { memory } from "./memory.ts";
import { mixed } from "./mixed.ts";
import { ocspTls } from "./ocsp-tls.ts";
import { postgres } from "./postgres.ts";
import { figure, section } from "./print.ts";
import { ready } from "./ready.ts";
import { type Bench, type KeyHome, softwareKeys } from "./scenario.ts";
import { starts } from "./starts.ts";
import { upgrade } from "./upgrade.ts";

interface Scenario {
  /** False for those that only run when they are named. */
  readonly byItself: boolean;
  readonly run: (bench: Bench) => Promise<void>;
}

export const scenarios: Readonly<Record<ScenarioName, Scenario>> = {
  floors: { byItself: true, run: floors },
  software: { byItself: true, run: (bench) => keys(bench, softwareKeys) },
  softhsm: { byItself: true, run: (bench) => withToken((home) => keys(bench, home)) },
  "ocsp-tls": { byItself: true, run: ocspTls },
  memory: {
    byItself: true,
    run: async (bench) => {
      await memory(bench, softwareKeys);
      await withToken((home) => memory(bench, home));
    },
  },
  ready: { byItself: true, run: ready },
  upgrade: { byItself: true, run: upgrade },
  mixed: { byItself: true, run: mixed },
  postgres: { byItself: true, run: postgres },
  ocsp: { byItself: false, run: answers },
  feed: { byItself: true, run: feed },
  gates: { byItself: true, run: gates },
  access: { byItself: true, run: access },
  acme: { byItself: true, run: acme },
  attacks: { byItself: false, run: attacks },
  bulk: { byItself: true, run: (bench) => bulk(bench) },
  "bulk-revocation": { byItself: true, run: (bench) => bulkRevocation(bench) },
  crl: { byItself: true, run: (bench) => crls(bench) },
  backup: { byItself: false, run: backup },
  starts: { byItself: false, run: starts },
  console: { byItself: false, run: consolePages },
  inventory: { byItself: true, run: (bench) => inventory(bench, "SQLite") },
  "inventory-postgres": { byItself: false, run: (bench) => inventory(bench, "PostgreSQL") },
};

async function floors({ seconds }: Bench): Promise<void> {
  section("floors", `floors (${seconds} s each, ${navigator.hardwareConcurrency} cores)`);
  const short = Math.min(2, seconds);
  for (const [name, label, measure] of [
    ["signing", "raw P-256 signing, one thread", async () => rawSigning(short)],
    ["commits", "raw SQLite commits, synchronous=FULL", () => rawCommits(short)],
    ["server", "bare Bun.serve, 1.6 kB answer, cleartext", () => bareServer(seconds)],
    ["server_tls", "the same over TLS", () => bareServer(seconds, { tls: true })],
  ] as const) {
    figure({ name, label, value: await measure(), unit: "/s" });
  }
}

/** Runs with the keys in a token of its own. */
async function withToken(run: (home: KeyHome) => Promise<void>): Promise<void> {
  const { config, env, remove } = await createHsmToken();
  try {
    await run({ name: "softhsm", title: "SoftHSM keys", config, env });
  } finally {
    remove();
  }
}
