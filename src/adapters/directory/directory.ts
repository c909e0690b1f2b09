/**
 * Lets a directory say who somebody is (interface, LDAP): search then bind, or bind under a name
 * made of the login name.
 */

import type { Identity } from "#core/access/assignments.ts";
import {
  type DirectoryEntry,
  filledBindName,
  filledFilter,
  identityOfEntry,
  namesEntry,
  valuesOf,
} from "#core/access/directory-entry.ts";
import { canonicalGroup } from "#core/access/group-names.ts";
import type { DirectoryFacts } from "#core/preflight/providers.ts";
import { type Directory, DirectoryFault } from "#domain/access/directory.ts";
import { type Conversation, conversing } from "./client.ts";
import type { DirectorySettings, PeopleSearch, ServiceAccount } from "./settings.ts";

/**
 * The port over LDAP. Servers are tried in order; the first that answers decides, for or against.
 */
export function ldapDirectory(settings: DirectorySettings, told: Told = () => {}): Directory {
  const { servers, tls, timeoutSeconds } = settings;
  return {
    identify: async (name, password) => {
      const faults: string[] = [];
      for (const server of servers) {
        try {
          return await conversing(server, tls, timeoutSeconds, (conversation) =>
            identified(settings, conversation, told, { login: name, password }),
          );
        } catch (error) {
          if (!(error instanceof DirectoryFault)) throw error;
          faults.push(`${server.host}:${server.port}: ${error.message}`);
        }
      }
      throw new DirectoryFault(faults.join("; "));
    },
  };
}

/**
 * Hears why an answer was no. From outside all of them are one refusal; an operator must tell a
 * wrong password from an account that may read nobody. Never a password, and no name.
 */
export type Told = (why: Refusal) => void;

export type Refusal =
  | "no_entry_found"
  | "several_entries_found"
  | "password_refused"
  | "name_makes_no_bind_name"
  | "entry_names_nobody_here";

interface Credential {
  readonly login: string;
  readonly password: string;
}

/**
 * What each server shows to somebody who only looks: it binds as the service account and reads one
 * person.
 */
export async function lookAtDirectory(
  { servers, tls, timeoutSeconds, lookup, names }: DirectorySettings,
  now: () => number,
): Promise<readonly DirectoryFacts[]> {
  const looks = servers.map(async (one): Promise<DirectoryFacts> => {
    const server = `${one.host}:${one.port}`;
    try {
      return await conversing(one, tls, timeoutSeconds, async (conversation) => {
        if (lookup.by === "search") {
          await bindService(conversation, lookup.service);
          await readSomebody(conversation, lookup, names);
        }
        const { certificateEnds: ends } = conversation;
        return { server, certificateDays: ends && (ends - now()) / 86_400_000 };
      });
    } catch (error) {
      if (error instanceof DirectoryFault) return { server, fault: error.message };
      throw error;
    }
  });
  return Promise.all(looks);
}

/** Binds as the service account; a refusal is a fault of ours and not of whoever logs in. */
async function bindService(
  conversation: Conversation,
  { dn, password }: ServiceAccount,
): Promise<void> {
  const secret = await password().catch((error: unknown) => {
    const why = error instanceof DirectoryFault ? `: ${error.message}` : "";
    throw new DirectoryFault(`the password of bind_dn cannot be had${why}`);
  });
  if (!(await conversation.bind(dn, secret))) {
    throw new DirectoryFault("the server refuses bind_dn or its password");
  }
}

/** An account that may bind and read nobody would make every login a wrong password. */
async function readSomebody(
  conversation: Conversation,
  { service, people: { baseDn, filter } }: Lookup<"search">,
  { username }: DirectorySettings["names"],
): Promise<void> {
  const anybody = filter.replaceAll("%s", "*");
  const place = { baseDn, filter: anybody, scope: "sub" } as const;
  const found = await conversation.search(place, [username], 1).catch((error: unknown) => {
    const why = error instanceof DirectoryFault ? ` (${error.message})` : "";
    throw new DirectoryFault(`bind_dn cannot search user_base_dn${why}`);
  });
  // Itself is what it may read in any case.
  const [one] = found.filter(({ dn }) => canonicalGroup(dn) !== canonicalGroup(service.dn));
  if (one === undefined) {
    throw new DirectoryFault(
      "bind_dn finds nobody by user_filter below user_base_dn, or may not read them",
    );
  }
  if (valuesOf(one, username).length === 0) throw new DirectoryFault(nameless(username));
}

const nameless = (username: string): string =>
  `people have no attribute ${username} that bind_dn may read; set auth.ldap.username_attribute`;

async function identified(
  settings: DirectorySettings,
  conversation: Conversation,
  told: Told,
  { login, password }: Credential,
): Promise<Identity | undefined> {
  const { lookup, names } = settings;
  const found =
    lookup.by === "search"
      ? await foundAndBound(settings, conversation, lookup, login, password)
      : await boundAndFound(settings, conversation, lookup, login, password);
  if (typeof found === "string") {
    told(found);
    return undefined;
  }
  const groups = await groupsOf(settings, conversation, found, login);
  const identity = identityOfEntry(found, groups, names, login);
  if (identity !== undefined) return identity;
  // The password was right, and which attribute names people is ours to set.
  if (valuesOf(found, names.username).length === 0) {
    throw new DirectoryFault(nameless(names.username));
  }
  told("entry_names_nobody_here");
  return undefined;
}

type Lookup<By> = Extract<DirectorySettings["lookup"], { readonly by: By }>;

/**
 * Several entries of one name are nobody: the password of one must not open the other. Nobody costs
 * the bind that somebody does, so that the time it takes tells no stranger who is there.
 */
async function foundAndBound(
  settings: DirectorySettings,
  conversation: Conversation,
  { service, people }: Lookup<"search">,
  login: string,
  password: string,
): Promise<DirectoryEntry | Refusal> {
  await bindService(conversation, service);
  const entry = await onlyPerson(settings, conversation, people, login);
  if (typeof entry === "string") {
    await bindAsNobody(conversation, people.baseDn, password);
    return entry;
  }
  if (!(await conversation.bind(entry.dn, password))) return "password_refused";
  // Groups are looked up by whoever may see them.
  if (settings.groupSearch !== undefined) await bindService(conversation, service);
  return entry;
}

/** Under a name no entry has. Whatever the server says to it, the person is unknown. */
async function bindAsNobody(conversation: Conversation, baseDn: string, password: string) {
  await conversation.bind(`cn=${crypto.randomUUID()},${baseDn}`, password).catch(() => false);
}

async function boundAndFound(
  settings: DirectorySettings,
  conversation: Conversation,
  { template, people }: Lookup<"bind">,
  login: string,
  password: string,
): Promise<DirectoryEntry | Refusal> {
  const name = filledBindName(template, login);
  if (name === undefined) return "name_makes_no_bind_name";
  if (!(await conversation.bind(name, password))) return "password_refused";
  const entry = namesEntry(template)
    ? (
        await entries(settings, conversation, { baseDn: name, filter: "(objectClass=*)" }, "base")
      )[0]
    : people && (await onlyPerson(settings, conversation, people, login));
  if (entry === undefined || typeof entry === "string") {
    throw new DirectoryFault("people cannot read their own entries");
  }
  return entry;
}

async function onlyPerson(
  settings: DirectorySettings,
  conversation: Conversation,
  { baseDn, filter }: PeopleSearch,
  login: string,
): Promise<DirectoryEntry | Refusal> {
  const place = { baseDn, filter: filledFilter(filter, { s: login }) };
  const [only, second] = await entries(settings, conversation, place, "sub");
  if (second !== undefined) return "several_entries_found";
  return only === undefined || only.dn === "" ? "no_entry_found" : only;
}

/** Nothing but the attributes that are looked at is asked for. */
const entries = (
  { names, groupAttribute, groupSearch }: DirectorySettings,
  conversation: Conversation,
  place: PeopleSearch,
  scope: "base" | "sub",
): Promise<readonly DirectoryEntry[]> => {
  const { username, email, displayNames, mapped } = names;
  const groups = groupSearch === undefined ? [groupAttribute] : [];
  const wanted = [...new Set([username, email, ...displayNames, ...mapped, ...groups])];
  return conversation.search({ ...place, scope }, wanted, 1);
};

/**
 * Groups as the attribute holds them; groups found by search by their distinguished name, as the
 * directory writes it, and by its first value. The attributes of a group do not name it: whoever
 * keeps its members may often write them too.
 */
async function groupsOf(
  { groupAttribute, groupSearch }: DirectorySettings,
  conversation: Conversation,
  entry: DirectoryEntry,
  login: string,
): Promise<readonly string[]> {
  if (groupSearch === undefined) return valuesOf(entry, groupAttribute);
  const filter = filledFilter(groupSearch.filter, { s: entry.dn, u: login });
  const place = { baseDn: groupSearch.baseDn, filter, scope: "sub" } as const;
  const found = await conversation.search(place, ["1.1"], groupsMax);
  if (found.length > groupsMax) throw new DirectoryFault(`a person has over ${groupsMax} groups`);
  return found.flatMap(({ dn }) => [dn, ...shortName(dn)]);
}

/**
 * `ops` of `cn=ops,ou=groups,dc=example`; nothing where it would have to be unescaped or has
 * several parts.
 */
function shortName(dn: string): readonly string[] {
  const value = /^[^=,+\\]+=([^=,+\\"#]+)(?:,|$)/.exec(dn)?.[1]?.trim() ?? "";
  return value === "" ? [] : [value];
}

/** Twice as many names are within what an identity may hold. */
const groupsMax = 500;
