/**
 * The PKCS#11 provider, inside the signer: the main thread holds the login, the workers do what
 * takes time.
 */

import { Problem, refuse } from "#core/problems.ts";
import type { KeyType, SignatureName } from "#core/x509/algorithms.ts";
import type { WrappedDek } from "#core/envelope.ts";
import type { KekHandle, KeyHandle, ListedKey, ProviderFacts } from "#domain/keys.ts";
import { RestartNeeded, type RestartCause } from "#adapters/keys/requests.ts";
import type { Pkcs11Settings, Presenting } from "#adapters/keys/settings.ts";
import type { DekUse, LocalRef, SigningProvider } from "#adapters/keys/signer/provider.ts";
import { resolveSecret } from "#adapters/keys/signer/secret.ts";

import type { Outcome } from "./jobs.ts";
import { ckf } from "./ck.ts";
import type { Handle } from "./module.ts";
import { noTokenSession, WorkerPool } from "./pool.ts";
import { returnValueOf } from "./rv.ts";
import { QuickKeys } from "./quick-keys.ts";
import { TokenSession } from "./token-session.ts";
import { openHsmToken, type PinSource, type HsmToken } from "./hsm-token.ts";

/** What the provider needs from the process it lives in. */
export interface Pkcs11Deps {
  readonly workerUrl: string;
  readonly restart: (reason: string) => void;
  /** A sentence for the server's log. */
  readonly note: (sentence: string) => void;
  readonly anotherPin: PinSource["another"];
  readonly presenting: Presenting;
}

/** Opens the token and its workers; throws a `LaunchFault`. */
export async function openPkcs11Provider(
  settings: Pkcs11Settings,
  deps: Pkcs11Deps,
): Promise<SigningProvider> {
  // Initialise and log in first, alone: modules crash when threads do it at once.
  const hsmToken = await openHsmToken(settings, {
    pin: () => resolveSecret(settings.pin, "PIN"),
    another: deps.anotherPin,
    presenting: deps.presenting,
  });
  givesSessions(hsmToken, settings.session_pool_size);
  const pool = await WorkerPool.start({
    workerUrl: deps.workerUrl,
    count: settings.session_pool_size,
    broken: deps.restart,
    start: { module_path: settings.module_path, slot: hsmToken.slot, serial: hsmToken.serial },
  });
  return new Pkcs11Provider(hsmToken, pool, deps);
}

/** Throws a `device` fault when the token gives fewer sessions than there may be workers. */
function givesSessions({ p11, slot }: HsmToken, count: number): void {
  const opened: Handle[] = [];
  try {
    for (let n = 0; n < count; n++) opened.push(p11.C_OpenSession(slot, ckf.serialSession));
  } catch (fault) {
    throw noTokenSession(returnValueOf(fault)?.name ?? String(fault));
  } finally {
    for (const session of opened) p11.C_CloseSession(session);
  }
}

class Pkcs11Provider implements SigningProvider {
  readonly servesSigners = true;
  /** They lie in the software key store, also those of KEKs held here. */
  readonly halves = undefined;
  readonly sealing = undefined;
  readonly take = undefined;
  readonly #hsmToken: HsmToken;
  readonly #pool: WorkerPool;
  readonly #deps: Pkcs11Deps;
  readonly #quick: QuickKeys;
  readonly #since = performance.now();
  /** True once a key was asked for that this process cannot see. */
  #missed = false;

  constructor(hsmToken: HsmToken, pool: WorkerPool, deps: Pkcs11Deps) {
    this.#hsmToken = hsmToken;
    this.#pool = pool;
    this.#deps = deps;
    this.#quick = new QuickKeys(() => new TokenSession(hsmToken.p11, hsmToken, []));
  }

  facts(): ProviderFacts {
    const { serial: deviceSerial, label: tokenLabel, keyTypes, ...made } = this.#hsmToken;
    const { manufacturer, model } = made;
    if (!this.#hsmToken.alive()) throw new RestartNeeded("the token does not answer");
    const own = { deviceSerial, tokenLabel, manufacturer, model, keyTypes };
    return { provider: "pkcs11", available: true, ...own };
  }

  async generate(label: string, keyType: KeyType): Promise<KeyHandle> {
    if (!this.#hsmToken.keyTypes.includes(keyType)) {
      throw refuse("key_type_unsupported", { key_type: keyType });
    }
    return this.#keyHandle(await this.#pool.run({ operation: "generate", label, keyType }));
  }

  async find(ref: LocalRef): Promise<KeyHandle> {
    return this.#keyHandle(await this.#pool.run({ operation: "find", ref }));
  }

  sign(ref: LocalRef, algorithm: SignatureName, message: Buffer): Uint8Array | Promise<Uint8Array> {
    return this.#quick.sign(ref, algorithm, message) ?? this.#signAside(ref, algorithm, message);
  }

  async #signAside(ref: LocalRef, algorithm: SignatureName, message: Buffer): Promise<Uint8Array> {
    // The queue may hold the work longer than the frame it came in.
    const copy = new Uint8Array(message);
    const work = { operation: "sign", ref, algorithm, message: copy } as const;
    const outcome = await this.#pool.run(work);
    if (outcome.status !== "signed") throw this.#failure(outcome);
    this.#quick.learn(ref, algorithm, outcome.elapsedMs);
    return outcome.signature;
  }

  async destroy(ref: LocalRef): Promise<void> {
    const outcome = await this.#pool.run({ operation: "destroy", ref });
    if (outcome.status !== "done") throw this.#failure(outcome);
  }

  async generateKek(label: string): Promise<KekHandle> {
    const outcome = await this.#pool.run({ operation: "kek.generate", label });
    if (outcome.status === "kek") return outcome.kekHandle;
    throw this.#failure(outcome);
  }

  async wrap(ref: LocalRef, dek: Uint8Array, use: DekUse): Promise<WrappedDek> {
    const outcome = await this.#pool.run({ operation: "kek.wrap", ref, dek, use });
    if (outcome.status === "wrapped") return outcome.wrapped;
    throw this.#failure(outcome);
  }

  async unwrap(ref: LocalRef, wrapped: WrappedDek, use: DekUse): Promise<Uint8Array> {
    const outcome = await this.#pool.run({ operation: "kek.unwrap", ref, wrapped, use });
    if (outcome.status === "unwrapped") return outcome.dek;
    throw this.#failure(outcome);
  }

  async destroyKek(kek: LocalRef): Promise<void> {
    const outcome = await this.#pool.run({ operation: "kek.destroy", ref: kek });
    if (outcome.status !== "done") throw this.#failure(outcome);
  }

  async list(): Promise<readonly ListedKey[]> {
    const outcome = await this.#pool.run({ operation: "list" });
    if (outcome.status === "listed") return outcome.keys;
    throw this.#failure(outcome);
  }

  /** A module may show what was put back on the token to a fresh process only. */
  lookAgain(): void {
    if (this.#missed) this.#deps.restart("a key that was missing is looked for again");
  }

  #keyHandle(outcome: Outcome): KeyHandle {
    if (outcome.status === "found") return outcome.keyHandle;
    throw this.#failure(outcome);
  }

  #failure(outcome: Outcome): Error {
    if (outcome.status === "refused") {
      const { code, facts, sentence } = outcome.refusal;
      if (outcome.note !== "") this.#deps.note(`The token refused an operation: ${outcome.note}.`);
      const problem = new Problem(code, facts);
      problem.message = sentence;
      return problem;
    }
    if (outcome.status === "restart") return this.#restartOrRefuse(outcome.cause, outcome.reason);
    return new Error(outcome.status === "fault" ? outcome.reason : "a worker answered amiss");
  }

  /**
   * A fresh process heals what the module has got wrong. One that is itself fresh proves that it
   * does not, so a single bad key cannot keep the signer restarting; unless the token has stopped
   * answering altogether.
   */
  #restartOrRefuse(cause: RestartCause, reason: string): Error {
    const age = performance.now() - this.#since;
    if (age >= provenAfterMs[cause] || !this.#hsmToken.alive()) return new RestartNeeded(reason);
    if (cause !== "device") this.#missed = true;
    if (cause !== "key absent") {
      this.#deps.note(`The token failed an operation right after a restart: ${reason}.`);
    }
    return refuse("key_unavailable", { retry_after: 2 });
  }
}

/**
 * How old a process must be before such a failure ends it. A key never seen is most likely just not
 * there.
 */
const provenAfterMs: Readonly<Record<RestartCause, number>> = {
  device: 5_000,
  "key vanished": 5_000,
  "key absent": 60_000,
};
