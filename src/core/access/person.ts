/**
 * Who is one person: subjects, who vouches for them, and verified addresses, compared part by part
 * and never as one text.
 */

/**
 * Who says that a subject is somebody; `unknown` is what was stored before this was kept, and is
 * nobody's.
 */
export const vouchers = ["pkid", "local", "oidc", "ldap", "mtls", "unknown"] as const;
export type Voucher = (typeof vouchers)[number];

/** The human or machine behind a principal (APR-5). */
export interface Person {
  readonly subject: string;
  readonly voucher: Voucher;
  /**
   * The issuer, where an identity provider vouches: each names its people as it likes. Else empty.
   */
  readonly issuer: string;
  /** An address somebody has verified, in the form of `canonicalAddress`; empty without one. */
  readonly address: string;
}

/** One account somewhere: what a passkey belongs to. */
export type Account = Pick<Person, "subject" | "voucher" | "issuer">;

/** The person of a subject that needs neither issuer nor address. */
export const plainPerson = (voucher: Voucher, subject: string): Person => ({
  subject,
  voucher,
  issuer: "",
  address: "",
});

/** Root, pkid itself, and whoever has shown nothing. */
export const ownPerson = (subject: string): Person => plainPerson("pkid", subject);

/** All callers of the admin socket together are one person (CLI-3). */
export const localPerson: Person = plainPerson("local", "local");

/**
 * Accounts of the operator of the host: root, whose password the host stores, and the callers of
 * the admin socket. They are one person (APR-5).
 */
export const hostAccounts: readonly Person[] = [localPerson, ownPerson("root")];

/** Subjects of the accounts of the host. */
export const hostSubjects: ReadonlySet<string> = new Set(
  hostAccounts.map(({ subject }) => subject),
);

/** True for an account of the operator of the host. */
export const isHostAccount = (person: Account): boolean =>
  hostAccounts.some((account) => equalsAccount(account, person));

/**
 * ASCII letters in lower case and nothing else changed: Unicode folds letters that look alike into
 * each other, and an address is not to become somebody else's by that.
 */
export const canonicalAddress = (address: string): string =>
  address.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/**
 * True when both are certainly one person: what is one's own may be withdrawn, retried and
 * collected. One subject of two vouchers may be two people.
 */
export function isSamePerson(one: Person, other: Person): boolean {
  if (one.address !== "" && one.address === other.address) return true;
  if (one.voucher === "unknown" || other.voucher === "unknown") return false;
  return equalsAccount(one, other) || (isHostAccount(one) && isHostAccount(other));
}

function equalsAccount(one: Account, other: Account): boolean {
  return (
    one.voucher === other.voucher && one.issuer === other.issuer && one.subject === other.subject
  );
}

/**
 * True unless they are certainly two people: whoever approves must be somebody else than who asked,
 * whoever vouches.
 */
export const mayBeSamePerson = (one: Person, other: Person): boolean =>
  sharesName(one, other) || (hostSubjects.has(one.subject) && hostSubjects.has(other.subject));

/**
 * True if both have one subject or one verified address. Older releases compared makers and
 * approvers by this alone, so that it decides which of their approvals are valid.
 */
export const sharesName = (one: Person, other: Person): boolean =>
  one.subject === other.subject || (one.address !== "" && one.address === other.address);
