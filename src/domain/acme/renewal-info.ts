/** When a certificate should be renewed (ARI-1 to ARI-4; RFC 9773). */

import { pulled, readCertId, type RenewalWindow, window } from "#core/acme/renewal.ts";
import type { PlannedTime } from "#core/acme/spread.ts";
import { refuse } from "#core/problems.ts";
import { instant } from "#core/time.ts";
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
    const told = (hurried: boolean) =>
      window({ notBefore, notAfter, settings: acme, now, hurried });
    const explanationUrl = acme.renewal_explanation_url;
    if (await this.#isUnfit(record)) return { ...told(true), explanationUrl };
    const planned = await store.read.replacements.plannedFor(record);
    // A plan spreads what a superseded issuer would have come at once.
    const own = planned === undefined ? await this.#isOfThePast(record) : false;
    return { ...plannedWindow(told(own), planned), explanationUrl };
  }

  /** ARI-3: nobody should go on with it for longer than it takes to get another. */
  async #isUnfit({ status, spkiSha256, tenant }: CertificateRecord): Promise<boolean> {
    if (status !== "good") return true;
    const question = { spkiSha256, tenant, duplicate: undefined };
    return (await this.#deps.store.read.keyChecks.keyStatus(question)).blocked;
  }

  /** ARI-3: of an issuer that another has taken the place of. */
  async #isOfThePast({ caId }: CertificateRecord): Promise<boolean> {
    const issuer = await this.#deps.store.read.cas.byId(caId);
    return issuer?.status === "superseded" || issuer?.status === "retired";
  }
}

/**
 * The window of a plan, where the certificate has one; never later than the usual one, so that no
 * plan lets a certificate expire.
 */
function plannedWindow(usual: RenewalWindow, planned: PlannedTime | undefined): RenewalWindow {
  if (planned === undefined || planned.start >= usual.start) return usual;
  const end = instant(Math.min(planned.end, usual.end));
  return pulled(usual, { start: planned.start, end });
}
