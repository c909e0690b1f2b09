/**
 * Talks to transparency logs over HTTP: RFC 6962 §4 and c2sp.org/static-ct-api. Every answer has a
 * limit in time and size.
 */

import { DerError } from "#core/asn1/cursor.ts";
import { fromBase64, originOf, parseCheckpoint, parseSigned } from "#core/transparency/heads.ts";
import { MalformedStructure } from "#core/transparency/octets.ts";
import { instant } from "#core/time.ts";
import { tilePath } from "#core/transparency/tiles.ts";
import { type CtLog, type Limits, type LogClient, LogFault } from "#domain/transparency/logs.ts";
import { askServer, type ExtraTrust, OutboundFault } from "./outbound.ts";

/**
 * Speaks over HTTPS; redirects are not followed, for a log is what its URL says. `trust` beside the
 * system's certificates.
 */
export function httpLogClient(trust: ExtraTrust = []): LogClient {
  const ask: Ask = (base, path, limits, init = {}) => asked(base, path, limits, trust, init);
  return { submit: submitting(ask), ...reading(ask), pause };
}

type Ask = (
  base: CtLog["url"],
  path: string,
  limits: Limits,
  init?: RequestInit,
) => Promise<Uint8Array>;

const submitting =
  (ask: Ask): LogClient["submit"] =>
  async (log, chain, limits) => {
    const body = JSON.stringify({ chain: chain.map((der) => der.toBase64()) });
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", body, headers };
    const answer = await ask(log.url, "ct/v1/add-pre-chain", limits, init);
    return read(() => {
      const members = jsonOf(answer);
      if (members.sct_version !== 0) throw new MalformedStructure("an SCT is not of version 1");
      return {
        logId: octetsAt(members, "id"),
        timestamp: instant(countAt(members, "timestamp")),
        extensions: octetsAt(members, "extensions"),
        signature: parseSigned(octetsAt(members, "signature")),
      };
    });
  };

const reading = (ask: Ask): Omit<LogClient, "submit" | "pause"> => ({
  head: async (log, limits) => {
    if (log.api === "static") {
      const answer = await ask(log.monitoringUrl, "checkpoint", limits);
      return read(() => parseCheckpoint(utf8.decode(answer), originOf(log.url), log.key));
    }
    const answer = await ask(log.monitoringUrl, "ct/v1/get-sth", limits);
    return read(() => {
      const members = jsonOf(answer);
      return {
        treeSize: countAt(members, "tree_size"),
        timestamp: instant(countAt(members, "timestamp")),
        rootHash: octetsAt(members, "sha256_root_hash"),
        signature: parseSigned(octetsAt(members, "tree_head_signature")),
      };
    });
  },
  inclusion: async (log, leafHash, treeSize, limits) => {
    const query = new URLSearchParams({ hash: leafHash.toBase64(), tree_size: String(treeSize) });
    const answer = await ask(log.monitoringUrl, `ct/v1/get-proof-by-hash?${query}`, limits);
    return read(() => {
      const members = jsonOf(answer);
      return { leafIndex: countAt(members, "leaf_index"), path: hashesAt(members, "audit_path") };
    });
  },
  consistency: async (log, first, second, limits) => {
    const path = `ct/v1/get-sth-consistency?first=${first}&second=${second}`;
    const answer = await ask(log.monitoringUrl, path, limits);
    return read(() => hashesAt(jsonOf(answer), "consistency"));
  },
  tile: async (log, tile, limits) => {
    const answer = await ask(log.monitoringUrl, tilePath(tile), limits);
    if (answer.length !== tile.width * hashBytes) {
      throw new LogFault("malformed", "a tile has the wrong length");
    }
    return Array.from({ length: tile.width }, (_, at) =>
      answer.subarray(at * hashBytes, (at + 1) * hashBytes),
    );
  },
});

const pause: LogClient["pause"] = (seconds, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, seconds * 1000);
    signal.addEventListener("abort", end, { once: true });
  });

async function asked(
  base: CtLog["url"],
  path: string,
  limits: Limits,
  trust: ExtraTrust,
  init: RequestInit,
): Promise<Uint8Array> {
  try {
    const wanted = { ...limits, bytesMax: answerBytesMax };
    const { status, octets } = await askServer(`${base}/${path}`, init, wanted, trust);
    if (status !== 200) throw refusalOf(status);
    return octets;
  } catch (error) {
    if (!(error instanceof OutboundFault)) throw error;
    throw faultOf(error);
  }
}

function faultOf({ kind }: OutboundFault): LogFault {
  if (kind === "too_long") return new LogFault("malformed", "the answer is too long");
  if (kind === "timeout") return new LogFault("timeout", "the log did not answer in time");
  return new LogFault("unavailable", "the log cannot be reached");
}

/** A 4xx is the log's word on what was asked; too many requests and everything else may pass. */
function refusalOf(status: number): LogFault {
  const final = status >= 400 && status < 500 && ![408, 425, 429].includes(status);
  return new LogFault(final ? "rejected" : "unavailable", `the log answered ${status}`);
}

function read<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof MalformedStructure || error instanceof DerError) {
      throw new LogFault("malformed", error.message);
    }
    throw error;
  }
}

type Members = Readonly<Record<string, unknown>>;

function jsonOf(answer: Uint8Array): Members {
  try {
    const value: unknown = JSON.parse(utf8.decode(answer));
    // Members are checked one by one.
    if (typeof value === "object" && value !== null) return value as Members;
  } catch {
    // Told below, like any other answer that is no object.
  }
  throw new MalformedStructure("the answer is no JSON object");
}

function octetsAt(members: Members, name: string): Uint8Array {
  const value = members[name];
  // `extensions` of RFC 6962 is empty, and some logs leave it out.
  if (value === undefined && name === "extensions") return new Uint8Array();
  if (typeof value !== "string") throw new MalformedStructure(`${name} is no text`);
  return fromBase64(value);
}

function countAt(members: Members, name: string): number {
  const value = members[name];
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new MalformedStructure(`${name} is no count`);
}

function hashesAt(members: Members, name: string): readonly Uint8Array[] {
  const value = members[name];
  if (!Array.isArray(value) || value.length > proofMax) {
    throw new MalformedStructure(`${name} is no proof`);
  }
  return value.map((one) => octetsAt({ [name]: one }, name));
}

const utf8 = new TextDecoder();
const hashBytes = 32;
const answerBytesMax = 65_536;
/** A path in a tree of 2^53 leaves. */
const proofMax = 128;
