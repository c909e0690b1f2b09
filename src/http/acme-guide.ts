/** Serves the page about ACME, made of the directories in force. */

import { refuse } from "#core/problems.ts";
import type { Directories, Directory } from "#domain/acme/directories.ts";
import type { CaReads, CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";

import { type AcmePlace, acmePage } from "./acme-page.ts";
import { htmlAnswer, pageStyle } from "./docs.ts";
import { described, type PublicHandler } from "./public.ts";

export interface AcmeGuideDeps {
  readonly store: Pick<Store, "read">;
  readonly directories: Pick<Directories, "all" | "known">;
  /** In force. */
  readonly config: () => {
    readonly acme: {
      readonly challenge_types: readonly string[];
      readonly terms_of_service: string | undefined;
    };
  };
}

/**
 * The handler of the row. A directory that belongs to one tenant is shown to whoever names it as
 * `directory`, so that nobody learns here which tenants there are.
 */
export function acmeGuideHandlers(
  deps: AcmeGuideDeps,
): Readonly<Record<"acme.guide", PublicHandler>> {
  const answer = async ({ query }: { readonly query: string }): Promise<Response> => {
    const all = deps.directories.all();
    if (all.length === 0) throw refuse("feature_disabled", { feature: "acme" });
    const wanted = new URLSearchParams(query).get("directory");
    const shown = all.filter(({ name, tenant }) =>
      wanted === null ? tenant === undefined : name === wanted,
    );
    if (shown.length === 0) throw refuse("not_found");
    const places: AcmePlace[] = [];
    for (const directory of shown) places.push(await placeOf(deps, directory));
    return htmlAnswer(acmePage(places, pageStyle));
  };
  return {
    "acme.guide": described(answer, {
      summary: "How ACME clients are pointed here, for people.",
      gives: ["text/html"],
      refuses: ["not_found", "feature_disabled"],
    }),
  };
}

async function placeOf(
  { store, directories, config }: AcmeGuideDeps,
  directory: Directory,
): Promise<AcmePlace> {
  const { challenge_types, terms_of_service } = config().acme;
  const ca = await directories.known(directory);
  const root = ca && (await rootOf(store.read.cas, ca));
  return {
    name: directory.name,
    directoryUrl: directory.url("/directory"),
    requireEab: directory.requireEab,
    terms: terms_of_service,
    challengeTypes: challenge_types,
    profiles: Object.entries(directory.profiles).map(([name, { description }]) => ({
      name,
      description,
    })),
    rootPath: root && `/api/ca/${encodeURIComponent(root.id)}/certificate?format=pem`,
  };
}

/** Undefined for a CA that somebody else's root stands above. */
async function rootOf(cas: CaReads, ca: CaRecord): Promise<CaRecord | undefined> {
  let above = ca;
  while (above.parent !== undefined) {
    const issuer = await cas.byId(above.parent);
    if (issuer === undefined) return undefined;
    above = issuer;
  }
  return above.csr === undefined && above.certificate !== undefined ? above : undefined;
}
