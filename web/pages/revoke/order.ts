/** What a bulk revocation selects and why, to and from the address. */

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

/** What the operation is asked with, beside the CA. */
export function membersOf(order: Order) {
  const serials = order.serials.split(/[\s,;]+/).filter((one) => one !== "");
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
