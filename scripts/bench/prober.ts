/**
 * A slow client beside the load, who asks for one of each kind again and again and notes how long
 * it took: the load's own client cannot tell the kinds apart.
 */

import { type Kind, kinds, type KindRequest, serialPlace } from "./kinds.ts";

/** What was seen, by kind; milliseconds. */
export interface Probed {
  readonly times: Readonly<Record<Kind, readonly number[]>>;
  readonly failures: readonly string[];
  readonly issued: number;
}

/**
 * Asks `perSecond` times a second for each kind, whether earlier answers are there or not, so that
 * a stall is seen by everyone it would strike. `end` waits for the answers under way.
 */
export function startProber(
  origin: string,
  requests: Readonly<Record<Kind, KindRequest>>,
  perSecond: number,
): { end(): Promise<Probed> } {
  const prober = new Prober(origin, requests);
  const underWay = new Set<Promise<void>>();
  let going = true;
  const asking = (async () => {
    const began = performance.now();
    for (let turn = 0; going; turn++) {
      const due = began + (turn * 1000) / (perSecond * kinds.length);
      await Bun.sleep(Math.max(0, due - performance.now()));
      const probe = prober.ask(kinds[turn % kinds.length] ?? "issue");
      underWay.add(probe);
      void probe.then(() => underWay.delete(probe));
    }
  })();
  return {
    end: async () => {
      going = false;
      await asking;
      await Promise.all(underWay);
      return prober.seen;
    },
  };
}

/** Asks one after the other, and keeps what was seen. */
class Prober {
  readonly #times: Record<Kind, number[]> = {
    ocsp_cached: [],
    ocsp_fresh: [],
    issue: [],
    list: [],
    crl: [],
    revoke: [],
  };
  readonly #failures: string[] = [];
  /** Issued here and not revoked yet. */
  readonly #serials: string[] = [];
  #issued = 0;

  constructor(
    private readonly origin: string,
    private readonly requests: Readonly<Record<Kind, KindRequest>>,
  ) {}

  get seen(): Probed {
    return { times: this.#times, failures: this.#failures, issued: this.#issued };
  }

  /** Never throws: what fails is counted. */
  async ask(kind: Kind): Promise<void> {
    const { method, path, headers, body } = this.requests[kind];
    const serial = kind === "revoke" ? this.#serials.shift() : undefined;
    if (kind === "revoke" && serial === undefined) return; // None has been issued yet.
    const content = typeof body === "string" ? body.replace(serialPlace, serial ?? "") : body;
    const began = performance.now();
    try {
      const answer = await Bun.fetch(this.origin + path, {
        method,
        headers: { ...headers },
        tls: { rejectUnauthorized: false },
        ...(method === "POST" && { body: Buffer.from(content) }),
      });
      const text = await answer.text();
      this.#times[kind].push(performance.now() - began);
      if (!answer.ok) this.#failures.push(`${kind} ${answer.status} ${text}`);
      else if (kind === "issue") this.#keep(text);
    } catch (error) {
      this.#failures.push(`${kind} ${error}`);
    }
  }

  #keep(answer: string): void {
    this.#issued += 1;
    this.#serials.push((JSON.parse(answer) as { serial: string }).serial); // As it is described.
  }
}
