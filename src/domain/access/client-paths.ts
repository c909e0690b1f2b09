/**
 * The paths of client certificates: looked for where it holds nobody up, in fair turns, and
 * remembered while they stay.
 */

import { DerError } from "#core/asn1/cursor.ts";
import { createHash } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import { Recent } from "#core/recent.ts";
import { type Instant, instant } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { anchorsWithin } from "#core/x509/client-path.ts";
import { nameMatchKey } from "#core/x509/name-matching.ts";
import type { PathWork } from "#domain/ports.ts";

import type { AddressTurns } from "./address-turns.ts";

export interface ClientPathsDeps {
  readonly paths: PathWork;
  readonly turns: AddressTurns;
}

/**
 * A verdict, and while it is the same: from the first of these moments until just before the
 * second.
 */
export interface FoundPath {
  /** From the client's certificate to the anchor; undefined where there is none. */
  readonly path: readonly ParsedCertificate[] | undefined;
  readonly from: Instant;
  readonly until: Instant;
}

/** The service. */
export class ClientPaths {
  readonly #deps: ClientPathsDeps;
  /** By the anchors, which are others after a reload. */
  readonly #indexes = new WeakMap<readonly ParsedCertificate[], AnchorIndex>();

  constructor(deps: ClientPathsDeps) {
    this.#deps = deps;
  }

  /**
   * The path over what was shown, as `clientPath` has it. What no name connects with an anchor, and
   * what was found lately, costs nothing; anything else is asked in the turn of this lane, or at
   * once without one. Refuses `rate_limited` as turns do, and `overloaded` where an answer takes
   * too long. Throws DerError.
   */
  async find(
    shown: readonly ParsedCertificate[],
    anchors: readonly ParsedCertificate[],
    { now, lane }: { readonly now: Instant; readonly lane: string | undefined },
  ): Promise<FoundPath> {
    const index = this.#indexOf(anchors);
    const within = anchorsWithin(shown, index.byName);
    const window = windowAround(now, [...shown, ...within]);
    if (within.length === 0) return { ...window, path: undefined };
    const key = digestOf(shown);
    const before = index.found.get(key);
    if (before !== undefined && isCurrent(before, now)) return before;
    const look = () => this.#ask(shown, within, { now, lane });
    const path =
      lane === undefined
        ? await look()
        : await this.#deps.turns.run(lane, look, (seen) => seen === undefined);
    const found = { ...window, path };
    // What leads nowhere is not remembered: strangers would push out what is.
    if (path !== undefined) index.found.set(key, found);
    return found;
  }

  async #ask(
    shown: readonly ParsedCertificate[],
    anchors: readonly ParsedCertificate[],
    { now, lane = "" }: { readonly now: Instant; readonly lane: string | undefined },
  ): Promise<readonly ParsedCertificate[] | undefined> {
    const question = {
      kind: "client",
      shown: shown.map(({ der }) => der),
      anchors: anchors.map(({ der }) => der),
      now,
    } as const;
    const answer = await this.#deps.paths.ask(question, { home: lane, name: "" });
    if (answer === undefined) throw refuse("overloaded", { retry_after: 2 });
    if ("unreadable" in answer) throw new DerError(answer.unreadable);
    return answer.client?.map(parseCertificate);
  }

  #indexOf(anchors: readonly ParsedCertificate[]): AnchorIndex {
    const known = this.#indexes.get(anchors);
    if (known !== undefined) return known;
    const byName = Map.groupBy(anchors, ({ subject }) => nameMatchKey(subject.der));
    const index = { byName, found: new Recent<string, FoundPath>(rememberedMax) };
    this.#indexes.set(anchors, index);
    return index;
  }
}

/** True while the verdict is what it was. */
export const isCurrent = ({ from, until }: FoundPath, now: Instant): boolean =>
  from <= now && now < until;

interface AnchorIndex {
  readonly byName: ReadonlyMap<string, readonly ParsedCertificate[]>;
  readonly found: Recent<string, FoundPath>;
}

/**
 * From the last moment to the next one at which any of the certificates begins or ends, inclusive
 * or to its last second.
 */
function windowAround(now: Instant, certificates: readonly ParsedCertificate[]) {
  let [from, until] = [-Infinity, Infinity];
  for (const { notBefore, notAfter } of certificates) {
    for (const moment of [notBefore, notAfter + 1, notAfter + 1000]) {
      if (moment <= now) from = Math.max(from, moment);
      else until = Math.min(until, moment);
    }
  }
  return { from: instant(from), until: instant(until) };
}

/** DER says how long it is, so no two lists have the same octets one after the other. */
function digestOf(shown: readonly ParsedCertificate[]): string {
  const hash = createHash("sha256");
  for (const { der } of shown) hash.update(der);
  return hash.digest("hex");
}

const rememberedMax = 1024;
