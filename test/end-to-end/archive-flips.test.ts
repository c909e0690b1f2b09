/**
 * RES-1, by the binary: whichever bit of an archive is another, outside or inside its encryption, a
 * restore says why it takes none of it, and nothing is there after.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { decrypted, encrypted, newIdentity } from "#adapters/age/age.ts";
import { tarMembers } from "#core/tar-reader.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";

let target: string;
let identityFile: string;
let archive: Buffer;
let recipient: string;
/** What the archive holds, and where each member begins and ends in it. */
let plain: Buffer;
const places = new Map<string, { readonly from: number; readonly to: number }>();

beforeAll(async () => {
  const instance = await Instance.start();
  await createChain(instance, "ecdsa-p256");
  const keys = await newIdentity();
  ({ recipient } = keys);
  target = newHome();
  writeConfig(target, {});
  identityFile = join(target, "identity");
  writeFileSync(identityFile, `${keys.identity}\n`, { mode: 0o600 });
  const file = join(instance.home, "whole.age");
  const made = await instance.cli("backup", "create", "--out", file, "--recipient", recipient);
  expect([made.code, made.stderr]).toEqual([0, ""]);
  archive = readFileSync(file);
  await instance.dispose();
  const opened = () => decrypted({ identities: [keys.identity] }, inPieces(archive));
  plain = await whole(opened());
  for await (const { name, content } of tarMembers(opened())) {
    const octets = await whole(content());
    const from = plain.indexOf(octets, places.size === 0 ? 0 : lastEnd());
    if (octets.length > 0) places.set(name, { from, to: from + octets.length });
  }
}, 60_000);

afterAll(() => rmSync(target, { recursive: true, force: true }));

const lastEnd = () => [...places.values()].at(-1)?.to ?? 0;

/** Where the encrypted octets begin: behind the line with the MAC of the header. */
const bodyOf = (): number => archive.indexOf("\n", archive.indexOf("\n---") + 1) + 1;

const outside: Readonly<Record<string, () => number>> = {
  "the name of the format": () => 3,
  "the recipient": () => archive.indexOf("X25519") + 12,
  "the wrapped key": () => archive.indexOf("\n---") - 5,
  "the MAC of the header": () => bodyOf() - 6,
  "the nonce": () => bodyOf() + 4,
  "the first octets": () => bodyOf() + 20,
  "the middle": () => archive.length >> 1,
  "the last tag": () => archive.length - 1,
};

const inside: Readonly<Record<string, () => number>> = {
  "the manifest": () => middleOf("manifest.json"),
  "a table of certificates": () => middleOf("database/certificates.jsonl"),
  "the chain of events": () => middleOf("database/events.jsonl"),
  "the data keys": () => middleOf("keys/deks.json"),
  "the master key": () => middleOf("keys/master.key"),
  "a published list": () => middleOf(named(/^crl\/.*\.der$/)),
  "the digests": () => middleOf("digests.json"),
  "the head of a member": () => (places.get("database/events.jsonl")?.from ?? 0) - 500,
};

const named = (pattern: RegExp): string =>
  [...places.keys()].find((name) => pattern.test(name)) ?? "";

function middleOf(name: string): number {
  const { from, to } = places.get(name) ?? { from: -1, to: -1 };
  if (from < 0) throw new Error(`there is no ${name} in the archive`);
  return (from + to) >> 1;
}

function flipped(octets: Buffer, at: number): Buffer {
  const copy = Buffer.from(octets);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

async function isRefused(octets: Buffer): Promise<void> {
  const file = join(target, "flipped.age");
  writeFileSync(file, octets);
  const line = ["restore", file, "--identity", identityFile];
  const { code, stdout, stderr } = await runCli(target, line);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^error: .+\.\n$/);
  expect(stderr).not.toContain("internal");
  expect(readdirSync(target).sort()).toEqual(["flipped.age", "identity", "pkid.yaml"]);
}

test.each(Object.entries(outside))("a bit in %s, as it was encrypted", async (_, at) => {
  await isRefused(flipped(archive, at()));
});

test.each(Object.entries(inside))("a bit in %s, encrypted again", async (_, at) => {
  const altered = flipped(plain, at());
  await isRefused(await whole(encrypted({ recipients: [recipient] }, inPieces(altered))));
});

test("without any, it is taken", async () => {
  const file = join(target, "whole.age");
  writeFileSync(file, archive);
  const { code } = await runCli(target, ["restore", file, "--identity", identityFile]);
  expect([code, readdirSync(target).includes("data")]).toEqual([0, true]);
});

async function* inPieces(octets: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < octets.length; at += pieceOctets) {
    yield octets.subarray(at, at + pieceOctets);
  }
}

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(Uint8Array.from(piece));
  return Buffer.concat(all);
}

const pieceOctets = 65_536;
