/** What the client of a directory is told. */

import type { EntryNames } from "#core/access/directory-entry.ts";

/** One server of the list, all of which hold the same. */
export interface DirectoryServer {
  readonly host: string;
  readonly port: number;
  /** From the first octet, by StartTLS, or not at all. */
  readonly encryption: "tls" | "start_tls" | "none";
}

export interface DirectoryTls {
  /** PEM text of what is trusted instead of the system's certificates. */
  readonly ca: string | undefined;
  /** The name the certificate must carry; the server's host when undefined. */
  readonly serverName: string | undefined;
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  readonly verify: boolean;
}

/** The account that searches. */
export interface ServiceAccount {
  readonly dn: string;
  /** Resolved when it is needed; rejects when its source fails. */
  readonly password: () => Promise<string>;
}

/**
 * How a person's entry is found: by a search as the service, or by binding under a name made of the
 * login name.
 */
export type PersonLookup =
  | { readonly by: "search"; readonly service: ServiceAccount; readonly people: PeopleSearch }
  | { readonly by: "bind"; readonly template: string; readonly people: PeopleSearch | undefined };

export interface PeopleSearch {
  readonly baseDn: string;
  /** With `%s` for the login name. */
  readonly filter: string;
}

export interface DirectorySettings {
  /** Tried in order. */
  readonly servers: readonly DirectoryServer[];
  readonly tls: DirectoryTls;
  /** For everything one server is asked about one login. */
  readonly timeoutSeconds: number;
  readonly lookup: PersonLookup;
  readonly names: EntryNames;
  /** Groups are values of this attribute of the entry, unless they are searched for. */
  readonly groupAttribute: string;
  /** With `%s` for the person's DN and `%u` for the login name. */
  readonly groupSearch: PeopleSearch | undefined;
}
