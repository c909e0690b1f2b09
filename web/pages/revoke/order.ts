/** What a bulk revocation selects and why, to and from the address. */

import { findSerials } from "#core/ids.ts";
import type { Address, QueryChange } from "#web/address.ts";

export interface Order {
  readonly reason: string;
  readonly profile: string;
  readonly pattern: string;
  readonly issuedAfter: string;
  readonly issuedBefore: string;
  readonly key: string;
  readonly expired: boolean;
  readonly all: boolean;
  /** One below the other; too many for an address, so they are typed anew after a reload. */
  readonly serials: string;
}

/** Everything but the serials. */
export function orderIn({ query }: Address): Order {
  return {
    reason: query.reason ?? "superseded",
    profile: query.profile ?? "",
    pattern: query.pattern ?? "",
    issuedAfter: query.issued_after ?? "",
    issuedBefore: query.issued_before ?? "",
    key: query.public_key_sha256 ?? "",
    expired: query.include_expired === "true",
    all: query.all === "true",
    serials: "",
  };
}

/** What the address says of an order. */
export const queryOf = (order: Order): QueryChange => ({
  reason: order.reason,
  profile: order.profile,
  pattern: order.pattern,
  issued_after: order.issuedAfter,
  issued_before: order.issuedBefore,
  public_key_sha256: order.key,
  include_expired: order.expired ? "true" : "",
  all: order.all ? "true" : "",
});

/** Serials one by one, or why some of it is none. */
export interface GivenSerials {
  readonly serials: readonly string[];
  readonly fault?: string;
}

/**
 * Reads a list of serials. One that is written in groups is not taken for several: none of them
 * would be known, and all of them revoked.
 */
export function serialsIn(text: string): GivenSerials {
  const serials = text
    .split(/[\n\r,;]/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
  if (serials.length > serialsMax) {
    const [count, most] = [serials.length, serialsMax].map((one) => one.toLocaleString("en"));
    return { serials: [], fault: `There are ${count} serials, and ${most} at most are taken.` };
  }
  const wrong = serials.findIndex((one) => findSerials(one).length === 0);
  if (wrong >= 0) {
    return refuseEntry(
      wrong,
      "is no serial: one a line, as a number, 0x and hex, or hex with colons",
    );
  }
  // Plain hex in the list makes digits alone ambiguous, and nothing is revoked on a guess.
  const unclear = serials.some((one) => plainHex.test(one))
    ? serials.findIndex((one) => /^\d+$/.test(one) && findSerials(one).length > 1)
    : -1;
  if (unclear < 0) return { serials };
  return refuseEntry(unclear, "could be decimal or hex next to plain hex: write 0x before hex");
}

const refuseEntry = (index: number, reason: string): GivenSerials => ({
  serials: [],
  fault: `Entry ${index + 1} ${reason}.`,
});

/** What the operation is asked with, beside the CA. */
export function membersOf(order: Order) {
  const { serials } = serialsIn(order.serials);
  const filter = {
    profile: order.profile,
    pattern: order.pattern,
    issued_after: order.issuedAfter,
    issued_before: order.issuedBefore,
    public_key_sha256: order.key,
  };
  const said = Object.entries(filter).filter(([, value]) => value !== "");
  return {
    reason: order.reason,
    all: order.all,
    filter: {
      ...Object.fromEntries(said),
      ...(serials.length === 0 ? {} : { serials }),
      ...(order.expired ? { include_expired: true } : {}),
    },
  };
}

/** Hex with a letter, and neither `0x` nor colons. */
const plainHex = /^[0-9a-f]*[a-f][0-9a-f]*$/i;
/** As many as the operation takes. */
const serialsMax = 100_000;
