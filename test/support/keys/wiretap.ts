/**
 * A signer with a tap on its line: passes every frame between server and signer, and writes it into
 * a file.
 */

import { appendFileSync } from "node:fs";
import { join } from "node:path";

import { FrameReader, type FrameKind, type Outbox } from "#adapters/keys/frames.ts";
import { openStream } from "#adapters/keys/stream.ts";

const [record = ""] = process.argv.slice(2);
const ends: { server?: Outbox; signer?: Outbox } = {};
const child = Bun.spawn([process.execPath, join(import.meta.dir, "signer-entry.ts")], {
  stdio: ["ignore", "ignore", "inherit", "socket-fd"],
  env: process.env,
  onExit: (_child, code) => process.exit(code ?? 1),
});

const signer = await openStream(child.stdio[3] ?? -1, {
  received: passing("server"),
  closed: () => process.exit(0),
});
ends.signer = signer.outbox;
const server = await openStream(3, { received: passing("signer"), closed: () => signer.end() });
ends.server = server.outbox;

/** Frames are written down before they go on, so that nothing passes unseen. */
function passing(to: "server" | "signer") {
  const reader = new FrameReader();
  const waiting: (() => void)[] = [];
  return (chunk: Buffer) =>
    reader.push(chunk, (kind, id, body) => {
      const copy = Buffer.from(body);
      appendFileSync(record, Buffer.concat([Buffer.from(`\n${to} ${kind} ${id} `), copy]));
      // Every kind is one of ours: the other end is our own binary.
      waiting.push(() => ends[to]?.add(kind as FrameKind, id, [copy]));
      if (ends[to] === undefined) return;
      for (const pass of waiting.splice(0)) pass();
    });
}
