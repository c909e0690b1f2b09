/**
 * A running pkid: the compiled binary (or the sources, when told so) on a data directory of its
 * own.
 */

import {
  existsSync,
  linkSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { eachLine, type Ran, ran } from "#test/support/child.ts";
import { type HeldSocket, handing } from "#test/support/servers/held-sockets.ts";
import { AnswersWatch } from "./answers-watch.ts";

/** Configuration beside the harness's own, as YAML members. */
export interface InstanceOptions {
  /** Reused when given, so that a second start finds what the first one left. */
  readonly home?: string;
  /** Top-level YAML members; `server` members are merged into the harness's. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Base address of the cleartext listener, as configured: of an instance whose log is too quiet to
   * say it.
   */
  readonly publicUrl?: string;
  /** The program to run, for who compares two; the usual one without it. */
  readonly binary?: string;
  /** Limit of open files, soft and hard; that of this process without it. */
  readonly openFilesMax?: number;
  /** Open sockets it is started with, by the name of the listener they are for. */
  readonly sockets?: Readonly<Record<string, Pick<HeldSocket, "file">>>;
}

const projectRoot = resolve(import.meta.dir, "..", "..", "..");
export const binary = process.env.PKID_BINARY ?? join(projectRoot, "dist", "pkid");

/** Makes a private directory for one instance. */
export const newHome = (): string => mkdtempSync(join(tmpdir(), "pkid-test-"));

/** Every answer that a test fetches of an instance is what its description says. */
const answers = new AnswersWatch();
globalThis.fetch = answers.watching(globalThis.fetch);

export class Instance {
  private metricsAt = Number.NEGATIVE_INFINITY;

  private constructor(
    readonly home: string,
    private readonly child: Bun.Subprocess<"ignore", "pipe", number>,
    private readonly logFile: string,
    /** Base address of the TLS listener. */
    readonly url: string,
    /** Base address of the cleartext public listener, empty when off. */
    readonly publicUrl: string,
    readonly output: () => string,
    /** Milliseconds from spawn to the line that says ready. */
    readonly readyMs: number,
    private readonly program: string,
  ) {}

  /** Starts and waits until the log says ready; throws with the log when the process ends first. */
  static async start(options: InstanceOptions = {}): Promise<Instance> {
    const home = options.home ?? newHome();
    const configFile = writeConfig(home, options.config ?? {});
    // Into a file and not a pipe: reading the request log would be part of what a load test
    // measures.
    const logFile = join(home, `log-${crypto.randomUUID()}`);
    const program = options.binary ?? binary;
    const started = performance.now();
    const sockets = Object.entries(options.sockets ?? {});
    const serving = [program, "serve", "--config", configFile];
    const { openFilesMax } = options;
    const limit = ["sh", "-c", `ulimit -n ${openFilesMax}; exec "$@"`, "limited"];
    const line = openFilesMax === undefined ? serving : [...limit, ...serving];
    const names = sockets.map(([name]) => name);
    const log = openSync(logFile, "w", 0o600);
    linkLogForRunner(logFile);
    const child = Bun.spawn(sockets.length === 0 ? line : handing(names, line), {
      cwd: home,
      stdio: ["ignore", "pipe", log, ...sockets.map(([, { file }]) => file)],
      env: { PATH: process.env.PATH ?? "", HOME: home, ...options.env },
    });
    const out: string[] = [];
    void eachLine(child.stdout, (line) => out.push(line));
    const { publicUrl } = options;
    const ready =
      publicUrl === undefined
        ? await readyEntry(child, logFile)
        : await answering(child, logFile, publicUrl);
    const readyMs = performance.now() - started;
    const output = () => out.join("\n");
    const { url = "", public_http = "" } = ready;
    const origins = [url, public_http].filter((origin) => origin !== "");
    void child.exited.then(answers.add(origins, join(home, "data", "admin.sock")));
    return new Instance(home, child, logFile, url, public_http, output, readyMs, program);
  }

  /** Every line of the log so far. */
  get logs(): readonly string[] {
    return readFileSync(this.logFile, "utf8").split("\n");
  }

  get dataDir(): string {
    return join(this.home, "data");
  }

  get pid(): number {
    return this.child.pid;
  }

  /** One JSON request as the local administrator; throws when the answer is not 2xx. */
  async admin<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`http://localhost${path}`, {
      method,
      unix: join(this.dataDir, "admin.sock"),
      ...(body === undefined ? {} : jsonBody(body)),
    });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer}`);
    return JSON.parse(answer);
  }

  /** One request to the main listener, trusting the serving CA of this instance only. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const tls = this.url.startsWith("https:") ? { tls: { ca: this.servingCa() } } : {};
    return fetch(`${this.url}${path}`, { ...init, ...tls });
  }

  /** Returns the current metrics: the server reuses its response for a second. */
  async metrics(): Promise<string> {
    await Bun.sleep(Math.max(0, this.metricsAt + 1100 - performance.now()));
    const response = await this.fetch("/metrics");
    this.metricsAt = performance.now();
    return await response.text();
  }

  servingCa(): string {
    return readFileSync(join(this.dataDir, "serving-ca.pem"), "utf8");
  }

  /** Runs a command of the same binary against this instance; `--data-dir` is added. */
  cli(...args: string[]): Promise<Ran> {
    return runCli(this.home, args, "", {}, this.program);
  }

  /**
   * Runs a command of the same binary that names a server by `--url` and knows no instance of this
   * machine.
   */
  remoteCli(...args: string[]): Promise<Ran> {
    return ran([this.program, ...args], { cwd: newHome(), env: { HOME: this.home } });
  }

  /** Asks to stop and waits; gives the exit code. */
  async stop(): Promise<number> {
    this.child.kill("SIGTERM");
    return this.child.exited;
  }

  /** False once the process has ended. */
  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  signal(name: "SIGTERM" | "SIGHUP"): void {
    this.child.kill(name);
  }

  /** Resolves with the exit code. */
  get exited(): Promise<number> {
    return this.child.exited;
  }

  /** Process ids of the signers, the only children. */
  signers(): readonly number[] {
    const children = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, "utf8");
    return children.split(" ").filter(Boolean).map(Number);
  }

  /**
   * Resolves when the log has a line with this message that `wanted` accepts, also one from before.
   */
  async logged(message: string, wanted: (line: string) => boolean = () => true): Promise<void> {
    // Only lines with the text are parsed: logs are long, and a wait reads them often.
    const found = () =>
      this.logs.some(
        (line) => line.includes(message) && parsed(line)?.msg === message && wanted(line),
      );
    while (!found()) await Bun.sleep(20);
  }

  /** An API token made by the local administrator. */
  async token(roles: readonly string[], request: object = {}): Promise<string> {
    const made = await this.admin<{ secret: string }>("POST", "/api/tokens", {
      name: "test",
      roles,
      ...request,
    });
    return made.secret;
  }

  /** SIGKILL, as a power cut would. */
  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  /** Stops, and removes everything it wrote. */
  async dispose(): Promise<void> {
    if (this.child.exitCode === null) await this.stop();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/**
 * Links the log into the folder of the test runner, which prints its end if a test fails. The link
 * outlives the home of the instance.
 */
function linkLogForRunner(logFile: string): void {
  const folder = process.env.PKID_TEST_LOGS;
  if (folder === undefined) return;
  const caller = /\/(test\/[\w./-]+\.test\.ts)/.exec(new Error("caller").stack ?? "")?.[1];
  const owner = (caller ?? "a test").replaceAll("/", "+");
  const order = Math.round(performance.timeOrigin + performance.now());
  try {
    linkSync(logFile, join(folder, `${owner} ${order}`));
  } catch {
    // A home on a volume of its own cannot be linked from here; its log is not printed.
  }
}

/** A start that is expected to fail: exit code and everything it said. */
export async function failedStart(options: InstanceOptions) {
  const home = options.home ?? newHome();
  writeConfig(home, options.config ?? {});
  return runCli(home, ["serve"], "", options.env);
}

/** Runs one command of the binary with the configuration of `home`. */
export const runCli = (
  home: string,
  args: readonly string[],
  stdin = "",
  env: Readonly<Record<string, string>> = {},
  program = binary,
): Promise<Ran> =>
  ran([program, ...args, "--config", join(home, "pkid.yaml")], {
    cwd: home,
    stdin,
    env: { HOME: home, ...env },
  });

/** Runs one command of the binary in `home` that reads no configuration. */
export const runPlainCli = (home: string, args: readonly string[]): Promise<Ran> =>
  ran([binary, ...args], { cwd: home, env: { HOME: home } });

/** Writes the configuration file of `home` and gives its path. */
export function writeConfig(home: string, extra: Readonly<Record<string, unknown>>): string {
  const server = {
    host: "127.0.0.1",
    port: 0,
    ...(extra.server as Readonly<Record<string, unknown>> | undefined), // YAML members by contract.
  };
  const config = {
    data_dir: join(home, "data"),
    log: { level: "info", format: "json" },
    ...extra,
    server,
  };
  const file = join(home, "pkid.yaml");
  writeFileSync(file, JSON.stringify(config, null, 2), { mode: 0o600 });
  return file;
}

/** The log entry that says ready; throws with the log when the process ends first. */
async function readyEntry(
  child: Bun.Subprocess<"ignore", "pipe", number>,
  logFile: string,
): Promise<Record<string, string>> {
  for (;;) {
    const text = existsSync(logFile) ? readFileSync(logFile, "utf8") : "";
    const entry = text
      .split("\n")
      .filter((line) => line.includes('"ready"'))
      .map(parsed)
      .find((one) => one?.msg === "ready");
    if (entry !== undefined) return entry;
    if (child.exitCode !== null) throw new Error(`pkid ended before it was ready:\n${text}`);
    await Bun.sleep(5);
  }
}

async function answering(
  child: Bun.Subprocess<"ignore", "pipe", number>,
  logFile: string,
  publicUrl: string,
): Promise<Record<string, string>> {
  const ready = () =>
    fetch(publicUrl).then(
      () => true,
      () => false,
    );
  while (!(await ready())) {
    if (child.exitCode !== null) throw new Error(readFileSync(logFile, "utf8"));
    await Bun.sleep(10);
  }
  return { public_http: publicUrl };
}

function parsed(line: string): Record<string, string> | undefined {
  try {
    return JSON.parse(line);
  } catch {
    // Not a log entry, e.g. a crash report of the runtime; it is kept for the error message.
    return undefined;
  }
}

const jsonBody = (body: unknown) => ({
  body: JSON.stringify(body),
  headers: { "content-type": "application/json" },
});
