/**
 * THE COMPOSITION ROOT: configuration → adapters → domain → callers; server, shell and tests open
 * the same one.
 */

import { storeAddress } from "#adapters/db/address.ts";
import { Passwords } from "#adapters/passwords.ts";
import { systemClock, systemRandom, systemStopwatch } from "#adapters/system.ts";
import { Metrics } from "#adapters/telemetry/families.ts";
import { claimPlaceInTime, openPlace } from "#app/founded.ts";
import { countEnvelope, openInstanceKeys } from "#app/keys.ts";
import { closeAll, type Closing } from "#app/closing.ts";
import type { App, Ground } from "#app/composed.ts";
import type { AppOptions } from "#app/options.ts";
import { runUnlessRolledBack } from "#app/postponed.ts";
import { atRest } from "#app/rest.ts";
import { createFailureHandler } from "#app/failure-log.ts";
import { useProxy } from "#app/proxy.ts";
import { openSecrets } from "#app/secrets.ts";
import type { Config } from "#config/schema.ts";
import type { Secrets } from "#config/secret.ts";
import { KeyCounts } from "#domain/audit/key-counts.ts";
import { reconcileIntents } from "#domain/certificates/reconcile.ts";
import { ClockWatch, stepFacts } from "#domain/clock-watch.ts";
import { underNewest } from "#domain/envelopes/newest.ts";
import { openSealing } from "#domain/envelopes/open.ts";
import { prepareInstance } from "#domain/instance/prepare.ts";
import type { Log } from "#domain/ports.ts";
import { fillEntryEnds } from "#domain/revocation/entry-end.ts";
import { rememberShards } from "#domain/revocation/scopes.ts";
import { refuseWhileRolledBack } from "#domain/rollback.ts";
import type { Store } from "#domain/store.ts";
import { declareTenants } from "#domain/tenants/open.ts";
import { Tenants } from "#domain/tenants/tenants.ts";

/**
 * Opens an instance in the order of PRC-1: data directory and its lock, database, keys, what the
 * first start creates, what a crash left open. Throws what kept it from opening; then nothing stays
 * open.
 */
export async function openApp(options: AppOptions): Promise<App> {
  const closing: Closing = [];
  try {
    const ground = await openGround(options, closing);
    const { compose } = await import("#app/composed.ts");
    return compose(options, ground, closing);
  } catch (error) {
    await closeAll(closing);
    throw error;
  }
}

/** Everything below the domain, in the order of PRC-1. */
async function openGround(options: AppOptions, closing: Closing): Promise<Ground> {
  const { config, log } = options;
  const [clock, random, stopwatch] = [systemClock, systemRandom, systemStopwatch];
  const current = { config };
  const inForce = () => current.config;

  // 1. The place: nobody else has it while this process does.
  const secrets = openSecrets(config);
  await useProxy(config, secrets);
  const address = await storeAddress(config, secrets, options.migrate);
  const directory = await claimPlaceInTime(options, address);
  closing.push(() => directory.release());

  // 2. The database, which must be of the same instance.
  const { store, place, instanceId } = await openPlace(options, address, secrets);
  closing.push(
    () => store.close(),
    atRest(() => store.rest()),
  );
  const metrics = new Metrics();

  // 3. The keys.
  const counts = keyCounts(store, log);
  const { keyPatienceMs, drill = false } = options;
  const heard = { metrics, counts, log, keyPatienceMs, drill };
  const opening = openInstanceKeys({ config, inForce, secrets, ...heard });
  // While the signers start, the upper half is loaded; commands that open nothing never load it.
  const [signers] = await Promise.all([opening, import("#app/composed.ts")]);
  closing.push(() => signers.close());

  // 4. What they and secrets of the database are sealed under.
  const sealing = await openSealing(config, {
    store,
    keys: signers,
    clock,
    random,
    log,
    pause: (milliseconds) => Bun.sleep(milliseconds),
    recovery: options.recovery,
    onOperation: (operation, succeeded) => countEnvelope(metrics, operation, succeeded),
  });
  const keys = refuseWhileRolledBack(underNewest(signers, sealing.keks), store);

  // 5. What the first start creates, and the configuration declares.
  const passwords = new Passwords();
  const { keepRootPassword } = options;
  const hashPassword = (password: string) => passwords.hash(password);
  const instance = await prepareInstance(
    { store, keys, clock, random, instanceId, hashPassword, keepRootPassword },
    await rootSecrets(config, secrets),
  );
  place.founded(instance.id);
  const tenants = new Tenants({ store, clock, random });
  const written = { store, log };
  await runUnlessRolledBack(written, () => declareTenants(tenants, config.tenants));
  closing.push(() => counts.writeLast());
  await sealing.prove();

  // 6. What a crash left open, and whether the clock may be believed.
  const clockWatch = new ClockWatch({
    store,
    clock,
    stopwatch,
    onPause: (pause) => log.write("error", "clock_stepped", stepFacts(pause)),
    onSkew: (seconds) => log.write("error", "clock_skewed", { database_ahead_seconds: seconds }),
  });
  await clockWatch.open();
  await runUnlessRolledBack(written, async () => {
    await rememberShards(store, config.crl.shards);
    await closeIntents(store, log);
    await fillEntryEnds(store);
  });
  const sealed = { signers, keys, counts, sealing };
  const begun = { instance, tenants, passwords, clockWatch };
  return { current, inForce, secrets, store, metrics, ...sealed, ...begun };
}

const keyCounts = (store: Store, log: Log) =>
  new KeyCounts({
    store,
    clock: systemClock,
    onFailure: createFailureHandler(log, "key_counts_failed"),
  });

const rootSecrets = async ({ root_user }: Config, secrets: Secrets) => ({
  password: await secrets.fresh("root_user.password", root_user.password),
  passwordHash: await secrets.fresh("root_user.password_hash", root_user.password_hash),
});

/** What a crash left open. */
async function closeIntents(store: Store, log: Log): Promise<void> {
  const orphans = await reconcileIntents(store, systemClock);
  if (orphans.length > 0) log.write("warn", "intents_orphaned", { count: orphans.length });
}
