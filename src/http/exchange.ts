/** One request under way, and who is told when it is over. */

import type { ClientCertificate } from "#domain/access/client-certificates.ts";
import type { OperationName, Speech } from "#operations";

/**
 * Which door a request came through; it decides what is reachable and who a caller without
 * credential is.
 */
export type Side = "main" | "local" | "public";

/** One request with everything that was worked out about it before its operation ran. */
export interface Exchange {
  readonly request: Request;
  readonly side: Side;
  /** Over TLS, so that Strict-Transport-Security means something. */
  readonly secure: boolean;
  /** Undecoded, without query. */
  readonly path: string;
  /** Undecoded, without `?`. */
  readonly query: string;
  /** Client address (API-10); empty on the admin socket. */
  readonly ip: string;
  readonly requestId: string;
  /** What the client showed in the TLS handshake. */
  readonly certificate: ClientCertificate | undefined;
  readonly timing: Timing;
  /** Milliseconds of a clock that only moves forward. */
  readonly begun: number;
  /** On the same clock: when it last came a step further, as far as the front door sees. */
  movedAt: number;
  /** Undefined before one is found, and for what is none. */
  operation: OperationName | undefined;
  /** The protocol in whose words it is refused; undefined for JSON. */
  speaks: Speech | undefined;
  /** The route pattern as mounted, or `unmatched`. */
  route: string;
  /** Subject of the authenticated principal, else empty. */
  subject: string;
}

/** What a listener is told of a request, for its limits of time. */
export interface Timing {
  /** The body has arrived: from now on the client waits for us. */
  bodyRead(): void;
  /** The answer goes on for as long as somebody reads it. */
  lasts(): void;
}

/** How an exchange ended. */
export interface Outcome {
  readonly status: number;
  readonly bytesOut: number;
  readonly durationMs: number;
}

/** Told of every request; called on the hot path, so implementations only count and buffer. */
export interface Observer {
  began(exchange: Exchange): void;
  ended(exchange: Exchange, outcome: Outcome): void;
}

/** A row of the operations table found for a path. */
export interface Match {
  readonly operation: OperationName;
  /** The route pattern as mounted. */
  readonly route: string;
  readonly path: Readonly<Record<string, string>>;
}
