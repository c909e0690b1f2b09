/** A store of archives that accepts connections and then says little or nothing. */

import { afterEach, expect, test } from "bun:test";

import { ArchiveBucket } from "#adapters/publish/archives.ts";
import { TargetFault } from "#domain/publishing/target.ts";

const artifact = "pkid-instance-20260601T120000Z.tar.age";

type Answer = (socket: Bun.Socket, head: string) => void | Promise<void>;
const listeners: Bun.TCPSocketListener[] = [];
afterEach(() => {
  for (const one of listeners.splice(0)) one.stop(true);
});

/** Behind it whatever is asked is answered by `answer`, which is given the head of the request. */
function bucketThat(answer: Answer, silenceMaxMs: number): ArchiveBucket {
  const answered = (socket: Bun.Socket, octets: Buffer) =>
    answer(socket, octets.toString("latin1"));
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: answered } });
  listeners.push(listener);
  const endpoint = `http://127.0.0.1:${listener.port}`;
  const place = { endpoint, region: "eu-test-1", bucket: "b", prefix: undefined };
  const credentials = { accessKeyId: "x", secretAccessKey: "y", sessionToken: undefined };
  return new ArchiveBucket(
    { ...place, force_path_style: true, concurrency: 1 },
    async () => credentials,
    silenceMaxMs,
  );
}

const silent: Answer = () => {};
const headOnly: Answer = (socket) => {
  socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/xml\r\ncontent-length: 40\r\n\r\n");
};

async function* onePiece(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("archive");
}

const late = (what: string) => `The store did not answer in time about ${what}.`;

async function faultOf(work: Promise<unknown>): Promise<string> {
  const error = await work.catch((thrown: unknown) => thrown);
  return error instanceof TargetFault ? error.message : `no fault of the target: ${error}`;
}

test.each([
  ["says nothing", silent],
  ["sends a head and no more", headOnly],
] as const)("a store that %s is given up: what it has, and an archive in it", async (_, answer) => {
  const bucket = bucketThat(answer, 50);
  expect(await faultOf(bucket.list("instance"))).toBe(late("its archives"));
  expect(await faultOf(Array.fromAsync(bucket.pieces(artifact)))).toBe(late(artifact));
});

test("a store that says nothing is given up by a backup and by what is let go", async () => {
  const bucket = bucketThat(silent, 50);
  const proven = async () => ({});
  expect(await faultOf(bucket.write(artifact, onePiece(), proven))).toBe(late(artifact));
  expect(await faultOf(bucket.remove(artifact))).toBe(late(artifact));
});

test("a store that falls silent while an archive is sent is given up, and nobody vouches for it", async () => {
  const bucket = bucketThat((socket, head) => {
    if (head.startsWith("HEAD "))
      socket.write("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
  }, 200);
  let proven = false;
  const written = bucket.write(artifact, onePiece(), async () => {
    proven = true;
    return {};
  });
  expect(await faultOf(written)).toBe(late(artifact));
  expect(proven).toBe(false);
});

test("a store that is slow, but moves, is heard to its end, however long that takes", async () => {
  const text = "an archive that comes octet by octet";
  const bucket = bucketThat(async (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n`);
    for (const one of text) {
      socket.write(one);
      socket.flush();
      // All of them together take longer than it may be silent.
      await Bun.sleep(50);
    }
  }, 1500);
  const pieces = await Array.fromAsync(bucket.pieces(artifact));
  expect(Buffer.concat(pieces).toString()).toBe(text);
  expect(pieces.length).toBeGreaterThan(1);
});
