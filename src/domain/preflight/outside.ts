/** What preflight asks of other hosts. */

import type { NameServerLook } from "#core/preflight/network.ts";

/** One answer, or why there is none. */
export type Fetched =
  | {
      readonly answered: true;
      readonly status: number;
      readonly octets: Uint8Array;
      readonly elapsedMs: number;
    }
  | { readonly answered: false; readonly why: string };

/** Other hosts. No method throws for what they do, and each ends within `timeoutSeconds`. */
export interface Outside {
  /**
   * One exchange over HTTP, a POST when there is something to send; a redirect is an answer and not
   * followed.
   */
  ask(
    url: string,
    send: { readonly type: string; readonly content: Uint8Array } | undefined,
    timeoutSeconds: number,
  ): Promise<Fetched>;
  /** Each name server asked for the SOA of the root, over UDP and over TCP. */
  nameServers(timeoutSeconds: number): Promise<readonly NameServerLook[]>;
}
