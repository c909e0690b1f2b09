/**
 * Judges the host: room on the disk, how long a write takes to be durable, limits of the process,
 * the clock.
 */

import { failed, type Finding, gathered, passed, warned } from "./finding.ts";

/** A volume as the operating system counts it. */
export interface VolumeFacts {
  readonly path: string;
  readonly bytesTotal: number;
  readonly bytesFree: number;
  /** 0 where the file system has no fixed number of them. */
  readonly inodesTotal: number;
  readonly inodesFree: number;
  /** What of the instance is written to it. */
  readonly holds: "data" | "backups" | "snapshots";
}

/**
 * `bytesPerDay` is how fast the database grows; undefined when nobody can tell. Old backups and
 * snapshots make room for newer ones.
 */
export function judgeVolume(
  volume: VolumeFacts,
  limits: { readonly minFreeMegabytes: number; readonly bytesPerDay: number | undefined },
): Finding {
  const { path, bytesTotal, bytesFree, inodesTotal, inodesFree } = volume;
  const free = `${path} has ${sizeText(bytesFree)} free of ${sizeText(bytesTotal)}`;
  if (bytesFree < limits.minFreeMegabytes * 2 * megabyte) {
    const least = `${limits.minFreeMegabytes} MiB`;
    return volume.holds === "data"
      ? failed(`${free}; issuance stops at ${least}.`)
      : failed(`${free}, for ${volume.holds}: less than twice the ${least} that must stay free.`);
  }
  if (inodesTotal > 0 && inodesFree < inodesTotal / 100) {
    return failed(`${path} has ${inodesFree} inodes free of ${inodesTotal}.`);
  }
  if (bytesFree < 2 * gigabyte || bytesFree < bytesTotal / 10) return warned(`${free}.`);
  const grows = volume.holds === "data" ? limits.bytesPerDay : undefined;
  const days = grows === undefined ? undefined : bytesFree / grows;
  if (days !== undefined && days < daysMin) {
    return warned(`${free}, enough for ${Math.floor(days)} days at the present growth.`);
  }
  return passed(`${free}.`);
}

/** What a database was told about keeping its word, and how fast its disk is. */
export interface DurabilityFacts {
  readonly settings: readonly {
    readonly name: string;
    readonly value: string;
    readonly durable: boolean;
  }[];
  /** Milliseconds of each test write with fsync; empty where none was made. */
  readonly writesMs: readonly number[];
  /** True for a network mount whose locks do not hold. */
  readonly withoutLocks: boolean;
}

/** Fails for whatever could lose a commit that was acknowledged. */
export function judgeDurability({ settings, writesMs, withoutLocks }: DurabilityFacts): Finding {
  const median = medianOf(writesMs);
  const findings = settings
    .filter(({ durable }) => !durable)
    .map(({ name, value }) => failed(`${name} is ${value}.`));
  if (withoutLocks) findings.push(failed("The data directory is a network mount without locking."));
  if (median !== undefined && median > medianMsMax) {
    findings.push(
      warned(`The median of ${writesMs.length} test writes is ${Math.round(median)} ms.`),
    );
  }
  const said = settings.map(({ name, value }) => `${name} ${value}`).join(", ");
  const timed = median === undefined ? "" : ` Test writes take ${median.toFixed(1)} ms.`;
  return gathered(findings, `${said === "" ? "Nothing is set wrong" : said}.${timed}`);
}

/** Which database this is; `replicaLagSeconds` is that of the replica furthest behind. */
export function judgeEngine(facts: {
  readonly engine: "sqlite" | "postgres";
  readonly version: string;
  readonly replicaLagSeconds: number | undefined;
  readonly isReplicatedAsynchronously: boolean;
}): Finding {
  const { engine, version, replicaLagSeconds = 0, isReplicatedAsynchronously } = facts;
  const { name, least } = engines[engine];
  const findings = reaches(version, least) ? [] : [failed(`${name} ${version} is too old.`)];
  if (replicaLagSeconds > lagSecondsMax) {
    findings.push(warned(`A replica is ${Math.round(replicaLagSeconds)} s behind.`));
  }
  if (isReplicatedAsynchronously) {
    findings.push(
      warned(
        "A standby is replicated asynchronously: synchronous_standby_names is empty, or " +
          "synchronous_commit does not wait for it. A fail-over can lose acknowledged changes.",
      ),
    );
  }
  return gathered(findings, `${name} ${version}.`);
}

/** True when a dotted version is the least one or later. */
function reaches(version: string, least: readonly number[]): boolean {
  const parts = version.split(".").map((part) => Number.parseInt(part, 10));
  for (const [index, wanted] of least.entries()) {
    const part = parts[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}

/** What the operating system lets this process do. */
export interface ProcessFacts {
  /** Undefined where nobody says, or without limit. */
  readonly openFilesMax: number | undefined;
  /** Files that are open without any client; a connection takes the others. */
  readonly openFilesOwn: number;
  readonly filesPerConnection: number;
  /** What this process and its children may use together, and who says so. */
  readonly memory: { readonly bytesMax: number; readonly saidBy: string };
  /** Directories that must be written to; those that cannot be. */
  readonly unwritable: readonly string[];
  /** Directories the PKCS#11 addon may be unpacked to that forbid executing. */
  readonly unexecutable: readonly string[];
}

/**
 * `tokens` is true with a PKCS#11 module. Whoever runs out of descriptors accepts nobody, and
 * whoever runs out of memory is killed: what is too little is told with what it is enough for.
 */
export function judgeProcess(facts: ProcessFacts, tokens: boolean): Finding {
  const { unwritable, unexecutable } = facts;
  const findings = unwritable.map((path) => failed(`${path} cannot be written to.`));
  if (tokens) {
    const sentence = "forbids executing, and the PKCS#11 addon is unpacked there.";
    findings.push(...unexecutable.map((path) => failed(`${path} ${sentence}`)));
  }
  const [files, memory] = [filesAllowed(facts), memoryAllowed(facts)];
  return gathered([...findings, files, memory].filter(isWrong), `${files.detail} ${memory.detail}`);
}

const isWrong = ({ status }: Finding): boolean => status !== "pass";

function filesAllowed(facts: ProcessFacts): Finding {
  const { openFilesMax, openFilesOwn, filesPerConnection } = facts;
  if (openFilesMax === undefined) return passed("Any number of files may be open.");
  const connections = Math.max(0, Math.floor((openFilesMax - openFilesOwn) / filesPerConnection));
  const each = filesPerConnection === 1 ? "one" : String(filesPerConnection);
  const enough = `enough for ${connections} connections at once, which take ${each} each`;
  const told = `${openFilesMax} files may be open, ${enough}.`;
  if (openFilesMax < 1024) return failed(told);
  return openFilesMax < 8192 ? warned(told) : passed(told);
}

function memoryAllowed({ memory: { bytesMax, saidBy } }: ProcessFacts): Finding {
  const told = `${sizeText(bytesMax)} of memory may be used (${saidBy}).`;
  if (bytesMax >= memoryEnough) return passed(told);
  const taken = `${told} Server and signers take about ${sizeText(memoryTaken)} under load`;
  return bytesMax < memoryTaken
    ? failed(`${taken}, and are killed when there is not so much.`)
    : warned(`${taken}; bulk requests of many megabytes take more.`);
}

/** Seconds by which clocks differ; positive when the host is behind. */
export function judgeClock(skew: {
  readonly databaseSeconds: number | undefined;
  /**
   * How far the newest event lies in the future; negative in the past, undefined without events.
   */
  readonly newestEventSeconds: number | undefined;
}): Finding {
  const { databaseSeconds = 0, newestEventSeconds = -1 } = skew;
  const findings: Finding[] = [];
  const apart = Math.abs(databaseSeconds);
  const told = `The clocks of host and database are ${apart.toFixed(1)} s apart.`;
  if (apart > 10) findings.push(apart > 60 ? failed(told) : warned(told));
  if (newestEventSeconds > jitterSeconds) {
    findings.push(
      failed(`The newest event lies ${Math.ceil(newestEventSeconds)} s in the future.`),
    );
  }
  const good =
    skew.databaseSeconds === undefined ? "The database has the clock of the host." : told;
  return gathered(findings, `${good} No event lies in the future.`);
}

/** How the work that is done by one process at a time goes on, as one of them sees it. */
export interface LeadershipFacts {
  /** Jobs that have not succeeded in time. */
  readonly late: readonly string[];
  /** Since any job has succeeded. */
  readonly idleSeconds: number;
  /** In the last hour: work done beside another holder of its lease, and leases lost under work. */
  readonly shared: number;
  readonly lost: number;
}

/**
 * Every process works, and whoever holds the lease of a work does it: nobody leads where no work
 * succeeds. Two holders of a lease waste work and spoil none (`Store.exclusively`).
 */
export function judgeLeadership({ late, idleSeconds, shared, lost }: LeadershipFacts): Finding {
  const findings: Finding[] = [];
  if (idleSeconds > idleSecondsMax) {
    findings.push(failed(`No job has succeeded for ${Math.floor(idleSeconds)} s.`));
  }
  if (shared > 0) {
    findings.push(
      warned(`Work done beside another holder of its lease, in the last hour: ${shared}.`),
    );
  }
  if (lost > lostMax) findings.push(warned(`Leases lost in the last hour: ${lost}.`));
  if (late.length > 0) {
    findings.push(warned(`Jobs that did not succeed in time: ${late.join(", ")}.`));
  }
  return gathered(findings, "Every job succeeds in time, each done by one process.");
}

function medianOf(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function sizeText(bytes: number): string {
  if (bytes < gigabyte) return `${Math.floor(bytes / megabyte)} MiB`;
  return `${(bytes / gigabyte).toFixed(1)} GiB`;
}

const megabyte = 1_048_576;
const gigabyte = 1024 * megabyte;
/** Measured: 115 MiB at rest, 240 MiB while 32 clients issue as fast as they can. */
const memoryTaken = 256 * megabyte;
const memoryEnough = 512 * megabyte;
/**
 * Replicas may be this far apart without anything being wrong; a larger step back pauses issuance
 * (PRC-4).
 */
const jitterSeconds = 5;
const engines = {
  sqlite: { name: "SQLite", least: [3, 45] },
  postgres: { name: "PostgreSQL", least: [14] },
} as const;
const lagSecondsMax = 10;
const daysMin = 14;
const idleSecondsMax = 60;
const lostMax = 3;
const medianMsMax = 50;
