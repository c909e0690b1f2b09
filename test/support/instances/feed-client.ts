/** A client of the live feed that reads frames as the console does, and remembers them. */

import { addressOf } from "#web/api.ts";
import { FrameReader } from "#web/feed.ts";

export interface HeardFrame {
  readonly id: string | undefined;
  readonly event: string;
  readonly text: string;
}

/** What came of one connection so far. */
export class Heard {
  readonly frames: HeardFrame[] = [];
  text = "";
  /** True once the connection has ended, by itself or broken off. */
  over = false;
  readonly #answer: Response;

  /** Reads the body until it ends. */
  constructor(answer: Response) {
    this.#answer = answer;
    void this.#read();
  }

  get status(): number {
    return this.#answer.status;
  }

  of(event: string): readonly HeardFrame[] {
    return this.frames.filter((frame) => frame.event === event);
  }

  /** The numbers of the events, in the order they came. */
  get seqs(): readonly number[] {
    return this.of("audit").map(({ id }) => Number(id));
  }

  /** The actions of the events. */
  get actions(): readonly string[] {
    return this.of("audit").map(({ text }) => JSON.parse(text).action);
  }

  /** Where a reader goes on. */
  get lastId(): string | undefined {
    return this.frames.findLast(({ id }) => id !== undefined)?.id;
  }

  /** The words it ended with. */
  get ends(): readonly unknown[] {
    return this.of("end").map(({ text }) => JSON.parse(text).code);
  }

  async #read(): Promise<void> {
    const reader = new FrameReader();
    const decoder = new TextDecoder();
    try {
      for await (const octets of this.#answer.body ?? []) {
        this.text += decoder.decode(octets, { stream: true });
        this.frames.push(...reader.frames(octets));
      }
    } catch {
      // The connection was broken off: what came before it is what there is.
    }
    this.over = true;
  }
}

/** Begins to follow; `fetching` is a fetch of the server that is meant. */
export async function hear(
  fetching: (path: string, init: RequestInit) => Promise<Response>,
  headers: Readonly<Record<string, string>>,
  query = "",
): Promise<Heard> {
  return new Heard(await fetching(`${addressOf("event.stream")}${query}`, { headers }));
}
