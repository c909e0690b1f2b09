/** Answers the requests of one server, inside the signer process. */

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
  kekHandleBody,
  keyHandleBody,
  hybridHeaderBody,
  readHybridHeader,
  readHybridRequest,
  readSignRequest,
  readWrapped,
  refusalBody,
  type Resealed,
  RestartNeeded,
  type CarriedRequest,
  wrappedBody,
} from "#adapters/keys/requests.ts";
import { refuse } from "#core/problems.ts";
import type { KeyHandle } from "#domain/keys.ts";

import { boxFor, Mailbox } from "./hand-over.ts";
import type { SigningProvider } from "./provider.ts";
import type { ServerLink } from "./server-link.ts";

/** Serves one provider over one outbox. */
export class SignerService {
  readonly #provider: SigningProvider;
  readonly #outbox: Outbox;
  readonly #link: ServerLink;
  readonly #restart: (reason: string) => void;
  /** Made when another signer first asks for it; most signers are never asked. */
  #mailbox: Mailbox | undefined;
  /** Another one, so that a box for one use is none for the other. */
  #intake: Mailbox | undefined;

  constructor(deps: {
    readonly provider: SigningProvider;
    readonly outbox: Outbox;
    readonly link: ServerLink;
    /** Ends the process, after what is answered has left. */
    readonly restart: (reason: string) => void;
  }) {
    this.#provider = deps.provider;
    this.#outbox = deps.outbox;
    this.#link = deps.link;
    this.#restart = deps.restart;
  }

  /** Takes one request frame. */
  handle(kind: number, id: number, body: Buffer): void {
    if (kind === frameKinds.sign) this.#sign(id, body);
    else if (kind === frameKinds.again) this.#provider.lookAgain();
    else if (kind === frameKinds.call) void this.#call(id, readJson(body));
    else this.#link.answered(kind, id, body);
  }

  #sign(id: number, body: Buffer): void {
    try {
      const { id: keyId, label, algorithm, message } = readSignRequest(body);
      const made = this.#provider.sign({ id: keyId, label }, algorithm, message);
      if (made instanceof Uint8Array) {
        this.#outbox.add(frameKinds.signature, id, [made]);
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
        return keyHandleBody(await this.#provider.generate(call.label, call.keyType));
      case "find":
        return keyHandleBody(await this.#provider.find(call.key));
      case "destroy":
        await this.#provider.destroy(call.key);
        return null;
      case "kek.generate":
        return kekHandleBody(await this.#provider.generateKek(call.label));
      case "kek.wrap":
        return wrappedBody(
          await this.#provider.wrap(call.key, Uint8Array.fromBase64(call.dek), "value"),
        );
      case "kek.unwrap": {
        const wrapped = readWrapped(call.wrapped);
        return (await this.#provider.unwrap(call.key, wrapped, "value")).toBase64();
      }
      case "half.generate":
      case "half.fingerprint":
      case "half.destroy":
      case "half.wrap":
      case "half.unwrap":
        return await this.#half(call);
      case "kek.use":
        this.#provider.sealing?.use(call.versions);
        return null;
      case "kek.reseal":
        return (await this.#provider.sealing?.reseal(call.version)) ?? nothingLeft;
      case "kek.archive": {
        const address = Uint8Array.fromBase64(call.address);
        return (await this.#provider.sealing?.handOut(address, call.after)) ?? { boxes: [] };
      }
      case "kek.take_over":
        await this.#provider.sealing?.takeOver(call.dataKeys);
        return null;
      case "kek.address":
      case "kek.hand_out":
      case "kek.take_in":
        return this.#serve(call);
      case "intake.address":
        return this.#addressOfIntake();
      case "intake.take":
        return keyHandleBody(await this.#take(call.label, Uint8Array.fromBase64(call.box)));
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

  /**
   * Hybrid wraps of the data keys of values; those of private keys are made in here and asked for
   * by nobody.
   */
  async #half(call: Extract<CallRequest, { operation: `half.${string}` }>): Promise<unknown> {
    const { halves } = this.#provider;
    if (halves === undefined) throw refuse("key_unavailable", { retry_after: 2 });
    if (call.operation === "half.generate") return await halves.generate(call.key);
    if (call.operation === "half.fingerprint") return await halves.fingerprint(call.key);
    if (call.operation === "half.wrap") {
      const request = readHybridRequest(call.request);
      return hybridHeaderBody(await halves.wrap(call.key, request, "value"));
    }
    if (call.operation === "half.unwrap") {
      const share = Uint8Array.fromBase64(call.share);
      const header = readHybridHeader(call.header);
      return (await halves.unwrap(call.key, header, share, "value")).toBase64();
    }
    halves.remove(call.key);
    return null;
  }

  /**
   * Serves another signer: no data key of a private key leaves this process but in a box for one.
   */
  async #serve(request: CarriedRequest): Promise<unknown> {
    const provider = this.#provider;
    if (!provider.servesSigners) throw refuse("key_unavailable", { retry_after: 2 });
    this.#mailbox ??= new Mailbox("hand-over");
    if (request.operation === "kek.address") return this.#mailbox.address.toBase64();
    const dek =
      request.operation === "kek.hand_out"
        ? await provider.unwrap(request.key, readWrapped(request.wrapped), "private key")
        : this.#mailbox.open(Uint8Array.fromBase64(request.box));
    try {
      if (request.operation === "kek.take_in")
        return wrappedBody(await provider.wrap(request.key, dek, "private key"));
      return boxFor(Uint8Array.fromBase64(request.address), dek, "hand-over").toBase64();
    } finally {
      dek.fill(0);
    }
  }

  #addressOfIntake(): string {
    if (this.#provider.take === undefined) throw refuse("not_supported");
    this.#intake ??= new Mailbox("intake");
    return this.#intake.address.toBase64();
  }

  async #take(label: string, box: Uint8Array): Promise<KeyHandle> {
    const { take } = this.#provider;
    if (take === undefined) throw refuse("not_supported");
    const content = this.#opened(box);
    const pkcs8 = Buffer.from(content.buffer, content.byteOffset, content.length);
    try {
      return await take(label, pkcs8);
    } finally {
      pkcs8.fill(0);
    }
  }

  /** A box for another process was sealed for one before it: whoever brings it asks anew. */
  #opened(box: Uint8Array): Uint8Array {
    try {
      if (this.#intake !== undefined) return this.#intake.open(box);
    } catch {
      // Why it does not open is nobody's business.
    }
    throw refuse("bad_key", { reason: "the key was not sealed for this key store" });
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

/** A refusal crosses as such; anything else is a bug of the signer and crosses as a fault. */
function failureBody(fault: unknown): readonly [FrameKind, Uint8Array] {
  const refusal = refusalBody(fault);
  return refusal === undefined
    ? [frameKinds.fault, faultBody(fault)]
    : [frameKinds.refused, refusal];
}

const nothingLeft: Resealed = { changed: 0, left: 0 };
