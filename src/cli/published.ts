/**
 * Reads a published snapshot as a relying party does: from a directory, or over HTTP without
 * following redirects.
 */

import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import { Failure } from "./failure.ts";
import { networkFault } from "./network-faults.ts";
import { trustedCas } from "./reach.ts";

/** Something the manifest names that is there and cannot be read; the others may be good. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** One snapshot, wherever it is. */
export interface SnapshotReader {
  readonly where: string;
  /**
   * The octets at a path of the manifest; undefined when there are none, or more than `bytesMax`.
   * Throws `Unreadable`, or a failure that names the address when nobody answers there.
   */
  read(path: string, bytesMax: number): Promise<Uint8Array | undefined>;
}

/** Opens a directory, the directory that holds `current`, or an http or https address. */
export function openSnapshot(
  where: string,
  of: { readonly caFile: string | undefined; readonly timeoutMs: number },
): SnapshotReader {
  return /^https?:\/\//i.test(where) ? overHttp(where, of) : inDirectory(where);
}

function inDirectory(where: string): SnapshotReader {
  const current = join(resolve(where), "current");
  const folder = statSync(current, { throwIfNoEntry: false })?.isDirectory()
    ? current
    : resolve(where);
  return {
    where: folder,
    read: async (path, bytesMax) => {
      try {
        const found = statSync(join(folder, path), { throwIfNoEntry: false });
        if (found === undefined || !found.isFile() || found.size > bytesMax) return undefined;
        return readFileSync(join(folder, path));
      } catch (error) {
        const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
        throw new Unreadable(`it cannot be read (${code})`);
      }
    },
  };
}

function overHttp(
  where: string,
  { caFile, timeoutMs }: { readonly caFile: string | undefined; readonly timeoutMs: number },
): SnapshotReader {
  const base = where.replace(/\/+$/, "");
  const trust = caFile === undefined ? {} : { tls: { ca: trustedCas(caFile) } };
  return {
    where: base,
    read: async (path, bytesMax) => {
      const response = await asked(`${base}/${path}`, { ...trust, timeoutMs });
      if (response.status === 404) return undefined;
      if (response.status !== 200) {
        throw new Unreadable(`the address answers ${response.status}`);
      }
      return await limited(response, bytesMax);
    },
  };
}

/**
 * The octets at an address, without following redirects; undefined when there are more than
 * `bytesMax`.
 */
export async function fetched(
  url: string,
  of: {
    readonly caFile: string | undefined;
    readonly timeoutMs: number;
    readonly bytesMax: number;
  },
): Promise<Uint8Array | undefined> {
  const trust = of.caFile === undefined ? {} : { tls: { ca: trustedCas(of.caFile) } };
  const response = await asked(url, { ...trust, timeoutMs: of.timeoutMs });
  if (response.status !== 200) throw new Failure(`${url} answered ${response.status}.`);
  return await limited(response, of.bytesMax);
}

/**
 * As `fetched`, from a server nobody vouches for: only for what is judged by a digest known before.
 * Fails for an answer that is too long.
 */
export async function fetchedUntrusted(
  url: string,
  { timeoutMs, bytesMax }: { readonly timeoutMs: number; readonly bytesMax: number },
): Promise<Uint8Array> {
  const response = await asked(url, { tls: { rejectUnauthorized: false }, timeoutMs });
  if (response.status !== 200) throw new Failure(`${url} answered ${response.status}.`);
  const octets = await limited(response, bytesMax);
  if (octets === undefined) throw new Failure(`${url} answered more than a certificate.`);
  return octets;
}

async function asked(
  url: string,
  { timeoutMs, ...trust }: { readonly timeoutMs: number; readonly tls?: object },
): Promise<Response> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    return await fetch(url, { ...trust, signal, redirect: "manual" });
  } catch (error) {
    throw new Failure(`${url} cannot be reached: ${networkFault(error)}.`, "unreachable");
  }
}

async function limited(response: Response, bytesMax: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      length += chunk.length;
      if (length > bytesMax) return undefined;
      chunks.push(chunk);
    }
  } catch (error) {
    throw new Failure(`${response.url} broke off: ${networkFault(error)}.`, "unreachable");
  }
  return new Uint8Array(Buffer.concat(chunks));
}
