/** Starts one signer process and speaks frames with it, until it is gone. */

import { chmodSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { ProviderFacts } from "#domain/keys.ts";

import {
  type FrameHandler,
  FrameReader,
  frameKinds,
  jsonBody,
  type Outbox,
  readJson,
} from "./frames.ts";
import { LaunchFault, readFault } from "./requests.ts";
import type { Presenting, SecretSource, SignerConfiguration, SignerOrders } from "./settings.ts";
import { openStream } from "./stream.ts";

/** A running signer. */
export interface Signer {
  readonly outbox: Outbox;
  readonly facts: ProviderFacts;
  readonly pid: number;
  /** Ends the process at once; `lost` is not called any more. */
  kill(): void;
  /** Lets the process end by itself, and ends it when it does not. */
  end(): Promise<void>;
}

/** A signer whose PIN was refused. */
export interface WaitingSigner {
  /** Has the source of the PIN looked at now. */
  again(): void;
  kill(): void;
}

/** What a launch needs. */
export interface LaunchDeps {
  readonly command: readonly string[];
  readonly privateDir: string;
  readonly configuration: SignerConfiguration;
  readonly presenting: Presenting;
  /** Every answer after `ready`. */
  readonly answer: FrameHandler;
  /** It waits for another PIN: told why, and how to have it look again or end. It may serve yet. */
  readonly waiting: (fault: LaunchFault, signer: WaitingSigner) => void;
  /**
   * The process is gone or its stream is broken; called at most once, and only after a successful
   * launch.
   */
  readonly lost: (reason: string) => void;
}

/**
 * Starts a signer. Throws a `LaunchFault` when it cannot serve, does not start, or is not ready in
 * time.
 */
export async function launchSigner(deps: LaunchDeps): Promise<Signer> {
  mkdirSync(deps.privateDir, { recursive: true, mode: 0o700 });
  chmodSync(deps.privateDir, 0o700);
  return new Launch(deps).start();
}

/** This binary in its other role; from source, the main module in its other role. */
export function ownSignerCommand(): readonly string[] {
  if (Bun.isStandaloneExecutable) return [process.execPath, "signer"];
  return [process.execPath, fileURLToPath(new URL("../../main.ts", import.meta.url)), "signer"];
}

class Launch {
  readonly #deps: LaunchDeps;
  readonly #reader = new FrameReader();
  readonly #ready = Promise.withResolvers<ProviderFacts>();
  #state: "starting" | "serving" | "over" = "starting";
  #outbox: Outbox | undefined;
  #timer: Timer | undefined;
  #closeStream: () => void = () => {};
  #killProcess: () => void = () => {};

  constructor(deps: LaunchDeps) {
    this.#deps = deps;
    // It may fail while the stream is still being opened, when nobody listens yet.
    this.#ready.promise.catch(() => {});
  }

  async start(): Promise<Signer> {
    const { command, configuration, presenting, privateDir } = this.#deps;
    const child = Bun.spawn([...command], {
      stdio: ["ignore", "ignore", "inherit", "socket-fd"],
      env: environment(configuration, privateDir),
      onExit: (_child, code, signal) => this.#over(`signer ended (${signal ?? code})`),
    });
    this.#killProcess = () => child.kill("SIGKILL");
    this.#timer = setTimeout(() => this.#over("signer was not ready in time"), readyTimeoutMs);
    try {
      const outbox = await this.#connect(child.stdio[3] ?? -1);
      this.#outbox = outbox;
      const orders: SignerOrders = { configuration, presenting };
      outbox.add(frameKinds.configure, 0, [jsonBody(orders)]);
      const facts = await this.#ready.promise;
      const end = () => this.#endGently(child.exited);
      return { outbox, facts, pid: child.pid, kill: () => this.#kill(), end };
    } finally {
      clearTimeout(this.#timer);
    }
  }

  async #connect(fd: number): Promise<Outbox> {
    const stream = await openStream(fd, {
      received: (chunk) => this.#read(chunk),
      closed: () => this.#over("signer closed its stream"),
    });
    this.#closeStream = () => stream.end();
    return stream.outbox;
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk, (kind, id, body) => {
        if (this.#state === "serving") this.#deps.answer(kind, id, body);
        else if (this.#state === "starting") this.#started(kind, body);
      });
    } catch (fault) {
      this.#over(fault instanceof Error ? fault.message : "signer stream is broken");
    }
  }

  #started(kind: number, body: Buffer): void {
    if (kind === frameKinds.ready) {
      this.#state = "serving";
      this.#ready.resolve(readJson(body) as ProviderFacts); // Written by our own binary.
    } else if (kind === frameKinds.fault) {
      const fault = readFault(body);
      if (fault.kind === "operator") this.#wait(fault);
      else this.#fail(fault);
    }
  }

  /** However long it takes: the process alone knows which PIN it must not present again. */
  #wait(fault: LaunchFault): void {
    clearTimeout(this.#timer);
    const again = () => this.#outbox?.add(frameKinds.again, 0, []);
    const kill = () => this.#fail(fault);
    this.#deps.waiting(fault, { again, kill });
  }

  #over(reason: string): void {
    if (this.#state === "starting") {
      this.#fail(new LaunchFault("device", "The signer process did not start.", reason));
    }
    if (this.#state !== "serving") return;
    this.#kill();
    this.#deps.lost(reason);
  }

  #fail(fault: LaunchFault): void {
    this.#kill();
    this.#ready.reject(fault);
  }

  #kill(): void {
    this.#state = "over";
    this.#killProcess();
    this.#closeStream();
  }

  async #endGently(exited: Promise<number>): Promise<void> {
    this.#state = "over";
    this.#closeStream();
    const patience = setTimeout(this.#killProcess, endTimeoutMs);
    await exited;
    clearTimeout(patience);
  }
}

/** The child gets nothing of ours but what it cannot do without. */
function environment(configuration: SignerConfiguration, privateDir: string) {
  const kept: Record<string, string> = { BUN_TMPDIR: privateDir, TMPDIR: privateDir };
  for (const name of [...passedOn, ...secretNames(configuration)]) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/**
 * What is in our environment by the operator's choice has to reach the process that reads it, or
 * fetches with it.
 */
function secretNames(configuration: SignerConfiguration): readonly string[] {
  const source: SecretSource | undefined =
    configuration.provider === "pkcs11"
      ? configuration.pkcs11.pin
      : configuration.software.passphrase;
  if (source?.type === "remote") return source.variables;
  return source?.type === "env" ? [source.name] : [];
}

/** Where modules look for their own configuration; none of them carries a secret of ours. */
const passedOn = ["SOFTHSM2_CONF", "PATH", "HOME", "LANG"];
const readyTimeoutMs = 30_000;
const endTimeoutMs = 2000;
