/** Answers the requests of one server, inside the signer process. */

import { Problem } from "#core/problems.ts";
import {
  type FrameKind,
  frameKinds,
  jsonBody,
  type Outbox,
  readJson,
} from "#adapters/keys/frames.ts";
import {
  type CallRequest,
  faultBody,
  heldKeyBody,
  readSignRequest,
  type RefusalBody,
  RestartNeeded,
} from "#adapters/keys/requests.ts";

import type { SigningProvider } from "./provider.ts";

/** Serves one provider over one outbox. */
export class SignerService {
  readonly #provider: SigningProvider;
  readonly #outbox: Outbox;
  readonly #restart: (reason: string) => void;
  #unflushed = 0;

  constructor(deps: {
    readonly provider: SigningProvider;
    readonly outbox: Outbox;
    /** Ends the process, after what is answered has left. */
    readonly restart: (reason: string) => void;
  }) {
    this.#provider = deps.provider;
    this.#outbox = deps.outbox;
    this.#restart = deps.restart;
  }

  /** Takes one request frame. */
  handle(kind: number, id: number, body: Buffer): void {
    if (kind === frameKinds.sign) this.#sign(id, body);
    else if (kind === frameKinds.call) void this.#call(id, readJson(body));
  }

  #sign(id: number, body: Buffer): void {
    try {
      const { id: keyId, label, algorithm, message } = readSignRequest(body);
      const made = this.#provider.sign({ id: keyId, label }, algorithm, message);
      if (made instanceof Uint8Array) {
        this.#answerAtOnce(id, made);
        return;
      }
      made.then(
        (signature) => this.#outbox.add(frameKinds.signature, id, [signature]),
        (fault: unknown) => this.#fail(id, fault),
      );
    } catch (fault) {
      this.#fail(id, fault);
    }
  }

  /** Inline signatures leave in small batches, so that the first of a long queue does not wait for the last. */
  #answerAtOnce(id: number, signature: Uint8Array): void {
    this.#outbox.add(frameKinds.signature, id, [signature]);
    this.#unflushed += 1;
    if (this.#unflushed < inlineBatch) return;
    this.#unflushed = 0;
    this.#outbox.flush();
  }

  async #call(id: number, request: unknown): Promise<void> {
    try {
      const call = request as CallRequest; // Written by our own binary over an inherited socket.
      this.#outbox.add(frameKinds.result, id, [jsonBody(await this.#run(call))]);
    } catch (fault) {
      this.#fail(id, fault);
    }
  }

  async #run(call: CallRequest): Promise<unknown> {
    switch (call.operation) {
      case "generate":
        return heldKeyBody(await this.#provider.generate(call.label, call.keyType));
      case "find":
        return heldKeyBody(await this.#provider.find(call.key));
      case "destroy":
        await this.#provider.destroy(call.key);
        return null;
      case "kek.generate":
        return this.#provider.generateKek(call.label);
      case "kek.wrap":
        return (await this.#provider.wrap(call.key, octetsOf(call))).toBase64();
      case "kek.unwrap":
        return (await this.#provider.unwrap(call.key, octetsOf(call))).toBase64();
      case "kek.destroy":
        await this.#provider.destroyKek(call.key);
        return null;
      case "list":
        return this.#provider.list();
      case "facts":
        return this.#provider.facts();
      default:
        return call satisfies never;
    }
  }

  #fail(id: number, fault: unknown): void {
    if (fault instanceof RestartNeeded) {
      this.#restart(fault.message);
      return;
    }
    const [kind, body] = failureBody(fault);
    this.#outbox.add(kind, id, [body]);
  }
}

const octetsOf = (call: { readonly octets: string }) => Uint8Array.fromBase64(call.octets);

/** A refusal crosses as such; anything else is a bug of the signer and crosses as a fault. */
function failureBody(fault: unknown): readonly [FrameKind, Uint8Array] {
  if (!(fault instanceof Problem)) return [frameKinds.fault, faultBody(fault)];
  const { code, facts, message } = fault;
  const refusal = { code, facts, sentence: message } satisfies RefusalBody;
  return [frameKinds.refused, jsonBody(refusal)];
}

const inlineBatch = 16;
