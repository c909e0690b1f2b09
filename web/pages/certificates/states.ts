/** Why something cannot be done with a certificate as it stands; undefined where it can. */

import type { Authority, Certificate } from "./authorities.ts";
import { serverNow } from "#web/server-clock.ts";

export function whyNotRevoked({ status }: Certificate): string | undefined {
  return status === "revoked" ? "It is revoked already." : undefined;
}

export function whyNotSuspended({ status }: Certificate): string | undefined {
  if (status === "revoked") return "It is revoked.";
  return status === "expired" ? "It has expired." : undefined;
}

export function whyNotReleased({ status }: Certificate): string | undefined {
  return status === "held" ? undefined : "It is not suspended.";
}

export function whyNotRenewed(
  { status, not_after, pruned }: Certificate,
  ca: Authority | undefined,
): string | undefined {
  if (status === "revoked") return "It is revoked.";
  if (status === "held") return "It is suspended.";
  if (pruned === true) return "Its octets were removed.";
  if (Date.parse(not_after) < serverNow() - 30 * 86_400_000) {
    return "It expired more than 30 days ago.";
  }
  if (ca !== undefined && ca.status !== "active") return `The CA is ${ca.status}.`;
  return undefined;
}
