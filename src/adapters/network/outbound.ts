/**
 * Asks other servers over HTTPS: within a time, within a size, without following redirects, and
 * trusting what is configured.
 */

import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";

/** Certificates trusted beside those of the system: PEM texts, from `outbound.ca_file`. */
export type ExtraTrust = readonly string[];

/** What `outbound.ca_file` names; throws when it cannot be read. */
export const extraTrust = ({ ca_file }: { readonly ca_file: string | undefined }): ExtraTrust =>
  ca_file === undefined ? [] : [readFileSync(ca_file, "utf8")];

/** Certificates trusted in place of those of the system: a server that has a CA of its own. */
export interface OnlyTrust {
  readonly only: readonly string[];
}

/** What a caller grants one exchange. */
export interface OutboundLimits {
  readonly timeoutSeconds: number;
  readonly bytesMax: number;
  /** Ends the exchange before its time. */
  readonly signal?: AbortSignal;
}

/** Nothing usable came back: in time, in size, or at all. */
export class OutboundFault extends Error {
  override readonly name = "OutboundFault";
  readonly kind: "timeout" | "unavailable" | "too_long";

  constructor(kind: OutboundFault["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The answer of another server. */
export interface OutboundAnswer {
  readonly status: number;
  readonly octets: Uint8Array;
  /** The server's clock in epoch milliseconds, when it tells. */
  readonly date: number | undefined;
  /** Where a redirect leads. */
  readonly location: string | undefined;
}

/** A redirect is an answer like any other. Throws `OutboundFault`. */
export async function askServer(
  url: string,
  init: BunFetchRequestInit,
  limits: OutboundLimits,
  trust: ExtraTrust | OnlyTrust = [],
): Promise<OutboundAnswer> {
  const timeout = AbortSignal.timeout(limits.timeoutSeconds * 1000);
  const signal = limits.signal ? AbortSignal.any([limits.signal, timeout]) : timeout;
  const tls = trusting(trust);
  try {
    const response = await fetch(url, { ...init, ...tls, signal, redirect: "manual" });
    const date = Date.parse(response.headers.get("date") ?? "");
    return {
      status: response.status,
      octets: await limited(response, limits.bytesMax),
      date: Number.isNaN(date) ? undefined : date,
      location: response.headers.get("location") ?? undefined,
    };
  } catch (error) {
    if (error instanceof OutboundFault) throw error;
    if (timeout.aborted) throw new OutboundFault("timeout", "the server did not answer in time");
    const why = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    throw new OutboundFault("unavailable", `the server cannot be reached${why}`);
  }
}

function trusting(trust: ExtraTrust | OnlyTrust) {
  if ("only" in trust) return { tls: { ca: [...trust.only] } };
  // Given alone it would replace what is trusted otherwise.
  return trust.length === 0 ? {} : { tls: { ca: [...rootCertificates, ...trust] } };
}

async function limited(response: Response, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > bytesMax) throw new OutboundFault("too_long", "the answer is too long");
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}
