/** Where ACME is served: each directory of the configuration with its address, CA and profiles. */

import { caId } from "#core/ids.ts";
import { madeFrom } from "#core/in-force.ts";
import { refuse } from "#core/problems.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";

/** `acme`, as far as it says where the protocol is served and by which CA. */
export interface DirectorySections {
  readonly acme: OwnSetting & {
    readonly enabled: boolean;
    /** Set while ACME is on. */
    readonly base_url: string | undefined;
    readonly directory_path: string;
    readonly profiles: Readonly<Record<string, OfferedSetting>>;
    readonly directories: Readonly<Record<string, FurtherSetting>>;
  };
}

interface OwnSetting {
  readonly ca_id: string | undefined;
  readonly ca_label: string | undefined;
  readonly profile: string;
  readonly require_eab: boolean;
}

interface FurtherSetting extends OwnSetting {
  readonly path: string | undefined;
  readonly tenant: string | undefined;
}

interface OfferedSetting {
  readonly description: string | undefined;
  readonly profile: string | undefined;
}

/** A profile that clients may name. */
export interface Offered {
  /** A sentence or a URL; may be empty. */
  readonly description: string;
  /** The profile of certificates it stands for. */
  readonly profile: string;
}

/** One address that clients are given. */
export interface Directory {
  /** As the configuration has it; that of `acme` itself is `default`. */
  readonly name: string;
  /** Where it is served, without final slash. */
  readonly path: string;
  /** The absolute URL of what lies below it; `rest` begins with a slash (AC-1). */
  url(rest: string): string;
  readonly ca: CaReference;
  /** Of orders that name none. */
  readonly profile: string;
  /** By the name a client uses. */
  readonly profiles: Readonly<Record<string, Offered>>;
  readonly requireEab: boolean;
  /** Id or slug of the tenant its CA must belong to; undefined takes that of the CA. */
  readonly tenant: string | undefined;
}

/** How the configuration names a CA, which need not exist yet. */
export type CaReference =
  | { readonly by: "id"; readonly value: string }
  | { readonly by: "label"; readonly value: string };

export interface DirectoryDeps {
  readonly store: Pick<Store, "read">;
  /** In force. */
  readonly config: () => DirectorySections;
}

/** The name of the directory that `acme` itself describes. */
export const firstDirectory = "default";

/** The directories of an instance; none while ACME is off. */
export class Directories {
  readonly #store: DirectoryDeps["store"];
  readonly #served: () => ReadonlyMap<string, Directory>;

  constructor({ store, config }: DirectoryDeps) {
    this.#store = store;
    this.#served = madeFrom(
      () => config().acme,
      (acme) => new Map(directoriesIn(acme).map((one) => [one.name, one])),
    );
  }

  /** The directory of that name; undefined where none is served. */
  named(name: string): Directory | undefined {
    return this.#served().get(name);
  }

  /** All that are served, the one of `acme` itself first. */
  all(): readonly Directory[] {
    return [...this.#served().values()];
  }

  /**
   * A member of the lineage the directory names (P-1): the one that issues, or the named one when
   * none does any more, whose certificates are still revoked and told about. Refuses
   * `ca_not_active` for a CA that does not exist yet, has no certificate, or belongs to another
   * tenant than the directory says.
   */
  async ca(directory: Directory): Promise<CaRecord> {
    const named = await this.known(directory);
    if (named === undefined) throw refuse("ca_not_active", { status: "absent" });
    if (named.status === "active") return named;
    if (named.status === "pending") throw refuse("ca_not_active", { status: named.status });
    const members = await this.#store.read.cas.lineage(named.lineage);
    return members.findLast(({ status }) => status === "active") ?? named;
  }

  /** The same for what needs a certificate made: refuses `ca_not_active` where none can be. */
  async issuer(directory: Directory): Promise<CaRecord> {
    const ca = await this.ca(directory);
    if (ca.status !== "active") throw refuse("ca_not_active", { status: ca.status });
    return ca;
  }

  /** The CA as it is named, whatever its state; undefined while there is none, or a foreign one. */
  async known({ ca: reference, tenant }: Directory): Promise<CaRecord | undefined> {
    const { cas, tenants } = this.#store.read;
    const found =
      reference.by === "id"
        ? await cas.byId(caId(reference.value))
        : await cas.byLabel(reference.value);
    if (found === undefined || found.internal) return undefined;
    if (tenant === undefined) return found;
    // Whoever runs a directory for one tenant never has it answered by the CA of another.
    return (await tenants.named(tenant))?.id === found.tenant ? found : undefined;
  }
}

function directoriesIn(acme: DirectorySections["acme"]): readonly Directory[] {
  const { enabled, base_url: base, directory_path: path, directories } = acme;
  if (!enabled || base === undefined) return [];
  const profiles = offeredIn(acme.profiles);
  const own = { ...acme, path, tenant: undefined };
  return [[firstDirectory, own] as const, ...Object.entries(directories)].flatMap(([name, one]) => {
    const reference = referenceIn(one);
    // Startup validation has refused both (V-17, V-26).
    if (reference === undefined || one.path === undefined) return [];
    const place = `${base}${one.path}`;
    return {
      name,
      path: one.path,
      url: (rest: string) => place + rest,
      ca: reference,
      profile: one.profile,
      profiles,
      requireEab: one.require_eab,
      tenant: one.tenant,
    };
  });
}

function referenceIn({ ca_id, ca_label }: OwnSetting): CaReference | undefined {
  if (ca_id !== undefined) return { by: "id", value: ca_id };
  return ca_label === undefined ? undefined : { by: "label", value: ca_label };
}

const offeredIn = (
  settings: Readonly<Record<string, OfferedSetting>>,
): Readonly<Record<string, Offered>> =>
  Object.fromEntries(
    Object.entries(settings).flatMap(([name, { description = "", profile }]) =>
      profile === undefined ? [] : [[name, { description, profile }] as const],
    ),
  );
