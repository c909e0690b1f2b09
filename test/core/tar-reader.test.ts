/** Archives are read as they were written, in whatever pieces they come, and nothing else is. */

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

import { TarDamaged, tarMembers } from "#core/tar-reader.ts";
import { tarEnd, tarHeader, tarPadding } from "#core/tar.ts";
import { ran } from "#test/support/child.ts";

interface Member {
  readonly name: string;
  readonly content: Uint8Array;
}

const archive = (members: readonly Member[]): Buffer =>
  Buffer.concat([
    ...members.flatMap(({ name, content }) => [
      tarHeader(name, content.length, 0, 0o600),
      content,
      tarPadding(content.length),
    ]),
    tarEnd(),
  ]);

const name = fc.stringMatching(/^[a-z]{1,60}(\/[a-zä]{1,60}){0,3}$/);
const members = fc.array(fc.record({ name, content: fc.uint8Array({ maxLength: 1500 }) }), {
  maxLength: 5,
});

async function* inPieces(octets: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < octets.length; at += length) yield octets.subarray(at, at + length);
}

async function read(octets: Uint8Array, length = 700): Promise<readonly Member[]> {
  const found: Member[] = [];
  for await (const member of tarMembers(inPieces(octets, length))) {
    const pieces: Uint8Array[] = [];
    for await (const piece of member.content()) pieces.push(piece);
    found.push({ name: member.name, content: new Uint8Array(Buffer.concat(pieces)) });
  }
  return found;
}

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "read",
    (error: unknown) => {
      if (error instanceof TarDamaged) return error.message;
      throw error;
    },
  );

test("what was written is read, however it is cut into pieces", async () => {
  await fc.assert(
    fc.asyncProperty(members, fc.integer({ min: 1, max: 5000 }), async (given, length) => {
      expect(await read(archive(given), length)).toEqual([...given]);
    }),
  );
});

test("members whose content nobody reads are passed over", async () => {
  const given = [
    { name: "a", content: new Uint8Array(2000) },
    { name: "b", content: new Uint8Array(1) },
  ];
  const names: string[] = [];
  for await (const member of tarMembers(inPieces(archive(given), 100))) names.push(member.name);
  expect(names).toEqual(["a", "b"]);
});

test("an archive that ends anywhere before its end, or goes on behind it, is refused", async () => {
  await fc.assert(
    fc.asyncProperty(members, fc.nat(), async (given, at) => {
      const whole = archive(given);
      expect(await refusal(read(whole.subarray(0, at % whole.length)))).not.toBe("read");
      expect(await refusal(read(Buffer.concat([whole, Buffer.of(0)])))).toContain("goes on behind");
    }),
  );
});

test("any altered octet outside of contents is refused, or only alters a field nobody reads", async () => {
  await fc.assert(
    fc.asyncProperty(members, fc.nat(), fc.integer({ min: 1, max: 255 }), async (given, at, by) => {
      fc.pre(given.length > 0);
      const whole = archive(given);
      const place = at % 512;
      whole[place] = (whole[place] ?? 0) ^ by;
      // The sum covers the whole header.
      expect(await refusal(read(whole))).not.toBe("read");
    }),
  );
});

test("links, folders and devices that tar puts into an archive are refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pkid-tar-reader-"));
  try {
    writeFileSync(join(folder, "file"), "content");
    symlinkSync("/etc/passwd", join(folder, "link"));
    for (const what of ["link", "."]) {
      const made = await ran(["tar", "--format=ustar", "-cf", "a.tar", what], { cwd: folder });
      expect(made.code).toBe(0);
      const octets = await Bun.file(join(folder, "a.tar")).bytes();
      expect(await refusal(read(octets))).toContain("is no regular file");
    }
    await ran(["tar", "--format=gnu", "-cf", "a.tar", "file"], { cwd: folder });
    const gnu = await Bun.file(join(folder, "a.tar")).bytes();
    expect(await refusal(read(gnu))).toContain("of the ustar format");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
