/** Whose tenant is asked about in operations on ACME: that of a directory's CA, or of an object. */

import type { TenantId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import { optional, text } from "#core/shape.ts";
import { type Asked, decide, type Scope, type Target } from "#domain/access/targets.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { type Directories, type Directory, firstDirectory } from "#domain/acme/directories.ts";

type Served = Pick<Directories, "all">;

/** A directory, its CA, and the tenant of that. */
export interface OnDirectory {
  readonly directory: Directory;
  readonly ca: CaRecord;
  readonly tenant: TenantId;
}

/** Refuses `feature_disabled` while ACME is off. */
export function requireServed(directories: Served): void {
  if (directories.all().length === 0) throw refuse("feature_disabled", { feature: "acme" });
}

/**
 * The directory that the member `directory` names, else the first. The right is asked in the tenant
 * of its CA; one that is not served answers as one of another tenant, and 404 to those who hold the
 * right everywhere. Only they learn of a CA that is not there yet (`ca_not_active`).
 */
export const theDirectory = (directories: Directories) =>
  ({
    on: "tenant",
    members: { directory: optional(text({ min: 1, max: 64 })) },
    resolve: async (asked: Asked): Promise<OnDirectory> => {
      requireServed(directories);
      const directory = await directoryOf(directories, asked);
      const owner = directory && (await directories.known(directory));
      const { rights, capability } = asked;
      assert(capability !== undefined, "what is done to a directory needs a capability");
      const everywhere = rights.everywhere(capability);
      if (directory === undefined && everywhere) throw refuse("not_found");
      const there = owner !== undefined && rights.in(owner.tenant, capability);
      decide(asked, capability, everywhere || there);
      assert(directory !== undefined, "rights are held in tenants of directories that are served");
      const ca = await directories.issuer(directory);
      return { directory, ca, tenant: ca.tenant };
    },
    named: async (asked: Pick<Asked, "given">): Promise<Scope> => {
      const directory = await directoryOf(directories, asked);
      return { tenant: directory && (await directories.known(directory))?.tenant };
    },
  }) satisfies Target;

/**
 * The object whose id stands in the path. Foreign and absent ones answer alike, 403; only who holds
 * the right everywhere learns by 404 that there is none.
 */
export const theObject = <T extends { readonly tenant: TenantId }>(
  directories: Served,
  find: (id: string) => Promise<T | undefined>,
) =>
  ({
    on: "tenant",
    members: { id: text({ min: 1, max: idMax }) },
    resolve: async (asked: Asked): Promise<{ readonly found: T; readonly tenant: TenantId }> => {
      requireServed(directories);
      const found = await named(asked, find);
      const { rights, capability } = asked;
      assert(capability !== undefined, "what is done to an object needs a capability");
      if (found === undefined && rights.everywhere(capability)) throw refuse("not_found");
      decide(asked, capability, found !== undefined && rights.in(found.tenant, capability));
      assert(found !== undefined, "rights are held on objects that exist");
      return { found, tenant: found.tenant };
    },
    named: async (asked: Pick<Asked, "given">): Promise<Scope> => ({
      tenant: (await named(asked, find))?.tenant,
    }),
  }) satisfies Target;

/** What is too long to be an id is not looked for. */
async function named<T>(
  { given }: Pick<Asked, "given">,
  find: (id: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  const { id = "" } = given.named;
  return id.length > idMax ? undefined : await find(id);
}

async function directoryOf(
  directories: Directories,
  { given }: Pick<Asked, "given">,
): Promise<Directory | undefined> {
  const name = await given.peek("directory");
  return directories.named(typeof name === "string" ? name : firstDirectory);
}

/** Kids of the configuration are of any length that the file has room for. */
const idMax = 256;
