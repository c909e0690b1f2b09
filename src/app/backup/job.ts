/** Runs in a thread: writes an archive, hands it over piece by piece, and ends. */

import { parentPort } from "node:worker_threads";

import { encrypted } from "#adapters/age/age.ts";
import { gathered } from "./gathered.ts";
import type { Manifest, Vouched } from "#core/backup/archive.ts";
import type { ArchiveJob, FromArchive, ToArchive } from "./thread-data.ts";
import { archiveOf } from "./write.ts";

/** Ends when the archive does, when something is wrong with it, or when it is told to stop. */
export async function runArchiveJob({ archive, protection }: ArchiveJob): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("an archive is written in a thread of its own");
  const say = (message: FromArchive) => port.postMessage(message);
  const heard = new Heard();
  port.on("message", (message: ToArchive) => heard.hear(message));
  const ask = async (question: FromArchive) => {
    const answer = heard.answer();
    say(question);
    return await answer;
  };
  const host = {
    begun: (manifest: Manifest) => say({ begun: manifest }),
    // The server answers each question in its own type.
    dataKeys: async () => (await ask({ ask: "dataKeys" })) as Uint8Array,
    sign: async (octets: Uint8Array) => (await ask({ ask: "sign", octets })) as Vouched,
  };
  try {
    for await (const piece of gathered(encrypted(protection, archiveOf(archive, host)))) {
      await heard.room();
      if (heard.stopped) return;
      say({ piece });
    }
    say({ ended: true });
  } catch (error) {
    // Only its text crosses to the other thread.
    say({ fault: error instanceof Error ? error.message : String(error) });
  } finally {
    port.close();
  }
}

/** What came from the server, for whoever waits for it. */
class Heard {
  stopped = false;
  #room = piecesAhead;
  #waiting: (() => void) | undefined;
  #asked: PromiseWithResolvers<Uint8Array | Vouched> | undefined;

  hear(message: ToArchive): void {
    if ("answer" in message) this.#asked?.resolve(message.answer);
    else if ("failure" in message) this.#asked?.reject(new Error(message.failure));
    else if ("stop" in message) {
      this.stopped = true;
      this.#asked?.reject(new Error("nobody wants the archive any more"));
    } else this.#room += 1;
    this.#waiting?.();
  }

  answer(): Promise<Uint8Array | Vouched> {
    this.#asked = Promise.withResolvers();
    return this.#asked.promise;
  }

  /** Returns when one more piece may be sent: a slow reader never makes a heap of them. */
  async room(): Promise<void> {
    while (this.#room === 0 && !this.stopped) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    this.#room -= 1;
  }
}

const piecesAhead = 4;
