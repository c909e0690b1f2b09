/** Runs in a thread: writes an archive, hands it over piece by piece, and ends. */

import { parentPort } from "node:worker_threads";

import { encrypted } from "#adapters/age/age.ts";
import { gathered } from "./gathered.ts";
import { ArchiveUnfit, type Manifest, type Vouched } from "#core/backup/archive.ts";
import type { ArchiveJob, FromArchive, ToArchive } from "./thread-data.ts";
import type { ArchiveHost, DataKeysGiven } from "#domain/backup/archiving.ts";
import { fromThread } from "./archiver.ts";
import { archiveOf } from "./write.ts";

/** Ends when the archive does, when something is wrong with it, or when it is told to stop. */
export async function runArchiveJob(job: ArchiveJob): Promise<void> {
  const { say, heard, hand } = speaking();
  const ask = async (question: FromArchive) => {
    const answer = heard.answer();
    say(question);
    return await answer;
  };
  await hand(
    produced(job, {
      begun: (manifest: Manifest) => say({ begun: manifest }),
      // The server answers each question in its own type.
      dataKeys: async (asked) => (await ask({ ask: "dataKeys", asked })) as DataKeysGiven,
      sign: async (octets: Uint8Array) => (await ask({ ask: "sign", octets })) as Vouched,
    }),
  );
}

function speaking() {
  const port = parentPort;
  if (port === null) throw new Error("an archive is written and opened in a thread of its own");
  const say = (message: FromArchive) => port.postMessage(message);
  const heard = new Heard();
  port.on("message", (message: ToArchive) => heard.hear(message));
  const hand = async (pieces: AsyncIterable<Uint8Array>) => {
    let sent = 0;
    try {
      for await (const piece of gathered(pieces)) {
        await heard.room();
        if (heard.stopped) return;
        port.postMessage({ piece } satisfies FromArchive, [piece.buffer]);
        // The collector does not count these bytes, and runs on its own only in an idle thread.
        if (++sent % chunksPerCollection === 0) Bun.gc(true);
      }
      say({ ended: true });
    } catch (error) {
      // Only its text crosses to the other thread.
      const fault = error instanceof Error ? error.message : String(error);
      say({ fault, unfit: error instanceof ArchiveUnfit });
    } finally {
      port.close();
    }
  };
  return { say, heard, hand };
}

function produced(
  { archive, protection, workerUrl }: ArchiveJob,
  host: ArchiveHost,
): AsyncGenerator<Uint8Array> {
  if (protection === undefined) return archiveOf(archive, host);
  return encrypted(protection, fromThread({ archive, protection: undefined, workerUrl }, host));
}

/** What came from the server, for whoever waits for it. */
class Heard {
  stopped = false;
  #room = piecesAhead;
  #waiting: (() => void) | undefined;
  #asked: PromiseWithResolvers<DataKeysGiven | Vouched> | undefined;

  hear(message: ToArchive): void {
    if ("answer" in message) this.#asked?.resolve(message.answer);
    else if ("failure" in message) this.#asked?.reject(new Error(message.failure));
    else if ("stop" in message) {
      this.stopped = true;
      this.#asked?.reject(new Error("nobody wants the archive any more"));
    } else this.#room += 1;
    this.#waiting?.();
  }

  answer(): Promise<DataKeysGiven | Vouched> {
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
const chunksPerCollection = 4;
