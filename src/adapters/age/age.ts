/** Archives in the age format (age-encryption.org/v1): to recipients, or under a passphrase. */

import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from "age-encryption";

import { ArchiveUnfit, type Opener, type Protection } from "#core/backup/archive.ts";
import { sha256Hex } from "#core/crypto.ts";
import { assert } from "#core/problems.ts";
import { emptyPayloadOctets, openedPayload, sealedPayload } from "./payload.ts";

/** A key pair for archives: the identity opens what is encrypted to the recipient. */
export async function newIdentity(): Promise<{ identity: string; recipient: string }> {
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}

/** The recipient of an identity. Throws `ArchiveUnfit` for what is none. */
export async function recipientOf(identity: string): Promise<string> {
  try {
    return await identityToRecipient(identity);
  } catch {
    throw new ArchiveUnfit("This is no identity of the age format (AGE-SECRET-KEY-1…).");
  }
}

/** What is wrong with a recipient, as a phrase; undefined for one that archives can be made to. */
export function recipientFault(recipient: string): string | undefined {
  if (!/^age1(?:pq1|tag1|tagpq1)?[02-9ac-hj-np-z]+$/.test(recipient)) return notRecipient;
  try {
    new Encrypter().addRecipient(recipient);
    return undefined;
  } catch {
    return notRecipient;
  }
}

/** How manifests and events name a recipient: 16 hex of the SHA-256 of its text. */
export const recipientFingerprint = (recipient: string): string =>
  sha256Hex(Buffer.from(recipient)).slice(0, 16);

/** `plain`, encrypted, piece by piece. */
export async function* encrypted(
  protection: Protection,
  plain: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const encrypter = new Encrypter();
  if ("passphrase" in protection) {
    encrypter.setPassphrase(protection.passphrase);
    yield* piecesOf(await encrypter.encrypt(streamOf(plain)));
    return;
  }
  for (const recipient of protection.recipients) encrypter.addRecipient(recipient);
  const { header, fileKey } = await headerOf(encrypter);
  yield header;
  yield* sealedPayload(fileKey, plain);
}

/**
 * The header that the library writes for its recipients, and the key of the file behind it, which
 * a recipient more is told that adds no line of its own.
 */
async function headerOf(
  encrypter: Encrypter,
): Promise<{ readonly header: Uint8Array; readonly fileKey: Uint8Array }> {
  let fileKey: Uint8Array | undefined;
  encrypter.addRecipient({
    wrapFileKey: (key) => {
      fileKey = new Uint8Array(key);
      return [];
    },
  });
  const whole = await encrypter.encrypt(new Uint8Array());
  assert(fileKey !== undefined, "the library wraps the key for every recipient");
  return { header: whole.subarray(0, -emptyPayloadOctets), fileKey };
}

/**
 * What is inside, piece by piece; each piece is proven to be what was encrypted before it comes,
 * the end too. Throws `ArchiveUnfit` for another format, for an opener that does not fit, and for
 * whatever was altered, cut off or added.
 */
export async function* decrypted(
  opener: Opener,
  cipher: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const decrypter = new Decrypter();
  if ("passphrase" in opener) decrypter.addPassphrase(opener.passphrase);
  else for (const identity of opener.identities) added(decrypter, identity);
  const { fileKey, payload } = await opened(decrypter, cipher, opener);
  try {
    yield* openedPayload(fileKey, payload);
  } catch (error) {
    throw error instanceof ArchiveUnfit ? error : damaged();
  }
}

function added(decrypter: Decrypter, identity: string): void {
  try {
    decrypter.addIdentity(identity);
  } catch {
    throw new ArchiveUnfit("This is no identity of the age format (AGE-SECRET-KEY-1…).");
  }
}

/** Who can open an archive, by its head, in words. Throws `ArchiveUnfit` for what has none. */
export async function openersNamed(cipher: AsyncIterable<Uint8Array>): Promise<string> {
  const { header } = await looked(cipher);
  const stanzas = [...header.matchAll(/^-> (\S+)/gm)].map(([, word]) => word);
  if (stanzas.includes("scrypt")) return "a passphrase";
  return `${stanzas.length} recipient${stanzas.length === 1 ? "" : "s"}`;
}

async function opened(
  decrypter: Decrypter,
  cipher: AsyncIterable<Uint8Array>,
  opener: Opener,
): Promise<{ fileKey: Uint8Array; payload: AsyncIterable<Uint8Array> }> {
  const { header, octets, payload } = await looked(cipher);
  const word = /^-> (\S+)/m.exec(header)?.[1];
  if (word === "scrypt" && !("passphrase" in opener)) {
    throw new ArchiveUnfit("The archive is encrypted with a passphrase; give that.");
  }
  if (word !== "scrypt" && "passphrase" in opener) {
    throw new ArchiveUnfit("The archive is encrypted to recipients; give an identity.");
  }
  try {
    return { fileKey: await decrypter.decryptHeader(octets), payload };
  } catch (error) {
    if (error instanceof ArchiveUnfit) throw error;
    const why = error instanceof Error ? error.message : "";
    if (!why.includes("no identity matched")) throw damaged();
    throw new ArchiveUnfit(
      "passphrase" in opener
        ? "The passphrase does not open the archive."
        : "None of the identities opens the archive: it is encrypted to others.",
    );
  }
}

interface Looked {
  /** As text, up to its last line. */
  readonly header: string;
  /** With its last line. */
  readonly octets: Uint8Array;
  /** What follows. */
  readonly payload: AsyncIterable<Uint8Array>;
}

/**
 * The header, looked at before the library reads it: it would gather a line of any length, and
 * spend any effort a passphrase stanza asks for.
 */
async function looked(cipher: AsyncIterable<Uint8Array>): Promise<Looked> {
  const source = cipher[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  let [last, end] = [-1, -1];
  while (end === -1 && head.length < headerMax) {
    const next = await source.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
    last = head.indexOf(lastLine);
    end = last === -1 ? -1 : head.indexOf("\n", last + lastLine.length);
  }
  if (!head.subarray(0, magic.length).equals(Buffer.from(magic))) {
    throw new ArchiveUnfit("This is no archive of the age format.");
  }
  if (end === -1 || end > headerMax) throw damaged();
  const header = head.subarray(0, last).toString("latin1");
  const effort = Number(/^-> scrypt \S+ (\d{1,3})$/m.exec(header)?.[1] ?? 0);
  if (effort > scryptMax) {
    throw new ArchiveUnfit(
      `The archive asks for a scrypt effort of ${effort}; at most ${scryptMax} is done.`,
    );
  }
  const payload = async function* () {
    yield head.subarray(end + 1);
    for (;;) {
      const next = await source.next();
      if (next.done === true) return;
      yield next.value;
    }
  };
  return { header, octets: head.subarray(0, end + 1), payload: payload() };
}

function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const source = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const next = await source.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: async () => {
        await source.return?.();
      },
    },
    { highWaterMark: 2 },
  );
}

async function* piecesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (value.length > 0) yield value;
    }
  } finally {
    // Whoever stops early ends what is upstream.
    await reader.cancel().catch(() => {});
  }
}

const damaged = () =>
  new ArchiveUnfit("The archive is not what was written: it was altered, cut off or added to.");

const notRecipient = "must be a recipient of the age format, such as age1…";
const magic = "age-encryption.org/v1\n";
const lastLine = "\n---";
const headerMax = 65_536;
/** What pkid writes is 18; age itself does at most 22. */
const scryptMax = 20;
