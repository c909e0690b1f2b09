/** What the pages of authorities say of a CA in words, and where each is found. */

import type { Answers } from "#api/answers.ts";
import { type QueryChange, hrefOf } from "#web/address.ts";

export type Ca = Answers["ca.show"];

/** The page of one CA. */
export const caHref = (id: string, query: QueryChange = {}): string =>
  hrefOf(["authorities", id], query);

/** Its certificates, as the inventory shows them. */
export const certificatesHref = (id: string, query: QueryChange = {}): string =>
  hrefOf(["certificates"], { ca: id, ...query });

/** Who has rights on it. */
export const grantsHref = (id: string): string =>
  hrefOf(["people", "grants"], { resource: `ca/${id}` });

/** Every key of it: the second one of a hybrid CA too. */
export const keyWords = ({ key_type, alt_key_type }: Pick<Ca, "key_type" | "alt_key_type">) =>
  alt_key_type === undefined ? key_type : `${key_type} + ${alt_key_type}`;

/** Where its first key is. */
export const holderWord = ({ provider }: Pick<Ca, "provider">): string =>
  provider === "pkcs11" ? "HSM" : "software";

/** Signed by a root elsewhere. */
export const isExternal = ({ csr }: Ca): boolean => csr !== undefined;

/** Of this instance, with nobody above it. */
export const isRoot = (ca: Ca): boolean => ca.parent_id === undefined && !isExternal(ca);

/** What it is among the others. */
export function roleWord(ca: Ca): string {
  if (isExternal(ca)) return "below an external root";
  return isRoot(ca) ? "root" : "intermediate";
}

/** Why nothing can be made below it now; undefined where it can. */
export function inactiveReason({ status }: Ca): string | undefined {
  return status === "active" ? undefined : `It is ${status}.`;
}

/** Why it has no key that could be exchanged; undefined where it has. */
export function notRotatableReason(ca: Ca): string | undefined {
  if (isExternal(ca)) return "Its certificate is made elsewhere: ask there for one of a new key.";
  if (isRoot(ca)) return "A root is replaced by a new root and cross-signatures.";
  return ca.status === "retired" || ca.status === "pending" ? `It is ${ca.status}.` : undefined;
}

/** What events change a CA or the tree, by their actions. */
export const caActions: readonly string[] = ["ca.*", "cert.revoke"];
