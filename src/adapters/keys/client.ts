/**
 * The server's side of a signer: keeps one running, asks it, and repeats once what a lost one left
 * unanswered.
 */

import { join } from "node:path";

import { type Octets, piecesIn } from "#core/crypto.ts";
import { Problem, type ProblemCode, refuse } from "#core/problems.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type {
  BoxedDataKey,
  KekInUse,
  KekKeys,
  KeyHandle,
  KeyIntake,
  Keys,
  ListedKey,
  ProviderFacts,
} from "#domain/keys.ts";

import { type Call, Calls, send, unavailable } from "./calls.ts";
import { frameKinds, jsonBody, readJson } from "./frames.ts";
import { launchSigner, type Signer, type WaitingSigner } from "./launch.ts";
import {
  type CallRequest,
  type HandedOut,
  hybridHeaderBody,
  hybridRequestBody,
  type KekTally,
  LaunchFault,
  readFault,
  readKekHandle,
  readKeyHandle,
  readHybridHeader,
  readRefusal,
  readWrapped,
  refusalBody,
  type Resealed,
  unforeseen,
  type CarriedRequest,
  wrappedBody,
} from "./requests.ts";
import { SignHeads } from "./sign-heads.ts";
import type { KeyHooks, SignerConfiguration } from "./settings.ts";

/** What a client needs. */
export interface ClientDeps {
  readonly configuration: SignerConfiguration;
  readonly command: readonly string[];
  readonly privateDir: string;
  readonly operationTimeoutMs: number;
  readonly hooks: KeyHooks;
  /** As in `Presenting`; undefined is false. */
  readonly lookingOnly?: boolean | undefined;
  /** Has a request of this signer served by another; refuses when there is none. */
  readonly carry: (request: CarriedRequest) => Promise<unknown>;
}

/**
 * `Keys` for one provider. Down means waiting for the next attempt: requests are refused at once.
 * Barred means that the token refused the PIN, which is never tried again by itself: the signer
 * waits for another one. Stopped means for good.
 */
export class SignerClient implements Keys {
  readonly #deps: ClientDeps;
  readonly #calls = new Calls();
  readonly #heads = new SignHeads();
  readonly #run = crypto.randomUUID();
  #signer: Signer | undefined;
  #state: "starting" | "serving" | "down" | "barred" | "stopped" = "starting";
  /** Of a barred one, while its process lives. */
  #waiting: WaitingSigner | undefined;
  #facts: ProviderFacts;
  #configuration: SignerConfiguration;
  /** Signers lost or not started since the last good answer. */
  #losses = 0;
  #sweep: Timer | undefined;
  #relaunch: Timer | undefined;

  constructor(deps: ClientDeps) {
    this.#deps = deps;
    this.#configuration = deps.configuration;
    const provider = deps.configuration.provider;
    this.#facts = { provider, available: false, deviceSerial: "", keyTypes: [] };
  }

  /**
   * Starts signers for so long while the device is away; after that it goes on, and whoever asks is
   * refused (PRC-1). Throws a `configuration` fault, so that a wrong setting stops the start (V-11,
   * V-12), and a `source` fault, which then names the source (SEC-3).
   */
  async start(patienceMs = 0): Promise<void> {
    const until = performance.now() + patienceMs;
    let fault = await this.#launch(true);
    for (;;) {
      const leftMs = until - performance.now();
      if (fault?.kind !== "device" || this.#state !== "down" || leftMs <= 0) break;
      clearTimeout(this.#relaunch);
      await Bun.sleep(Math.min(leftMs, longestDelayMs / 4));
      fault = await this.#launch(false);
    }
    if (fault?.kind !== "configuration" && fault?.kind !== "source") return;
    await this.#stop();
    throw fault.kind === "source" ? new LaunchFault("source", fault.reason) : fault;
  }

  /** Process id of the running signer, for tests that kill it. */
  get signerPid(): number | undefined {
    return this.#signer?.pid;
  }

  async generate(wanted: Parameters<Keys["generate"]>[0]): Promise<KeyHandle> {
    const { label, keyType } = wanted;
    // Never repeated: the first attempt may have made a key whose answer was lost.
    const options = { repeatable: false, timeoutMs: generateTimeoutMs };
    return readKeyHandle(await this.#call({ operation: "generate", label, keyType }, options));
  }

  async find(key: KeyRef): Promise<KeyHandle> {
    return readKeyHandle(await this.#call({ operation: "find", key }));
  }

  sign(ticket: Parameters<Keys["sign"]>[0], message: Octets): Promise<Uint8Array> {
    const parts = [this.#heads.of(ticket.key, ticket.algorithm), ...piecesIn(message)];
    // SLH-DSA takes seconds, many on a busy machine; a limit meant for the others would end a
    // healthy signer.
    const slow = ticket.algorithm.startsWith("slh-dsa-");
    const timeoutMs = slow ? generateTimeoutMs : this.#deps.operationTimeoutMs;
    return this.#ask(frameKinds.sign, parts, true, timeoutMs);
  }

  async destroy(key: KeyRef): Promise<void> {
    await this.#call({ operation: "destroy", key }, { repeatable: false });
  }

  readonly keks: KekKeys = {
    generate: async ({ label }) => {
      // As for `generate`: what may have made a key is never repeated.
      const options = { repeatable: false, timeoutMs: generateTimeoutMs };
      return readKekHandle(await this.#call({ operation: "kek.generate", label }, options));
    },
    wrap: async (key, dek) =>
      readWrapped(await this.#call({ operation: "kek.wrap", key, dek: dek.toBase64() })),
    unwrap: async (key, wrapped) => {
      const request = { operation: "kek.unwrap", key, wrapped: wrappedBody(wrapped) } as const;
      return Uint8Array.fromBase64(String(await this.#call(request)));
    },
    destroy: async (key) => {
      await this.#call({ operation: "kek.destroy", key }, { repeatable: false });
    },
    halves: {
      generate: async (key) => {
        const options = { repeatable: false };
        return String(await this.#call({ operation: "half.generate", key }, options));
      },
      fingerprint: async (key) => String(await this.#call({ operation: "half.fingerprint", key })),
      wrap: async (key, asked) => {
        const request = hybridRequestBody(asked);
        return readHybridHeader(await this.#call({ operation: "half.wrap", key, request }));
      },
      unwrap: async (key, hybrid, secret) => {
        const [header, share] = [hybridHeaderBody(hybrid), secret.toBase64()];
        const request = { operation: "half.unwrap", key, header, share } as const;
        return Uint8Array.fromBase64(String(await this.#call(request)));
      },
      destroy: async (key) => {
        await this.#call({ operation: "half.destroy", key }, { repeatable: false });
      },
    },
    use: (versions) => this.#useKeks(versions),
    reseal: (version) => this.#reseal(version),
    handOut: (address) => this.#handOut(address),
    takeOver: async (dataKeys) => {
      const all = [...dataKeys].map(([id, dek]) => ({ id, octets: dek.toBase64() }));
      for (let at = 0; at < all.length; at += dataKeysAtOnce) {
        const page = all.slice(at, at + dataKeysAtOnce);
        const request = { operation: "kek.take_over", dataKeys: page } as const;
        await this.#call(request, { timeoutMs: generateTimeoutMs });
      }
    },
  };

  readonly intake: KeyIntake = {
    address: async () =>
      Uint8Array.fromBase64(String(await this.#call({ operation: "intake.address" }))),
    take: async ({ label, box }) => {
      const request = { operation: "intake.take", label, box: box.toBase64() } as const;
      // A successor has another address: what was lost is brought again, not sent again.
      return readKeyHandle(await this.#call(request, { repeatable: false }));
    },
  };

  /**
   * Serves a request of another signer, within seconds or not at all: somebody's signature waits
   * for it.
   */
  async serve(request: CarriedRequest): Promise<unknown> {
    const patience = Promise.withResolvers<never>();
    const timer = setTimeout(() => patience.reject(unavailable()), serveTimeoutMs);
    try {
      return await Promise.race([this.#call(request, { repeatable: true }), patience.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async list(): Promise<readonly ListedKey[]> {
    // Written by our own binary. A token answers for each key by itself, and may have many.
    return (await this.#call({ operation: "list" }, { timeoutMs: listTimeoutMs })) as ListedKey[];
  }

  async facts(): Promise<readonly ProviderFacts[]> {
    const patience = Promise.withResolvers<ProviderFacts>();
    const timer = setTimeout(() => patience.reject(unavailable()), factsTimeoutMs);
    try {
      const answer = this.#call({ operation: "facts" });
      // Written by our own binary. A slow device is no reason to end its signer, so this is not a
      // deadline.
      this.#facts = (await Promise.race([answer, patience.promise])) as ProviderFacts;
    } catch {
      const error = this.#facts.error ?? "The key store does not answer.";
      this.#facts = { ...this.#facts, available: false, error };
    } finally {
      clearTimeout(timer);
    }
    return [this.#facts];
  }

  /**
   * Looks again at what keeps a signer from serving, or from finding a key, without waiting for its
   * time.
   */
  again(): void {
    if (this.#state === "serving") this.#signer?.outbox.add(frameKinds.again, 0, []);
    else if (this.#waiting !== undefined) this.#waiting.again();
    else if (this.#state === "down" || this.#state === "barred") {
      clearTimeout(this.#relaunch);
      void this.#launch(true);
    }
  }

  async close(): Promise<void> {
    await this.#stop();
  }

  /** A signer that is not there yet, or dies before it hears, is told when it starts. */
  async #useKeks(versions: readonly KekInUse[]): Promise<void> {
    if (this.#configuration.provider !== "software") return;
    this.#configuration = { ...this.#configuration, keks: versions };
    try {
      await this.#call({ operation: "kek.use", versions });
    } catch (fault) {
      if (!(fault instanceof Problem && fault.code === "key_unavailable")) throw fault;
    }
  }

  /** In steps, so that no single one is taken for a signer that hangs. */
  async #reseal(version: number): Promise<number> {
    let total = 0;
    if (this.#configuration.provider !== "software") return total;
    for (;;) {
      const request = { operation: "kek.reseal", version } as const;
      const answer = await this.#call(request, { timeoutMs: generateTimeoutMs });
      const { changed, left } = answer as Resealed; // Written by our own binary.
      total += changed;
      if (left === 0) return total;
      if (changed === 0) throw unavailable();
    }
  }

  /** In steps, as `#reseal`. */
  async #handOut(address: Uint8Array): Promise<readonly BoxedDataKey[]> {
    const boxes: BoxedDataKey[] = [];
    for (let after: string | undefined = ""; after !== undefined; ) {
      const request = { operation: "kek.archive", address: address.toBase64(), after } as const;
      // Written by our own binary.
      const step = (await this.#call(request, { timeoutMs: generateTimeoutMs })) as HandedOut;
      for (const { id, octets } of step.boxes)
        boxes.push({ id, box: Uint8Array.fromBase64(octets) });
      after = step.after;
    }
    return boxes;
  }

  async #call(
    request: CallRequest,
    options: { readonly repeatable?: boolean; readonly timeoutMs?: number } = {},
  ): Promise<unknown> {
    const { repeatable = true, timeoutMs = this.#deps.operationTimeoutMs } = options;
    return readJson(await this.#ask(frameKinds.call, [jsonBody(request)], repeatable, timeoutMs));
  }

  #ask(
    kind: Call["kind"],
    parts: readonly Uint8Array[],
    repeatable: boolean,
    timeoutMs: number,
  ): Promise<Buffer> {
    if (this.#state === "barred") return Promise.reject(unavailable(barredSeconds));
    if (this.#state === "down" || this.#state === "stopped") return Promise.reject(unavailable());
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + timeoutMs;
      const call = { kind, parts, resolve, reject, timeoutMs, repeatable, deadline, sends: 0 };
      const id = this.#calls.add(call);
      if (this.#signer !== undefined) send(this.#signer.outbox, id, call);
      this.#sweep ??= setTimeout(() => this.#sweepOverdue(), this.#sweepMs());
    });
  }

  #answer(kind: number, id: number, body: Buffer): void {
    if (kind === frameKinds.note) {
      this.#deps.hooks.fault?.(body.toString("utf8"), { provider: this.#facts.provider });
      return;
    }
    if (kind === frameKinds.request) {
      void this.#carry(id, readJson(body) as CarriedRequest); // Written by our own binary.
      return;
    }
    if (kind === frameKinds.tally) {
      this.#tally(readJson(body) as KekTally); // As above.
      return;
    }
    const call = this.#calls.take(id);
    if (call === undefined) return;
    // Any answer, even a refusal, shows a working signer.
    this.#losses = 0;
    if (kind === frameKinds.signature || kind === frameKinds.result) {
      // A copy: the frame lies in the receive buffer, which a short signature must not keep alive.
      call.resolve(Buffer.from(body));
    } else if (kind === frameKinds.refused) {
      const { code, facts, sentence } = readRefusal(body);
      call.reject(refuse<ProblemCode>(code, facts, sentence));
    } else call.reject(new Error(`signer fault: ${readFault(body).reason}`));
  }

  async #carry(id: number, request: CarriedRequest): Promise<void> {
    const asking = this.#signer;
    const [kind, answer] = await this.#deps.carry(request).then(
      (served) => [frameKinds.served, jsonBody(served)] as const,
      (fault) => [frameKinds.denied, refusalBody(fault) ?? refusalBody(unavailable())] as const,
    );
    // Its successor has requests of its own, under the same ids.
    if (this.#signer !== asking || answer === undefined) return;
    asking?.outbox.add(kind, id, [answer]);
  }

  #tally({ key, operation, succeeded }: KekTally): void {
    const { enveloped, unwrapped } = this.#deps.hooks;
    enveloped?.(operation, succeeded);
    if (succeeded && operation === "decrypt" && key !== undefined) unwrapped?.(key);
  }

  /** `asked` by a person, or because there is none any more. */
  async #launch(asked: boolean): Promise<LaunchFault | undefined> {
    this.#state = "starting";
    const { command, privateDir, lookingOnly = false } = this.#deps;
    const record = join(privateDir, refusedPinsFile);
    const configuration = this.#configuration;
    const barred = Promise.withResolvers<LaunchFault>();
    const launched = launchSigner({
      configuration,
      command,
      privateDir,
      presenting: { record, run: this.#run, asked, lookingOnly },
      answer: (kind, id, body) => this.#answer(kind, id, body),
      lost: (reason) => this.#lost(reason),
      waiting: (fault, signer) => {
        this.#bar(fault, signer);
        barred.resolve(fault);
      },
    });
    const settled = launched.then(
      (signer) => this.#serve(signer),
      (fault) => {
        const known = fault instanceof LaunchFault ? fault : unforeseen(fault);
        this.#notStarted(known);
        return known;
      },
    );
    return await Promise.race([settled, barred.promise]);
  }

  /** Nothing is asked until the signer has another PIN. */
  #bar(fault: LaunchFault, signer: WaitingSigner): void {
    if (this.#state === "stopped") {
      signer.kill();
      return;
    }
    this.#state = "barred";
    this.#waiting = signer;
    this.#tell(fault);
  }

  #serve(signer: Signer): undefined {
    this.#waiting = undefined;
    if (this.#state === "stopped") {
      signer.kill();
      return;
    }
    this.#signer = signer;
    this.#facts = signer.facts;
    this.#state = "serving";
    this.#calls.sendAll(signer.outbox);
  }

  #notStarted(fault: LaunchFault): void {
    if (this.#state === "stopped") return;
    this.#losses += 1;
    this.#tell(fault);
    // A successor would present the PIN that was refused; whether to risk that is for a person.
    if (this.#state === "barred") this.#waiting = undefined;
    else this.#down(fault.kind === "source" ? sourceDelayMs : 0);
  }

  #tell({ kind, message, reason }: LaunchFault): void {
    // One report for one trouble, however many attempts it outlasts.
    if (this.#facts.error !== message) {
      this.#deps.hooks.fault?.(message, { provider: this.#facts.provider, kind, reason });
    }
    this.#facts = { ...this.#facts, available: false, error: message };
    this.#calls.refuseAll();
  }

  #lost(reason: string): void {
    this.#signer = undefined;
    this.#losses += 1;
    const facts = { provider: this.#facts.provider, reason, in_flight: this.#calls.size };
    this.#deps.hooks.fault?.("The signer was lost and is started again.", facts);
    this.#calls.refuseUnrepeatable();
    if (this.#losses <= lossesHealedAtOnce) void this.#launch(false);
    else {
      this.#calls.refuseAll();
      this.#down();
    }
  }

  /**
   * The breaker: nothing is asked until the next attempt, whose distance doubles up to two seconds.
   */
  #down(leastDelayMs = 0): void {
    this.#state = "down";
    const doubled = Math.min(firstDelayMs * 2 ** (this.#losses - 1), longestDelayMs);
    const delay = Math.max(doubled, leastDelayMs);
    this.#relaunch = setTimeout(() => void this.#launch(false), delay);
  }

  async #stop(): Promise<void> {
    this.#state = "stopped";
    clearTimeout(this.#relaunch);
    clearTimeout(this.#sweep);
    const signer = this.#signer;
    this.#signer = undefined;
    this.#calls.refuseAll();
    this.#waiting?.kill();
    await signer?.end();
  }

  #sweepOverdue(): void {
    this.#sweep = undefined;
    const overdue = this.#calls.refuseOverdue(performance.now());
    if (overdue > 0 && this.#signer !== undefined) {
      this.#signer.kill();
      this.#lost("an operation did not end in time");
    }
    if (this.#calls.size > 0)
      this.#sweep ??= setTimeout(() => this.#sweepOverdue(), this.#sweepMs());
  }

  #sweepMs(): number {
    return Math.min(250, this.#deps.operationTimeoutMs / 4);
  }
}

/**
 * A crash or a stall now and then is healed while callers wait; the next one without a good answer
 * is not.
 */
const lossesHealedAtOnce = 2;
/**
 * Said to callers while a person has to give another PIN; the signer looks for one at least as
 * often.
 */
const barredSeconds = 60;
const refusedPinsFile = "refused-pins";
const firstDelayMs = 100;
const longestDelayMs = 2000;
/** Between attempts at a server that keeps a PIN; some lock out who asks in vain too often. */
const sourceDelayMs = 10_000;
/**
 * Shorter than the limit of the operation that waits for it, so that a stalled token ends no
 * healthy signer.
 */
const serveTimeoutMs = 5000;
const listTimeoutMs = 60_000;
const factsTimeoutMs = 2500;
/** RSA-4096 takes minutes on a smart card. */
const generateTimeoutMs = 120_000;
/** What one step may carry: it must end before its caller gives up. */
const dataKeysAtOnce = 64;
