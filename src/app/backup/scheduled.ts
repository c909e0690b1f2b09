/** Backups that happen by themselves, and drills with them (BAK-2, BAK-3). */

import type { Config } from "#config/schema.ts";
import type { BackupHandlerDeps } from "#api/backups.ts";
import { ArchiveUnfit, type Protection } from "#core/backup/archive.ts";
import { Problem, refuse } from "#core/problems.ts";
import { addSeconds, parseTimestamp, timestamp } from "#core/time.ts";
import type { Origin } from "#domain/actor.ts";
import { lastScheduled, type Backups, type ScheduledRun } from "#domain/backup/backups.ts";
import { listRecordedArchives } from "#domain/backup/recorded-archives.ts";
import { describe } from "#app/describe.ts";
import { Failure } from "#cli/failure.ts";
import type { Clock, Log } from "#domain/ports.ts";
import { TargetFault } from "#domain/publishing/target.ts";
import type { Store } from "#domain/store.ts";
import type { AppOptions } from "#app/options.ts";
import { backupsOf, type BackupParts, configuredPlaces, openersOf } from "./backups.ts";
import type { ArchivePlace } from "./directory.ts";
import { ArchiveRetention } from "./retention.ts";

export interface ScheduledDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly backups: Backups;
  readonly config: () => Config;
  readonly configured: () => Promise<Protection | undefined>;
  /** Where archives go, as configured. */
  readonly places: () => readonly ArchivePlace[];
  /** Tries the newest archive in a process of its own; throws what went wrong. */
  readonly drill: () => Promise<void>;
}

/** Opens them over what is configured: what can be asked for, and what happens by itself. */
export function openBackups(deps: BackupParts & Pick<AppOptions, "log" | "read">): {
  readonly asked: BackupHandlerDeps;
  readonly scheduled: ScheduledBackups;
} {
  const { store, clock, log, inForce } = deps;
  const asked = backupsOf(deps);
  const { backups, configured } = asked;
  const drill = async () => drilledApart(inForce(), (await deps.read?.())?.fileName);
  const places = () => configuredPlaces(deps);
  const ports = { store, clock, log, backups, config: inForce, configured, places, drill };
  const scheduled = new ScheduledBackups(ports);
  const makeNow = (by: Origin) => scheduled.run(by).catch(refused);
  return { asked: { ...asked, makeNow }, scheduled };
}

/** What is wrong with a target, or with nobody being able to open it, as a refusal. */
function refused(error: unknown): never {
  if (error instanceof Failure || error instanceof TargetFault || error instanceof ArchiveUnfit) {
    throw refuse("unprocessable", {}, error.message);
  }
  throw error;
}

/** Throws what the process says when it fails; the outcome it has told the server by itself. */
async function drilledApart({ data_dir }: Config, fileName: string | undefined): Promise<void> {
  const program = Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, Bun.main];
  const named = fileName === undefined ? [] : ["--config", fileName];
  const line = [...program, "backup", "drill", "--json", "--data-dir", data_dir, ...named];
  const child = Bun.spawn(line, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0)
    throw new Failure(`The drill failed: ${said.trim().slice(0, 2000)}`);
}

const isRunning = (error: unknown): boolean =>
  error instanceof Problem && error.code === "operation_running";

/** The schedule of one instance. */
export class ScheduledBackups {
  readonly #deps: ScheduledDeps;
  readonly #retention = new ArchiveRetention();

  constructor(deps: ScheduledDeps) {
    this.#deps = deps;
  }

  /** A backup when one is due; of several replicas one makes it. */
  async runDue(origin: Origin): Promise<void> {
    if (!(await this.#isDue())) return;
    await this.#deps.store.exclusively("backup", async () => {
      if (!(await this.#isDue())) return;
      await this.run(origin).catch((error) => {
        // Somebody has one made just now.
        if (!isRunning(error)) throw error;
      });
    });
  }

  /** A backup into `backup.dir` now; gives its name. Throws `Failure`. */
  async run(origin: Origin): Promise<string> {
    const { clock } = this.#deps;
    const at = timestamp(clock.now());
    try {
      const artifact = await this.#made(origin);
      await this.#remembered({ at, result: "success", artifact, fault: "" });
      return artifact;
    } catch (error) {
      if (isRunning(error)) throw error;
      const told =
        error instanceof Failure || error instanceof TargetFault || error instanceof ArchiveUnfit;
      const fault = told ? error.message : describe(error);
      await this.#remembered({ at, result: "error", artifact: "", fault });
      throw error;
    }
  }

  /** A drill when one is due. */
  async drillDue(): Promise<void> {
    const { backups, clock, config, drill } = this.#deps;
    const last = parseTimestamp((await backups.last()).drill?.at ?? "");
    const hours = config().backup.verify.interval_hours;
    if (last !== undefined && clock.now() < addSeconds(last, hours * 3600)) return;
    // Without a backup there is nothing to try, and the next look is soon.
    if ((await lastScheduled(this.#deps.store))?.result !== "success") return;
    await drill();
  }

  async #isDue(): Promise<boolean> {
    const { store, clock, config } = this.#deps;
    const last = await lastScheduled(store);
    const at = parseTimestamp(last?.at ?? "");
    if (last === undefined || at === undefined) return true;
    // What has failed is tried again soon, and not all the time.
    const hours = last.result === "error" ? 1 : config().backup.schedule.interval_hours;
    return (
      clock.now() >= addSeconds(at, Math.min(hours, config().backup.schedule.interval_hours) * 3600)
    );
  }

  async #made(origin: Origin): Promise<string> {
    const { configured, places } = this.#deps;
    const protection = await configured();
    const there = places();
    if (there.length === 0 || protection === undefined) {
      throw new Failure(
        "A target (backup.dir, backup.s3.bucket), and backup.recipients or backup.passphrase, must be set.",
      );
    }
    const made: string[] = [];
    for (const place of there) made.push(await this.#madeIn(origin, place, protection));
    return made.join(", ");
  }

  async #madeIn(origin: Origin, place: ArchivePlace, protection: Protection): Promise<string> {
    const { backups, config, clock, log, store } = this.#deps;
    const { include_config, retention } = config().backup;
    const asked = { protection, withConfiguration: include_config };
    const { artifact, pieces } = await backups.begin(origin, asked, openersOf(protection));
    await place.write(artifact, pieces, async (sha256) => {
      const { backup } = await backups.last();
      if (backup?.sha256 === sha256) return { ...backup };
      await backups.failed(origin, artifact, "not_read_back");
      throw new Failure(`${artifact} does not read back as it was made.`);
    });
    // Only after a newer archive was read back and has its name.
    const instance = (await store.read.instance.value("instance_id")) ?? "";
    const { removed, unverified } = await this.#retention.run(place, instance, {
      retention,
      nowMs: clock.now(),
      findRecords: (names) => listRecordedArchives(store, names),
    });
    log.write("info", "backup_made", { artifact, target: place.name, removed });
    if (unverified.length > 0) {
      const files = unverified.slice(0, filesLogged);
      log.write("warn", "backup_unverified", {
        target: place.name,
        count: unverified.length,
        files,
      });
    }
    return artifact;
  }

  async #remembered(run: ScheduledRun): Promise<void> {
    await this.#deps.backups.remember(run);
  }
}

/** File names in one log line. */
const filesLogged = 20;
