/** What a command is: its words, what it takes, and what it does with an instance. */

import { type ArgsDef, type CommandDef, defineCommand } from "citty";

import type { Environment } from "#config/environment.ts";
import type { Read, YamlReader } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import type { HsmToken, Opener } from "#core/backup/archive.ts";
import type { Chapter } from "#core/manual/markdown.ts";
import type { PreflightReport } from "#core/preflight/report.ts";
import type { ProofResult } from "#core/proofs/proofs.ts";
import type { PreflightRequest } from "#domain/preflight/run.ts";

import type { Client } from "./client.ts";
import { type Args, type Given, type Globals, globalArgs } from "./args.ts";
import type { Io } from "./io.ts";
import type { LocalApp } from "./reach.ts";
import type { Fitting } from "./table.ts";

/** What `main.ts` lends the command line: everything that needs the composition root. */
export interface CliDeps {
  /**
   * Opens the application under the lock of its data directory; throws an Error whose message names
   * who holds it, and `NoInstance` where there is none and `mayFound` is false.
   */
  readonly open: (config: Config, mayFound: boolean) => Promise<LocalApp>;
  /** Serves until told to stop; gives the exit code. */
  readonly serve: (request: ServeRequest) => Promise<number>;
  /** Brings the database schema up to the binary, or says what that would do. */
  readonly migrate: (config: Config, mode: MigrationMode) => Promise<MigrationReport>;
  /** Moves the database of one configuration to that of another, or says what that would move. */
  readonly move: (config: Config, to: Config, asked: MoveAsked) => Promise<MoveReport>;
  /** Proves the database of this configuration, beside a server that runs on it or without one. */
  readonly verify: (config: Config, asked: VerifyAsked) => Promise<VerifyReport>;
  /** Reads what a running server is held against: an event, and what is new behind another. */
  readonly verifySample: (
    config: Config,
    asked: { readonly since: number; readonly event: number },
  ) => Promise<VerifySample>;
  /**
   * Looks at what there is of an instance nobody serves; throws an Error whose message names who
   * holds it, and `NoInstance` where there is neither a configuration file nor a data directory to
   * look at.
   */
  readonly preflight: (
    read: Read,
    env: Environment,
    request: PreflightRequest,
  ) => Promise<PreflightReport>;
  /** Seals a private key for the key store at `address`; nobody in between can read it. */
  readonly sealFor: (address: Uint8Array, content: Uint8Array) => Uint8Array;
  /** What host and database tell whoever helps. */
  readonly support: () => Promise<SupportFacts>;
  /** What is done with archives beside the instance they are of. */
  readonly archives: Archives;
  /** The chapters of the operator's manual. */
  readonly manual: () => readonly Chapter[];
  /** What watches instances from outside, made of the metrics. */
  readonly watching: Watching;
  readonly version: VersionFacts;
  /** Name of the user this process runs as. */
  readonly osUser: string;
}

/** A start of the server: the configuration, and how to read it again for a reload. */
export interface ServeRequest {
  readonly config: Config;
  readonly fileName: string | undefined;
  readonly warnings: readonly string[];
  /**
   * The main listener may speak cleartext: asked for by name, and nothing that was set asks for TLS
   * (ENV-5).
   */
  readonly cleartext: boolean;
  /** Lower hex SHA-256 of the effective values. */
  readonly digest: string;
  readonly migrate: boolean;
  /** Another instance may begin where the database of an earlier one is gone. */
  readonly foundAnew: boolean;
  /** The configuration as it reads now, with every fault and warning (RLD-1, RLD-3). */
  readonly read: (yaml: YamlReader) => Promise<Read>;
}

/** What is looked at for a support bundle; each may throw, which is then what is told. */
export interface SupportFacts {
  host(): unknown;
  /** The process that serves, or this one. */
  serving(config: Config): unknown;
  disk(config: Config): unknown;
  database(config: Config): Promise<unknown>;
  /** The newest first, with everything that stands in them. */
  events(config: Config, max: number): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** What other programs watch instances with. */
export interface Watching {
  /** A dashboard in the JSON model of Grafana. */
  dashboard(): Promise<Readonly<Record<string, unknown>>>;
  /** Alerting rules, for the scrape job of that name and backups made so often. */
  alerts(asked: {
    readonly job: string;
    readonly backupIntervalSeconds: number;
    readonly canaryIntervalSeconds: number;
  }): Promise<AlertRules>;
}
/** Alerting rules in their groups, by the names Prometheus has for their members. */
export interface AlertRules {
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly for: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly annotations: Readonly<Record<string, string>>;
    }[];
  }[];
}

/** What opens archives, and what becomes of them; each throws `ArchiveUnfit` and `Failure`. */
export interface Archives {
  /** A key pair of the age format. */
  newIdentity(): Promise<{ readonly identity: string; readonly recipient: string }>;
  /** What opens the archives of an instance by its configuration; undefined where nothing does. */
  configuredOpener(config: Config): Promise<Opener | undefined>;
  /** Looks at one that nothing opens here: its digest, and the head of the format. */
  lookAt(archive: string): Promise<ArchiveLook>;
  /**
   * Returns the places where the archives of an instance go; `digests` is by file name, newest
   * first, as its events record them.
   */
  drillPlaces(config: Config, digests: ReadonlyMap<string, string>): Promise<readonly DrillPlace[]>;
  /** Tries an archive in a throw-away instance. */
  drill(config: Config, source: ArchiveSource): Promise<DrillReport>;
  /** Proves what is in an archive, as `verify` does an instance. */
  verify(config: Config, source: ArchiveSource, asked: VerifyAsked): Promise<VerifyReport>;
  /** Makes it the instance that a configuration names. */
  restore(config: Config, source: ArchiveSource, asked: RestoreAsked): Promise<RestoreReport>;
}
/** Where archives go, and the newest is found. */
export interface DrillPlace {
  /** As the configuration calls it. */
  readonly place: "dir" | "s3";
  /** Id of the instance that the archives must belong to. */
  readonly instance: string;
  /**
   * Works on the newest archive, by its name and what gives its file; what had to be fetched is
   * gone afterwards. Throws `Failure` where there is none, and for a store that does not answer.
   */
  withNewest<T>(
    work: (newest: NewestArchive, file: () => Promise<string>) => Promise<T>,
  ): Promise<T>;
}
/** Archive that a drill tries. */
export interface NewestArchive {
  readonly artifact: string;
  /** Lowercase hex, from the event that recorded it; undefined if no event names the archive. */
  readonly sha256: string | undefined;
}
export interface ArchiveSource {
  /** File of the archive. */
  readonly archive: string;
  readonly opener: Opener;
  /** Fingerprint of the ledger key that must vouch for it; undefined takes the archive's word. */
  readonly ledgerKey: string | undefined;
  /** Id of the instance it must belong to; undefined for an archive of any instance. */
  readonly instance?: string | undefined;
}
export interface RestoreAsked {
  readonly dryRun: boolean;
  /** Also when keys of CAs are missing. */
  readonly allowMissingKeys: boolean;
  /** Without the KEK the archive was made under: by its data keys, under a new one. */
  readonly newKek: boolean;
  /** Also when a later archive is known. */
  readonly older: boolean;
  /** Lists that were published after the archive was made, PEM. */
  readonly crls: readonly { readonly file: string; readonly text: string }[];
}
/** What can be said of an archive without opening it. */
export interface ArchiveLook {
  readonly opened: false;
  /** Lower hex. */
  readonly sha256: string;
  readonly size: number;
  /** True when that is what stands beside it. */
  readonly as_made: boolean;
  /** Who can open it: so many recipients, or a passphrase. */
  readonly openers: string;
}
/** Keys that an archive only refers to, held against the token that is here. */
export interface HsmKeysReport {
  /** Tokens that had them. */
  readonly tokens: readonly HsmToken[];
  /** Serial of the one that is here; empty without one. */
  readonly here: string;
  readonly expected: number;
  /** Roles and labels of those that are not on it. */
  readonly missing: readonly string[];
}
interface ArchiveFacts {
  readonly instance_id: string;
  readonly created_at: string;
  readonly audit_seq: number;
  readonly ledger_number: number;
  /** Of all tables. */
  readonly rows: number;
  /** Lower hex SubjectPublicKeyInfo of the ledger key that vouches for it. */
  readonly ledger_key: string;
}

/** Entries of a list whose serial pkid cannot store. */
export interface SkippedEntries {
  readonly file: string;
  readonly entries: number;
  /** The first of their serials, in decimal. */
  readonly serials: readonly string[];
}

export interface RestoreReport extends ArchiveFacts {
  readonly dry_run: boolean;
  readonly version: string;
  readonly database: string;
  /** Between the archive and now. */
  readonly lost_seconds: number;
  readonly authorities: number;
  readonly keys: { readonly status: string; readonly detail: string };
  /** Revocations that CRLs brought. */
  readonly imported: number;
  /** Lists with entries whose serial cannot be stored. */
  readonly skipped: readonly SkippedEntries[];
  /** CAs without a new list; `next` is what to do where the key is missing, else empty. */
  readonly unsigned: readonly {
    readonly ca: string;
    readonly label: string;
    readonly reason: string;
    readonly next: string;
  }[];
  /** Undefined where the archive refers to none. */
  readonly hsm?: HsmKeysReport | undefined;
  /** The KEK that was made, or would be. */
  readonly kek?: NewKekReport;
  /** Where a later archive of the instance was looked for. */
  readonly later: {
    readonly looked_in: readonly string[];
    readonly unseen: readonly { readonly place: string; readonly why: string }[];
    /** Those there are, which was allowed. */
    readonly found: readonly string[];
  };
}
export interface NewKekReport {
  /** Where it is held. */
  readonly provider: string;
  readonly label: string;
  readonly version: number;
  /** Values of the database under it. */
  readonly values: number;
  /** Software-held private keys under it. */
  readonly private_keys: number;
  /** Labels of private keys that no data key of the archive opens. */
  readonly lost_keys: readonly string[];
}
export interface DrillReport extends ArchiveFacts {
  /** How many of `pkid verify` were made; all of them hold. */
  readonly proofs: number;
  /** What the archive opens by itself, should its KEK be lost. */
  readonly data_keys: {
    /** Values of the database that their data keys open: all there are. */
    readonly values: number;
    /** Software-held private keys that theirs open. */
    readonly private_keys: number;
    /** Labels of those without one. */
    readonly missing: readonly string[];
    /** Why an archive has none of private keys. */
    readonly note?: string;
  };
  readonly keys: string;
  /** CAs whose list was served. */
  readonly lists: number;
  /** Serial of what was issued and revoked. */
  readonly issued: string;
  readonly revoked: boolean;
}

export type MigrationMode = "apply" | "status" | "dry-run";
export interface MigrationReport {
  readonly driver: string;
  readonly current: number;
  readonly newest: number;
  /** Names of migrations not yet applied, or applied by this run. */
  readonly migrations: readonly string[];
  /** The verified copy made first, on sqlite. */
  readonly copy?: string;
  /** On postgres, where something of an instance is to change: its newest backup, if it has one. */
  readonly backup?: { readonly artifact: string; readonly created_at: string } | null;
}
export interface MoveAsked {
  /** Changes nothing: counts, or holds a copy against what it was made of. */
  readonly only: "count" | "compare" | undefined;
  /** Also what was moved before. */
  readonly again: boolean;
  /** Goes on with an unfinished copy. */
  readonly resume: boolean;
  /** Rows at a time; undefined for the usual. */
  readonly batch: number | undefined;
}
export interface MoveReport {
  readonly from: string;
  readonly to: string;
  readonly tables: readonly { readonly table: string; readonly rows: number }[];
  /** Where the chains ended; undefined when nothing was moved. */
  readonly event_seq: number | undefined;
  readonly ledger_number: number | undefined;
}
export interface VerifyAsked {
  /** The event behind which the look begins; 0 for everything. */
  readonly since: number;
  /** Told now and then how many rows were looked at, of about how many. */
  readonly onProgress: (rows: number, of: number) => void;
}
export interface VerifyReport {
  readonly checked_at: string;
  readonly driver: string;
  /** What was looked at, where that is an archive. */
  readonly archive?: Pick<ArchiveFacts, "instance_id" | "created_at" | "ledger_key">;
  readonly since: number;
  /** Where the chains ended: what `--since` of a later run takes. */
  readonly event_seq: number;
  readonly event_hash: string;
  readonly ledger_number: number;
  readonly ledger_hash: string;
  readonly revocation_sequence: number;
  readonly proofs: readonly ProofResult[];
}
/** What is held against a running server; certificates are DER. */
export interface VerifySample {
  /** Hash of the event that was asked for. */
  readonly eventHash: string | undefined;
  /** Certificates of CAs that answer, by id. */
  readonly cas: ReadonlyMap<string, Uint8Array>;
  readonly lists: readonly {
    readonly caId: string;
    readonly scope: string;
    readonly delta: boolean;
    readonly number: number;
    readonly sha256: string;
    readonly nextUpdate: number;
  }[];
  readonly serials: readonly {
    readonly caId: string;
    readonly serial: string;
    readonly status: "good" | "revoked";
    readonly certificate: Uint8Array | undefined;
  }[];
  /** Revoked serials beyond those. */
  readonly left: number;
}
export interface VersionFacts {
  readonly version: string;
  readonly commit: string;
  readonly runtime: string;
  readonly schema_version: number;
}

/** A command line that was read, and all a command may use. */
export interface Invocation<A extends Args> {
  readonly args: Given<A>;
  readonly globals: Globals;
  readonly io: Io;
  readonly deps: CliDeps;
  readonly client: Client;
  /** True when the flag stands on the line, by its name without dashes: a default is not given. */
  given(name: string): boolean;
  /**
   * Prints the result: the document with `--json`, else `human`, laid out for the terminal where it
   * can be.
   */
  print(document: unknown, human: string | Fitting): void;
  /** Prints a sentence on stderr unless `--quiet`. */
  note(sentence: string): void;
  /**
   * Says on stderr what failed while the command goes on, `--quiet` or not; with `--json` as one
   * document in a line, as an error that ends a command is.
   */
  complain(sentence: string, error?: unknown): void;
  /** Waits for long work outside the client, which does so by itself, and tells that it goes on. */
  patiently<T>(work: Promise<T>): Promise<T>;
}

/** One command, its types erased: `run` gives the exit code, or undefined for 0. */
export interface Command {
  readonly summary: string;
  readonly args: Args;
  /** True for commands without public route: with `--url` they are a usage error (CLI-4). */
  readonly local: boolean;
  /** True for commands that may begin an instance where there is none (FND-1). */
  readonly founds: boolean;
  /**
   * What is lost for good, as a sentence: then a person is asked first, or `--yes` says so (OUT-2).
   * Only of what nobody needs in an emergency: revoking a certificate or token and ending a session
   * are brakes, and a brake asks nothing.
   */
  readonly destroys: string | undefined;
  run(invocation: Invocation<Args>): Promise<number | undefined>;
}

/**
 * The commands of one noun by verb, or by a second noun; a noun without verbs is its own command.
 */
export type Noun =
  | Command
  | { readonly summary: string; readonly verbs: Readonly<Record<string, Noun>> };

/** Declares a command; its `run` sees the exact types of its arguments. */
export function command<const A extends Args = Record<never, never>>(of: {
  readonly summary: string;
  readonly args?: A;
  readonly local?: true;
  readonly founds?: true;
  readonly destroys?: string;
  readonly run: (invocation: Invocation<A>) => Promise<number | undefined>;
}): Command {
  return {
    summary: of.summary,
    args: of.args ?? {},
    local: of.local ?? false,
    founds: of.founds ?? false,
    destroys: of.destroys,
    // The frame reads the arguments with exactly this declaration before it runs the command.
    run: of.run as unknown as Command["run"],
  };
}

/**
 * The commands as citty resolves, parses and runs them, for one line. `perform` is given what it
 * parsed: citty hands a sub-command neither the flags before it nor a context, and drops its
 * result.
 */
export function commandTree(
  nouns: Readonly<Record<string, Noun>>,
  perform: (command: Command, parsed: Readonly<Record<string, unknown>>) => Promise<void>,
): CommandDef {
  const subCommands = Object.entries(nouns).map(([name, noun]): [string, CommandDef] => [
    name,
    "verbs" in noun
      ? { ...commandTree(noun.verbs, perform), meta: { name, description: noun.summary } }
      : defineCommand<ArgsDef>({
          meta: { name, description: noun.summary },
          args: { ...globalArgs, ...noun.args },
          run: ({ args }) => perform(noun, args),
        }),
  ]);
  return defineCommand({ meta: { name: "pkid" }, subCommands: Object.fromEntries(subCommands) });
}
