/**
 * One conversation with one directory server, over a connection that is open: binds and searches,
 * bounded in time and size.
 */

import type { Client, Entry } from "ldapts";

import type { DirectoryEntry } from "#core/access/directory-entry.ts";
import { DirectoryFault } from "#domain/access/directory.ts";
import { openConnection } from "./connection.ts";
import type { DirectoryServer, DirectoryTls } from "./settings.ts";

/** What may be asked. Throws `DirectoryFault` for everything that is no answer. */
export interface Conversation {
  /**
   * True when the server accepts the name with the password; false when it refuses this name or
   * password.
   */
  bind(name: string, password: string): Promise<boolean>;
  /**
   * At most `max` entries and one more, which says that there are more. Referrals are not followed.
   */
  search(
    at: SearchPlace,
    attributes: readonly string[],
    max: number,
  ): Promise<readonly DirectoryEntry[]>;
  /** When the server's certificate ends, in epoch milliseconds. */
  readonly certificateEnds: number | undefined;
}

export interface SearchPlace {
  readonly baseDn: string;
  readonly filter: string;
  readonly scope: "base" | "sub";
}

/**
 * Connects, lets `work` ask, and closes. What takes longer than the time ends with a
 * `DirectoryFault`.
 */
export async function conversing<T>(
  server: DirectoryServer,
  tls: DirectoryTls,
  timeoutSeconds: number,
  work: (conversation: Conversation) => Promise<T>,
): Promise<T> {
  // Only where a directory is asked.
  const ldap = await import("ldapts");
  const signal = AbortSignal.timeout(timeoutSeconds * 1000);
  const { socket, certificateEnds } = await openConnection(server, tls, signal);
  const { promise: expired, reject } = Promise.withResolvers<never>();
  expired.catch(() => {}); // It may lose the race below.
  const late = () => reject(new DirectoryFault("the server did not answer in time"));
  signal.addEventListener("abort", late, { once: true });
  let octets = 0;
  socket.on("data", (chunk: Buffer) => {
    octets += chunk.length;
    if (octets > octetsMax) socket.destroy();
  });
  let given = false;
  const client = new ldap.Client({
    url: "ldap://directory",
    timeout: timeoutSeconds * 1000,
    // The library would connect anew when a server closes, in clear and unverified, and send the
    // password there.
    createConnection: () => {
      if (given || socket.destroyed) throw new DirectoryFault("the server ended the connection");
      given = true;
      return socket;
    },
  });
  try {
    if (signal.aborted) late();
    return await Promise.race([
      work({ ...asking(client, timeoutSeconds), certificateEnds }),
      expired,
    ]);
  } finally {
    signal.removeEventListener("abort", late);
    socket.destroy();
  }
}

function asking(client: Client, timeoutSeconds: number): Omit<Conversation, "certificateEnds"> {
  return {
    bind: async (name, password) => {
      // Either would be an anonymous bind, which proves nothing (RFC 4513 §5.1).
      if (name === "" || password === "") return false;
      try {
        await client.bind(name, password);
        return true;
      } catch (error) {
        if (refusesPerson(error)) return false;
        throw faultOf(error);
      }
    },
    search: async ({ baseDn, filter, scope }, attributes, max) => {
      try {
        const found = await client.search(baseDn, {
          scope,
          filter,
          attributes: [...attributes],
          derefAliases: "never",
          sizeLimit: max + 1,
          timeLimit: timeoutSeconds,
        });
        return found.searchEntries.slice(0, max + 1).map(entryOf);
      } catch (error) {
        throw faultOf(error);
      }
    },
  };
}

/**
 * A server that answers so is well; it is the person who may not, e.g. because the account is
 * locked or has no password.
 */
const refusesPerson = (error: unknown): boolean =>
  error instanceof Error && "code" in error && personal.has(Number(error.code));

/**
 * RFC 4511 §4.1.9: constraintViolation, noSuchObject, invalidDNSyntax, inappropriateAuthentication,
 * invalidCredentials, insufficientAccessRights, unwillingToPerform.
 */
const personal: ReadonlySet<number> = new Set([19, 32, 34, 48, 49, 50, 53]);

/** The library's own words would quote what was sent. */
function faultOf(error: unknown): DirectoryFault {
  if (error instanceof DirectoryFault) return error;
  if (error instanceof Error && "code" in error && typeof error.code === "number") {
    return new DirectoryFault(`the server answered with result ${error.code}`);
  }
  return new DirectoryFault("the server ended the connection or did not answer in time");
}

/** Values that are no text cannot name anything. */
function entryOf({ dn, ...attributes }: Entry): DirectoryEntry {
  const texts = Object.entries(attributes).map(([name, value]) => {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return [name.toLowerCase(), values.filter((one) => typeof one === "string")] as const;
  });
  return { dn, attributes: Object.fromEntries(texts) };
}

const octetsMax = 4_194_304;
