/** A CA whose profile `ct` asks the test's transparency logs. */

import { ProfileSet } from "#core/policy/profiles.ts";
import type { Profile } from "#core/policy/profile.ts";
import type { CtPolicy } from "#core/policy/transparency.ts";
import { logKeyOf } from "#core/transparency/log-keys.ts";
import type { CtLog as RegisteredLog } from "#domain/transparency/logs.ts";
import { CtLog, type CtLogOptions } from "#test/support/servers/ct-log.ts";
import { csr, initRoot, issuanceWorld, leafRequest, rootOrigin } from "./issuance.ts";

/** A log by name; two with the same first letter have the same operator. */
export type NamedLogs = Readonly<Record<string, Omit<CtLogOptions, "now">>>;

/** Opens logs and a root; `policy` and `profile` change what the profile `ct` says. */
export async function ctWorld(
  logs: NamedLogs,
  policy: Partial<CtPolicy> = {},
  profile: Partial<Profile> = {},
) {
  const running = new Map<string, CtLog>();
  const world = issuanceWorld({
    profiles: [{ ...new ProfileSet().named("server"), name: "ct", ...profile, ct: ct(policy) }],
    logs: () => [...running].map(([name, log]) => registered(name, log, logs[name]?.api)),
  });
  for (const [name, options] of Object.entries(logs)) {
    running.set(name, new CtLog({ ...options, now: () => world.clock.now() }));
  }
  const root = await initRoot(world);
  const log = (name: string): CtLog => {
    const found = running.get(name);
    if (found === undefined) throw new Error(`there is no log ${name}`);
    return found;
  };
  return {
    ...world,
    root,
    log,
    running,
    issue: () => world.issuance.issue(rootOrigin, root, leafRequest({ profile: "ct", csr: csr() })),
    events: () => world.store.listEvents(),
    ledger: () => world.store.listLedger(),
    serials: () => world.store.listSerials(),
    inclusions: () => world.store.listRows("inclusions"),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...running.values()].map((one) => one.stop()));
    },
  };
}

export type CtWorld = Awaited<ReturnType<typeof ctWorld>>;

const ct = (policy: Partial<CtPolicy>): CtPolicy => ({
  enabled: true,
  logs: [],
  minScts: 1,
  policy: "none",
  minDistinctOperators: 0,
  requireOperators: [],
  failOpen: false,
  timeoutSeconds: 5,
  retries: 0,
  ...policy,
});

const registered = (name: string, log: CtLog, api: CtLogOptions["api"]): RegisteredLog => ({
  name,
  operator: name.slice(0, 1),
  api: api ?? "rfc6962",
  url: log.url,
  usable: true,
  monitoringUrl: log.url,
  key: logKeyOf(log.spki),
  mmdSeconds: 86_400,
});
