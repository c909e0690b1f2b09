/** The wire between server and signer: whatever the cuts, the same frames arrive. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { FrameReader, frameBytesMax, frameKinds, Outbox } from "#adapters/keys/frames.ts";

const bodies = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 20 });

test("frames arrive whole and in order, wherever the stream is cut", () => {
  fc.assert(
    fc.property(
      bodies,
      fc.array(fc.integer({ min: 1, max: 97 }), { minLength: 1 }),
      (sent, cuts) => {
        const stream = encoded(sent);
        const reader = new FrameReader();
        const received: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < stream.length; turn += 1) {
          const end = Math.min(stream.length, at + (cuts[turn % cuts.length] ?? 1));
          reader.push(stream.subarray(at, end), (kind, id, body) => {
            expect([kind, id]).toEqual([frameKinds.sign, received.length]);
            received.push(new Uint8Array(body));
          });
          at = end;
        }
        expect(received).toEqual(sent.map((body) => new Uint8Array(body)));
      },
    ),
  );
});

test("a frame longer than the limit, or shorter than its head, is refused at once", () => {
  for (const length of [0, 4, frameBytesMax + 1, 0xffff_ffff]) {
    const head = Buffer.alloc(9);
    head.writeUInt32LE(length);
    expect(() => new FrameReader().push(head, () => {})).toThrow("wrong length");
  }
});

test("what a full socket did not take is sent when it drains, in order and once", () => {
  fc.assert(
    fc.property(bodies, fc.integer({ min: 0, max: 50 }), (sent, room) => {
      const taken: Buffer[] = [];
      let open = false;
      const sink = {
        write: (bytes: Buffer) => {
          const part = Buffer.from(bytes.subarray(0, open ? bytes.length : room));
          taken.push(part);
          return part.length;
        },
      };
      const outbox = new Outbox(sink);
      sent.forEach((body, id) => {
        outbox.add(frameKinds.sign, id, [body]);
        if (id % 2 === 0) outbox.flush();
      });
      open = true;
      outbox.drained();
      outbox.flush();
      expect(Buffer.concat(taken).equals(encoded(sent))).toBe(true);
    }),
  );
});

test("long parts leave in their place, uncopied, however little the socket takes at a time", () => {
  const long = (octet: number) => new Uint8Array(70_000).fill(octet);
  const frames = [
    [Buffer.from("a"), long(1), Buffer.from("b")],
    [Buffer.from("c")],
    [long(2), long(3)],
  ];
  const taken: Buffer[] = [];
  let room = 40_000;
  const outbox = new Outbox({
    write: (bytes) => {
      taken.push(Buffer.from(bytes.subarray(0, room)));
      room = 1 + ((room * 7) % 40_000);
      return taken.at(-1)?.length ?? 0;
    },
  });
  for (const [id, parts] of frames.entries()) outbox.add(frameKinds.sign, id, parts);
  for (let turn = 0; turn < 10_000; turn += 1) outbox.drained();
  expect(Buffer.concat(taken).equals(encoded(frames.map((parts) => Buffer.concat(parts))))).toBe(
    true,
  );
});

test("what is queued in one tick leaves by sixteens, and the rest at its end", async () => {
  const writes: number[] = [];
  const outbox = new Outbox({
    write: (bytes) => {
      writes.push(bytes.length / 1009);
      return bytes.length;
    },
  });
  for (let id = 0; id < 43; id += 1) outbox.add(frameKinds.sign, id, [Buffer.alloc(1000)]);
  expect(writes).toEqual([16, 16]);
  await new Promise((turned) => setImmediate(turned));
  expect(writes).toEqual([16, 16, 11]);
});

function encoded(sent: readonly Uint8Array[]): Buffer {
  const written: Buffer[] = [];
  const outbox = new Outbox({
    write: (bytes) => {
      written.push(Buffer.from(bytes));
      return bytes.length;
    },
  });
  sent.forEach((body, id) => {
    outbox.add(frameKinds.sign, id, [body]);
  });
  outbox.flush();
  return Buffer.concat(written);
}
