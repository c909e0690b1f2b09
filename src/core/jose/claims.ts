/**
 * Judges the claims of a verified token (OpenID Connect Core §3.1.3.7, RFC 8725 §3.11), and reads
 * who they speak of.
 */

import type { Identity } from "#core/access/assignments.ts";
import { isSubject, isVisible } from "#core/access/subject.ts";
import { type Instant, instant } from "#core/time.ts";
import type { Jws } from "./jws.ts";

/** What a token must say to be accepted. */
export interface Expected {
  readonly issuer: string;
  /** Our client id. */
  readonly audience: string;
  readonly now: Instant;
  /** `id` is the answer to our own login; a `bearer` was obtained by somebody else for us. */
  readonly use: "id" | "bearer";
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * True when issuer, audience, times and kind are as expected. The nonce is compared by whoever made
 * it.
 */
export function claimsValid({ claims, type }: Pick<Jws, "claims" | "type">, expected: Expected) {
  return (
    kindFits(type, expected.use) &&
    claims.iss === expected.issuer &&
    audienceFits(claims, expected) &&
    timesFit(claims, expected)
  );
}

/** Which claims make an identity here. */
export interface IdentityClaims {
  readonly groupsClaim: string;
  /** Claims that role mappings look at. */
  readonly mapped: readonly string[];
}

/**
 * The identity a verified token speaks of; undefined when `isSubject` refuses its subject. An
 * address or a name to show with characters that do not show is left out.
 */
export function identityOf(claims: Claims, names: IdentityClaims): Identity | undefined {
  const subject = claims.sub;
  if (!isName(subject) || !isSubject(subject)) return undefined;
  const email = isShown(claims.email) && claims.email.includes("@") ? claims.email : undefined;
  const login = [claims.preferred_username, email, subject].find(isShown) ?? subject;
  const mapped = names.mapped.map((name) => [name, valuesAt(claims, name)] as const);
  return {
    voucher: "oidc",
    issuer: typeof claims.iss === "string" ? claims.iss : "",
    subject,
    loginName: login,
    groups: valuesAt(claims, names.groupsClaim),
    ...(isShown(claims.name) ? { name: claims.name } : {}),
    ...(email === undefined ? {} : { email }),
    // The JSON boolean alone: a text would be true whatever it says.
    emailVerified: email !== undefined && claims.email_verified === true,
    claims: Object.fromEntries(mapped),
  };
}

/**
 * RFC 8725 §3.11: a token made for something else is refused by its type; access tokens are RFC
 * 9068.
 */
function kindFits(type: string | undefined, use: Expected["use"]): boolean {
  if (type === undefined || type === "jwt") return true;
  return use === "bearer" && type === "at+jwt";
}

/**
 * The issuer names us; an ID token with further audiences says in `azp` that it was made for us.
 */
function audienceFits({ aud, azp }: Claims, { audience, use }: Expected): boolean {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.includes(audience)) return false;
  if (use === "bearer") return true;
  return azp === undefined ? audiences.length === 1 : azp === audience;
}

/** Until when a verified token is taken, with what clocks may differ. */
export const expiryOf = ({ exp }: Claims): Instant =>
  instant(isTime(exp) ? (exp + leewaySeconds) * 1000 : 0);

function timesFit({ exp, iat, nbf }: Claims, { now, use }: Expected): boolean {
  const seconds = now / 1000;
  if (!isTime(exp) || exp <= seconds - leewaySeconds) return false;
  if (nbf !== undefined && (!isTime(nbf) || nbf > seconds + leewaySeconds)) return false;
  if (iat === undefined) return use === "bearer";
  return isTime(iat) && iat <= seconds + leewaySeconds;
}

/** The texts of a claim: one, or a list of them. */
function valuesAt(claims: Claims, name: string): readonly string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.slice(0, valuesMax).filter(isName);
}

/**
 * OpenID Connect Core §2: a subject has at most 255 characters; nothing that could break a line is
 * a name.
 */
const isName = (value: unknown): value is string =>
  typeof value === "string" &&
  value.length > 0 &&
  value.length <= 255 &&
  value.isWellFormed() &&
  !/\p{Cc}/u.test(value);

const isShown = (value: unknown): value is string => isName(value) && isVisible(value);

const isTime = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value >= 0;

/** How far the provider's clock may be from ours. */
const leewaySeconds = 60;
const valuesMax = 1000;
