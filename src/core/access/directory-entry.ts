/**
 * What a directory is asked about a person, with the login name made harmless, and who its entry
 * speaks of.
 */

import type { Identity } from "./assignments.ts";
import { isSubject, isVisible } from "./subject.ts";

/**
 * An entry as a search found it. Attribute names are in lower case, because a directory may answer
 * in any.
 */
export interface DirectoryEntry {
  readonly dn: string;
  readonly attributes: Readonly<Record<string, readonly string[]>>;
}

/** Which attributes of an entry say what. */
export interface EntryNames {
  /** Holds the subject. */
  readonly username: string;
  readonly email: string;
  /** The first that has a value names the person. */
  readonly displayNames: readonly string[];
  /** Attributes that role mappings look at, by the name of the claim. */
  readonly mapped: readonly string[];
  /** The name under which mappings look at groups. */
  readonly groupsClaim: string;
}

/** True for what somebody may type as a name: 1 to 256 characters that all show. */
export const isLoginName = (text: string): boolean => text.length <= 256 && isVisible(text);

/** Puts the values into a search filter, for `%s` and `%u`, escaped by RFC 4515 §3. */
export const filledFilter = (filter: string, values: TemplateValues): string =>
  filled(filter, values, escapedForFilter);

/**
 * What somebody binds as: a distinguished name, with the login name escaped by RFC 4514 §2.4, or a
 * principal name when the template has no attribute. Undefined for what a directory could take for
 * something other than a name.
 */
export function filledBindName(template: string, login: string): string | undefined {
  if (namesEntry(template)) return filled(template, { s: login }, escapedForDn);
  const name = filled(template, { s: login }, (value) => value);
  // A bare word could be the name of a SASL mechanism, and an equals sign would make a DN of it.
  return /[@\\]/.test(name) && !name.includes("=") ? name : undefined;
}

/**
 * True when a template makes distinguished names; otherwise it makes principal names, like
 * `%s@example.com`.
 */
export const namesEntry = (template: string): boolean => template.includes("=");

/**
 * The attribute that a filter or template holds a login name against; `uid` when neither shows it.
 */
export function attributeNamed(template: string | undefined): string {
  return /([A-Za-z][A-Za-z0-9-]*)=%s/.exec(template ?? "")?.[1] ?? "uid";
}

/**
 * The identity an entry speaks of; undefined when it has no name that `isSubject` accepts. An
 * address or a name to show with characters that do not show is left out. The subject is what the
 * directory holds and not what was typed: it compares without case, and one person must not be two.
 * An address in the directory counts as verified (AUTH-6).
 */
export function identityOfEntry(
  entry: DirectoryEntry,
  groups: readonly string[],
  names: EntryNames,
  loginName: string,
): Identity | undefined {
  const subject = firstName(entry, names.username);
  if (subject === undefined || !isSubject(subject)) return undefined;
  const email = [firstName(entry, names.email) ?? ""].find(isVisible);
  const shown = names.displayNames.map((one) => firstName(entry, one) ?? "");
  const name = shown.find(isVisible);
  const kept = groups.filter(isValue).slice(0, valuesMax);
  const mapped = names.mapped.map((claim) => [claim, valuesOf(entry, claim)] as const);
  return {
    voucher: "ldap",
    issuer: "",
    subject,
    loginName,
    groups: kept,
    ...(name === undefined ? {} : { name }),
    ...(email?.includes("@") ? { email, emailVerified: true } : { emailVerified: false }),
    claims: { ...Object.fromEntries(mapped), [names.groupsClaim]: kept },
  };
}

/** The values of an attribute, however its name is written. */
export function valuesOf({ attributes }: DirectoryEntry, name: string): readonly string[] {
  const key = name.toLowerCase();
  const values = Object.hasOwn(attributes, key) ? (attributes[key] ?? []) : [];
  return values.filter(isValue).slice(0, valuesMax);
}

interface TemplateValues {
  readonly s: string;
  readonly u?: string;
}

/** In one pass, so that a value that holds a placeholder stays what it is. */
const filled = (
  template: string,
  { s, u }: TemplateValues,
  escaped: (value: string) => string,
): string =>
  template.replace(/%[su]/g, (found) => {
    const value = found === "%s" ? s : u;
    return value === undefined ? found : escaped(value);
  });

const escapedForFilter = (value: string): string => value.replace(/[\\*()\0]/g, hexEscaped);

/**
 * More than RFC 4514 asks for: also the equals sign, and every space and number sign, wherever it
 * stands.
 */
const escapedForDn = (value: string): string => value.replace(/[\\"+,;<>=# \0]/g, hexEscaped);

/** The characters it is given are ASCII: one octet each. */
const hexEscaped = (character: string): string =>
  `\\${character.charCodeAt(0).toString(16).padStart(2, "0")}`;

const firstName = (entry: DirectoryEntry, attribute: string): string | undefined =>
  valuesOf(entry, attribute).find((value) => value.length <= 255);

/** Names of groups are whole distinguished names and may be long. */
const isValue = (value: string): boolean =>
  value.length > 0 && value.length <= 1024 && value.isWellFormed() && !/\p{Cc}/u.test(value);

const valuesMax = 1000;
