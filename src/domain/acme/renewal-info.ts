/** When a certificate should be renewed (ARI; RFC 9773, protocols.md §1.8). */

import { pulled, readCertId, type RenewalWindow, window } from "#core/acme/renewal.ts";
import { refuse } from "#core/problems.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { Directories, Directory } from "./directories.ts";
import type { Inventory } from "./inventory.ts";
import type { AcmeSections } from "./sections.ts";

export interface RenewalInfoDeps {
  readonly store: Pick<Store, "read">;
  readonly clock: Clock;
  readonly config: () => AcmeSections;
  readonly directories: Directories;
  readonly inventory: Inventory;
}

/** Tells clients when to come. */
export class RenewalInfo {
  readonly #deps: RenewalInfoDeps;

  constructor(deps: RenewalInfoDeps) {
    this.#deps = deps;
  }

  /**
   * The window of a certificate of the directory's lineage. Refuses `acme_malformed` for what names
   * none, `acme_not_found`.
   */
  async of(
    directory: Directory,
    certId: string,
  ): Promise<RenewalWindow & { readonly explanationUrl: string | undefined }> {
    const { directories, inventory, clock, config, store } = this.#deps;
    const id = readCertId(certId);
    if (id === undefined) {
      throw refuse("acme_malformed", { reason: "this is no certificate identifier" });
    }
    const record = await inventory.byCertId(await directories.ca(directory), id);
    if (record === undefined) throw refuse("acme_not_found");
    const { acme } = config();
    const now = clock.now();
    const { notBefore, notAfter } = record;
    const hurried = await this.#isHurried(record);
    const usual = window({ notBefore, notAfter, settings: acme, now, hurried });
    const planned = hurried ? undefined : await store.read.replacements.plannedFor(record);
    const told = planned === undefined ? usual : pulled(usual, planned);
    return { ...told, explanationUrl: acme.renewal_explanation_url };
  }

  /** ARI-3: nobody should go on with it for longer than it takes to get another. */
  async #isHurried({ status, caId, spkiSha256, tenant }: CertificateRecord): Promise<boolean> {
    if (status !== "good") return true;
    const { read } = this.#deps.store;
    const issuer = await read.cas.byId(caId);
    if (issuer?.status === "superseded" || issuer?.status === "retired") return true;
    const question = { spkiSha256, tenant, duplicate: undefined };
    return (await read.keyChecks.keyStatus(question)).blocked;
  }
}
