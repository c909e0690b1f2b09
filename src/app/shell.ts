/** The process around the command line: its outputs, its signals, and the server it may become. */

import { join } from "node:path";

import { inheritedSockets } from "#adapters/sockets/inherited-sockets.ts";
import { newestSchema } from "#adapters/db/engine/migration-state.ts";
import { boxFor } from "#adapters/keys/signer/hand-over.ts";
import { writeDurably } from "#adapters/keys/software/files.ts";
import { osUser, systemClock } from "#adapters/system.ts";
import { ProcessLog } from "#adapters/telemetry/log.ts";
import { StandardError } from "#adapters/telemetry/standard-error.ts";
import { documentAside } from "./yaml-thread.ts";
import { runCli } from "#cli/cli.ts";
import type { Archives, CliDeps, ServeRequest } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import type { Io } from "#cli/io.ts";
import { faultLine } from "#config/load.ts";
import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import { ArchiveUnfit } from "#core/backup/archive.ts";
import { openApp } from "#app";
import { handedOver } from "./handed-over.ts";
import { manualChapters } from "./manual.ts";
import { migrate } from "./migration.ts";
import { move } from "./move.ts";
import { mustBeSomething } from "./founded.ts";
import { describe } from "./describe.ts";
import { supervisorOf } from "./supervisor.ts";
import type { Running } from "./running.ts";
import { standardError, standardOutput, standardOutputIsAbandoned } from "./standard-output.ts";
import { build } from "./version.ts";

/**
 * Runs one command line of this process and gives its exit code; `workerUrl` is the main module,
 * for threads.
 */
export function runShell(argv: readonly string[], workerUrl: string): Promise<number> {
  return runCli(argv, processIo, depsOf(workerUrl));
}

const depsOf = (workerUrl: string): CliDeps => ({
  open: async (config, mayFound) => {
    const tell = (line: string) => processIo.stderr.write(`${line}\n`);
    const keepRootPassword = passwordKeeper(config, tell);
    const log = logFor(config, "warn");
    const app = await openApp({ config, build, log, mayFound, keepRootPassword });
    return { fetch: (request) => app.fetch(request), close: () => app.close() };
  },
  serve: (request) => serveUntilStopped(request, workerUrl),
  migrate,
  move,
  verify: async (config, asked) => {
    const { verify } = await import("./verify.ts");
    return await verify(config, asked);
  },
  verifySample: async (config, asked) => {
    const { verifySample } = await import("./verify.ts");
    return await verifySample(config, asked);
  },
  preflight: async (read, env, request) => {
    mustBeSomething(read);
    const { inspect } = await import("#app/preflight/inspect.ts");
    return await inspect(read, env, request, workerUrl);
  },
  sealFor: (address, pkcs8) => boxFor(address, pkcs8, "intake"),
  support: async () => {
    const facts = await import("#app/support/facts.ts");
    return {
      host: facts.hostFacts,
      serving: facts.processFacts,
      disk: facts.diskFacts,
      database: facts.databaseFacts,
      events: facts.newestEvents,
    };
  },
  archives: archives(workerUrl),
  manual: manualChapters,
  watching: {
    dashboard: async () => (await import("#adapters/telemetry/dashboard.ts")).dashboard(),
    alerts: async (asked) => (await import("#adapters/telemetry/alerts.ts")).alertRules(asked),
  },
  version: {
    version: build.version,
    commit: build.commit ?? "",
    runtime: build.runtime,
    schema_version: newestSchema(),
  },
  osUser: osUser(),
});

/** Loaded by the few commands that need them. */
const archives = (workerUrl: string): Archives => ({
  newIdentity: async () => (await import("#adapters/age/age.ts")).newIdentity(),
  configuredOpener: async (config) => {
    const { configuredOpener } = await import("#app/restore/look.ts");
    return await configuredOpener(config);
  },
  lookAt: async (archive) => {
    const { lookAt } = await import("#app/restore/look.ts");
    return await told(() => lookAt(archive));
  },
  drillPlaces: async (config, digests) => {
    const { drillPlaces } = await import("#app/restore/newest.ts");
    return await drillPlaces(config, digests);
  },
  drill: async (config, source) => {
    const { drill } = await import("#app/restore/drill.ts");
    return await told(() => drill(config, source, { log: logFor(config, "error"), workerUrl }));
  },
  verify: async (config, source, asked) => {
    const { verifyArchive } = await import("#app/restore/prove-archive.ts");
    return await told(() => verifyArchive(config, source, asked, workerUrl));
  },
  restore: async (config, source, asked) => {
    const { restore } = await import("#app/restore/restore.ts");
    return await told(() =>
      restore(config, source, asked, { log: logFor(config, "error"), workerUrl }),
    );
  },
});

/** What is wrong with an archive, as a command tells it. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ArchiveUnfit) throw new Failure(error.message, "bad_archive");
    throw error;
  }
}

/**
 * Serves until SIGTERM or SIGINT; a second signal exits at once (PRC-2). However it ends, the log
 * has gone out.
 */
async function serveUntilStopped(request: ServeRequest, workerUrl: string): Promise<number> {
  const log = logFor(request.config, request.config.log.level);
  try {
    await serve(request, workerUrl, log);
    return 0;
  } finally {
    log.flush();
  }
}

async function serve(request: ServeRequest, workerUrl: string, log: ProcessLog): Promise<void> {
  const { config } = request;
  const { shutdown_delay_seconds, shutdown_timeout_seconds } = config.server;
  const signals = hearSignals(shutdown_delay_seconds + shutdown_timeout_seconds, log);
  const supervisor = supervisorOf(process.env, log);
  const warn = (warning: string) => log.write("warn", "config_warning", { warning });
  request.warnings.forEach(warn);
  // A server whose standard output is gone still serves, and says in its log that it is.
  const say = (line: string) => {
    try {
      standardOutput.write(`${line}\n`);
    } catch (error) {
      log.write("warn", "output_lost", { error: describe(error) });
    }
  };
  const keepRootPassword = passwordKeeper(config, say);
  const { migrate: mayMigrate, foundAnew } = request;
  const read = () => request.read((text, name) => documentAside(workerUrl, text, name));
  const ways = {
    mayFound: true,
    foundAnew,
    keepRootPassword,
    workerUrl,
    migrate: mayMigrate,
    // PRC-1: then it serves what needs no key, and is not ready.
    keyPatienceMs: 30_000,
    claimTimeoutMs: 10_000,
    read,
  };
  const handed = handedOver(inheritedSockets(process.env), config.server);
  const app = await openApp({ config, build, log, ...ways });
  const running = await app.serve({
    handed,
    cleartext: request.cleartext,
    digest: request.digest,
    reread: () => reread(read, warn),
  });
  surviveBugs(log);
  signals.onReload(() => void supervisor.reloading(() => running.reload()));
  announce(running, config, say);
  log.write("info", "ready", {
    url: running.url,
    public_url: config.server.public_url,
    public_http: running.publicUrl || undefined,
    data_dir: config.data_dir,
    version: build.version,
    config_digest: request.digest,
    config_file: request.fileName,
  });
  // Somebody waits for this line.
  log.flush();
  supervisor.ready(running.url, () => running.storeAnswer());
  await signals.stop;
  supervisor.stopping();
  log.write("info", "stopping");
  await running.stop();
  await app.close();
  log.write("info", "stopped");
}

/** The configuration as it is now; throws when it is not valid. */
async function reread(read: () => Promise<Read>, warn: (warning: string) => void): Promise<Config> {
  const { loaded } = await read();
  if (!loaded.ok) throw new Error(loaded.faults.map(faultLine).join("\n"));
  loaded.warnings.forEach(warn);
  return loaded.config;
}

/**
 * Ends the process when its time to stop is over, whatever it still waits for: nothing acknowledged
 * is lost by that.
 */
function endInTime(seconds: number, log: ProcessLog): void {
  setTimeout(() => {
    log.write("error", "stop_cut_short", { seconds });
    log.flush();
    process.exit(1);
  }, seconds * 1000);
}

/** On a terminal: where the console is. */
function announce(running: Running, config: Config, say: (line: string) => void): void {
  if (!standardOutput.isTerminal) return;
  say(`\n  console        ${running.url}/console/\n  data directory ${config.data_dir}\n`);
}

/**
 * Tells a password made up at this start: in the line only where a person sees it once, on a
 * terminal; otherwise it goes to a file, and the line names that (CFG-6).
 */
function passwordKeeper(config: Config, tell: (line: string) => void): (password: string) => void {
  const { username } = config.root_user;
  return (password) => {
    if (standardOutput.isTerminal && standardError.isTerminal) {
      tell(`password of ${username}: ${password}   (shown once)`);
      return;
    }
    const file = join(config.data_dir, "root-password");
    // Its hash is stored after this: a password that the power took would be nobody's.
    writeDurably(file, Buffer.from(`${password}\n`));
    tell(`password of ${username} in ${file}`);
  };
}

/** What the process is told from outside. */
interface Signals {
  /** Settles at the first SIGTERM or SIGINT, also one that came while the server was starting. */
  readonly stop: Promise<void>;
  /** What SIGHUP asks for from now on; at once when it came before. */
  onReload(reload: () => void): void;
}

/**
 * Listens from the start on, so that a signal that comes before the server is ready does not end
 * the process as if nobody heard it. A second signal to stop exits at once; a start that takes
 * longer than stopping may is cut short too.
 */
function hearSignals(stopSeconds: number, log: ProcessLog): Signals {
  const { promise: stop, resolve } = Promise.withResolvers<void>();
  let asked = false;
  const ask = () => {
    if (asked) {
      log.flush();
      process.exit(130);
    }
    asked = true;
    endInTime(stopSeconds, log);
    resolve();
  };
  process.on("SIGTERM", ask);
  process.on("SIGINT", ask);
  let reload: (() => void) | undefined;
  let owed = false;
  process.on("SIGHUP", () => {
    if (reload === undefined) owed = true;
    else reload();
  });
  return {
    stop,
    onReload: (run) => {
      reload = run;
      if (owed) run();
    },
  };
}

/** A bug must not take down what relying parties depend on; it is logged with its stack. */
function surviveBugs(log: ProcessLog): void {
  const onCrash = (error: unknown) => log.write("error", "crash", { error: describe(error) });
  process.on("uncaughtException", onCrash);
  process.on("unhandledRejection", onCrash);
}

function logFor({ log }: Config, level: Config["log"]["level"]): ProcessLog {
  return new ProcessLog({
    level,
    clock: systemClock,
    write: new StandardError().write,
    format: standardError.isTerminal ? "text" : log.format,
  });
}

const processIo: Io = {
  stdout: standardOutput,
  stderr: standardError,
  isAbandoned: standardOutputIsAbandoned,
  env: process.env,
  stdin: () => Bun.stdin.bytes(),
  stdinPieces: () => Bun.stdin.stream(),
  ask: process.stdin.isTTY && standardError.isTerminal ? askAtTerminal : undefined,
};

/** One line of the person at the terminal; what is printed for people goes to stderr. */
async function askAtTerminal(question: string): Promise<string> {
  const { createInterface } = await import("node:readline");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  return await new Promise((resolve) => {
    lines.once("SIGINT", () => process.exit(130));
    lines.once("close", () => resolve(""));
    lines.question(question, (answer) => {
      resolve(answer);
      lines.close();
    });
  });
}
