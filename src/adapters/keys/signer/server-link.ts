/**
 * What a signer says to its server unasked: requests that are answered, counts, and sentences for
 * the log.
 */

import { frameKinds, jsonBody, type Outbox, readJson } from "#adapters/keys/frames.ts";
import { type KekTally, readRefusal, type CarriedRequest } from "#adapters/keys/requests.ts";
import { Problem } from "#core/problems.ts";

/**
 * The signer's half; the server answers every request in seconds, and when it is gone the signer
 * ends.
 */
export class ServerLink {
  readonly #outbox: Outbox;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  /** Asks for what another signer does; throws the refusal when it does not. */
  request(request: CarriedRequest): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>();
    this.#lastId = (this.#lastId % idMax) + 1;
    this.#waiting.set(this.#lastId, answer);
    this.#outbox.add(frameKinds.request, this.#lastId, [jsonBody(request)]);
    return answer.promise;
  }

  tally(tally: KekTally): void {
    this.#outbox.add(frameKinds.tally, 0, [jsonBody(tally)]);
  }

  /** A closed sentence without PINs, paths or labels. */
  note(sentence: string): void {
    this.#outbox.add(frameKinds.note, 0, [Buffer.from(sentence, "utf8")]);
  }

  /** Takes the answer to a request; false for every other frame. */
  answered(kind: number, id: number, body: Buffer): boolean {
    if (kind !== frameKinds.served && kind !== frameKinds.denied) return false;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (kind === frameKinds.served) waiting?.resolve(readJson(body));
    else {
      const { code, facts, sentence } = readRefusal(body);
      const problem = new Problem(code, facts);
      problem.message = sentence;
      waiting?.reject(problem);
    }
    return true;
  }
}

const idMax = 0xffff_fffe;
