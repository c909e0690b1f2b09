/** What ACME resources look like (RFC 8555 §7.1), and the headers every answer has (AC-4, AC-5). */

import { documentOf, problemDocument } from "#core/acme/problems.ts";
import type { Problem } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { Directory } from "#domain/acme/directories.ts";
import { authorizationStatusAt } from "#domain/acme/orders.ts";
import type {
  AccountRecord,
  AuthorizationRecord,
  ChallengeRecord,
  OrderRecord,
} from "#domain/acme/store.ts";

/** Times in whole seconds: older clients read no fractions. */
export const time = (at: Instant): string =>
  `${new Date(at).toISOString().slice(0, "2026-01-01T00:00:00".length)}Z`;

/** RFC 8555 §7.1.2. */
export const accountJson = (directory: Directory, account: AccountRecord) => ({
  status: account.status,
  contact: account.contacts,
  ...(account.termsAgreedAt !== undefined && { termsOfServiceAgreed: true }),
  orders: directory.url(`/acct/${account.id}/orders`),
});

/** RFC 8555 §7.1.3, with the profile used, and what it replaces (RFC 9773 §5). */
export const orderJson = (
  directory: Directory,
  order: OrderRecord,
  replaces: string | undefined,
) => ({
  status: order.status,
  expires: time(order.expiresAt),
  identifiers: order.identifiers,
  profile: order.profile,
  ...(replaces !== undefined && { replaces }),
  authorizations: order.authorizations.map((id) => directory.url(`/authz/${id}`)),
  finalize: directory.url(`/order/${order.id}/finalize`),
  ...(order.status === "valid" && { certificate: directory.url(`/cert/${order.id}`) }),
  ...(order.error !== undefined && { error: documentOf(order.error) }),
});

/** What a challenge says beside its token. */
export interface ChallengeFacts {
  /** Names the issuer goes by in records of dns-persist-01. */
  readonly issuerDomainNames: readonly string[];
}

/** RFC 8555 §7.1.4: of one that is decided, the challenge that decided it. */
export function authorizationJson(
  directory: Directory,
  authorization: AuthorizationRecord,
  facts: ChallengeFacts,
  now: Instant,
) {
  const { identifier, wildcard, expiresAt, challenges, method } = authorization;
  const status = authorizationStatusAt(authorization, now);
  const decisive = challenges.filter(
    (one) => method === undefined || (one.type === method && one.status === "valid"),
  );
  const failed = challenges.filter((one) => one.status === "invalid");
  const shown = status === "invalid" && failed.length > 0 ? failed : decisive;
  return {
    status,
    expires: time(expiresAt),
    identifier,
    ...(wildcard && { wildcard: true }),
    challenges: shown.map((one) => challengeJson(directory, one, facts)),
  };
}

/** RFC 8555 §7.1.5. */
export const challengeJson = (
  directory: Directory,
  { id, type, token, status, validatedAt, error }: ChallengeRecord,
  { issuerDomainNames }: ChallengeFacts,
) => ({
  type,
  url: directory.url(`/chall/${id}`),
  status,
  ...(type === "dns-persist-01" ? { issuerDomainNames } : { token }),
  ...(validatedAt !== undefined && { validated: time(validatedAt) }),
  ...(error !== undefined && { error: documentOf(error) }),
});

/** RFC 8555 §7.1. */
export const indexLink = (directory: string): string => `<${directory}>;rel="index"`;

/**
 * A refusal as a problem document (RFC 8555 §6.7), under the status of its own; `directory` is the
 * address of the directory.
 */
export function problemResponse(problem: Problem, directory: string | undefined): Response {
  const document = problemDocument(problem);
  const headers = new Headers({
    "content-type": "application/problem+json",
    "cache-control": "no-store",
  });
  if (directory !== undefined) headers.set("link", indexLink(directory));
  const after = Number(problem.facts.retry_after);
  if (after > 0) headers.set("retry-after", String(Math.ceil(after)));
  const { allow, account_url, terms_of_service: terms } = problem.facts;
  // RFC 8555 §7.3.3: the terms are where the client is to send its user.
  if (typeof terms === "string") headers.append("link", `<${terms}>;rel="terms-of-service"`);
  if (Array.isArray(allow)) headers.set("allow", allow.join(", "));
  if (typeof account_url === "string") headers.set("location", account_url);
  return new Response(JSON.stringify(document), { status: document.status, headers });
}
