/** What a restore says of what it voids of ACME (RES-2). */

import type { StoredProblem } from "#core/acme/problems.ts";

/**
 * The instance's name for what each restore draws anew, and what goes into the key of nonces: those
 * that were made before it are none, whether they were used or not.
 */
export const nonceEpochName = "acme_nonce_epoch";

/** What becomes of orders and challenges that wait for a proof. */
export const voidedProblem: StoredProblem = {
  type: "serverInternal",
  detail: "The server was restored from a backup; place a new order.",
  status: 500,
};
