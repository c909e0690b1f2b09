/** Where ACME is served, in JSON, for those who tell clients of it. */

import { coversTenant } from "#core/access/principal.ts";
import { flag, many, optional, shape, type ValueOf, words } from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { anyScope } from "#domain/access/targets.ts";
import type { Directories, Directory } from "#domain/acme/directories.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { OperationName } from "#operations";
import { listOf, onePage } from "./pages.ts";
import { present } from "./shapes.ts";

export interface AcmeDirectoryDeps {
  readonly directories: Pick<Directories, "all" | "known">;
  /** In force. */
  readonly config: () => {
    readonly acme: {
      readonly challenge_types: readonly string[];
      readonly terms_of_service: string | undefined;
    };
  };
}

/** Handler for `acme.directory.list`. */
export function acmeDirectoryHandlers({ directories, config }: AcmeDirectoryDeps) {
  return {
    "acme.directory.list": operation({
      summary: "The directories of ACME in tenants the caller may read; none while ACME is off.",
      target: anyScope,
      output: listOf(directoryShape),
      run: async (call) => {
        const reach = call.rights.reachByRoles("read");
        const found: ValueOf<typeof directoryShape>[] = [];
        for (const directory of directories.all()) {
          const ca = await directories.known(directory);
          // One whose CA is not there yet belongs to nobody but who runs the platform.
          if (coversTenant(reach, ca?.tenant)) found.push(directoryJson(directory, ca, config()));
        }
        return onePage(found);
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const directoryShape = shape({
  name: words(),
  directory_url: words({ format: "uri" }),
  ca_id: optional(words()),
  ca_label: optional(words()),
  tenant_id: optional(words()),
  profile: words({ description: "Of orders that name none." }),
  profiles: many(shape({ name: words(), description: words(), profile: words() })),
  require_eab: flag(),
  challenge_types: many(words()),
  terms_of_service: optional(words()),
});

function directoryJson(
  directory: Directory,
  ca: CaRecord | undefined,
  { acme }: ReturnType<AcmeDirectoryDeps["config"]>,
) {
  return present<ValueOf<typeof directoryShape>>({
    name: directory.name,
    directory_url: directory.url("/directory"),
    ca_id: ca?.id,
    ca_label: ca?.label,
    tenant_id: ca?.tenant,
    profile: directory.profile,
    profiles: Object.entries(directory.profiles).map(([name, { description, profile }]) => ({
      name,
      description,
      profile,
    })),
    require_eab: directory.requireEab,
    challenge_types: acme.challenge_types,
    terms_of_service: acme.terms_of_service,
  });
}
