/**
 * Puts the parts of revocation together: one change reaches ledger, CRL, responder and cache by one
 * path.
 */

import type { StillMay } from "#domain/access/principal-now.ts";
import type { CaId } from "#core/ids.ts";
import type { KeyCounts } from "#domain/audit/key-counts.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Signing } from "#domain/signing/signing.ts";
import type { Store } from "#domain/store.ts";
import { Adoption } from "./adoption.ts";
import { BulkRevocation } from "./bulk.ts";
import { CrlPublisher } from "./crl.ts";
import { CrlCopies, type CrlFiles } from "./crl-copies.ts";
import { Ocsp } from "./ocsp.ts";
import { OcspSigning } from "./ocsp-signing.ts";
import { Presigner } from "./presign.ts";
import { CrlImport } from "./import.ts";
import { CrlRefresh } from "./refresh.ts";
import { type ResponderDeps, Responders } from "./responder.ts";
import { type RevocationChange, Revoker } from "./revoke.ts";
import { CrlScopes } from "./scopes.ts";
import type { RevocationSections } from "./sections.ts";
import type { CrlKind } from "./store.ts";

export interface RevocationDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
  readonly signing: Signing;
  readonly counts: Pick<KeyCounts, "add">;
  /** True while nobody has confirmed a clock that leapt ahead (PRC-4). */
  readonly clockAhead: () => boolean;
  /** True while nothing speaks against the clock, or what did has been set right (CRL-2). */
  readonly clockBelieved: () => boolean;
  /**
   * True for profiles with `lint.public`: not holdable (REV-4), long-lived OCSP answers (OCS-2).
   */
  readonly publicProfile: (profile: string) => boolean;
  readonly signCertificate: ResponderDeps["signCertificate"];
  readonly stillMay: StillMay;
  /** Files for copies of CRLs; undefined where the database is a file of this host. */
  readonly crlFiles: CrlFiles | undefined;
  /** Asks for the deltas or bases that are due, now; where no schedule runs it may do nothing. */
  readonly wake: (kind: CrlKind) => void;
  /** Told what failed in the background and will be tried again. */
  readonly onFailure: (
    what: "crl" | "responder" | "ocsp" | "bulk_revocation",
    error: unknown,
    ca?: CaId,
  ) => void;
}

/** Everything revocation does. */
export interface Revocation {
  readonly revoker: Revoker;
  readonly bulk: BulkRevocation;
  readonly crlImport: CrlImport;
  readonly adoption: Adoption;
  readonly scopes: CrlScopes;
  readonly publisher: CrlPublisher;
  readonly crlCopies: CrlCopies;
  readonly refresh: CrlRefresh;
  readonly responders: Responders;
  readonly ocsp: Ocsp;
  readonly presigner: Presigner;
}

/** Opens it from its sections of the configuration; nothing is read or started yet. */
export function openRevocation(config: RevocationSections, deps: RevocationDeps): Revocation {
  const { store, keys, clock, random, publicProfile, onFailure } = deps;
  const common = { store, keys, clock, random, signing: deps.signing, config };
  const scopes = new CrlScopes({ store, clock, config });
  const publisher = new CrlPublisher({
    ...common,
    scopes,
    clockAhead: deps.clockAhead,
    clockBelieved: deps.clockBelieved,
  });
  const refresh = new CrlRefresh({
    ...common,
    scopes,
    publisher,
    wake: deps.wake,
    onFailure: (ca, error) => onFailure("crl", error, ca),
  });
  const responders = new Responders({
    ...common,
    signCertificate: deps.signCertificate,
    onFailure: (ca, error) => onFailure("responder", error, ca),
  });
  const changed = (change: RevocationChange) => {
    refresh.changed(change);
    presigner.changed(change.caId, change.serial);
    if (change.kind === "responder") void responders.replace(change.caId);
  };
  const holdPermitted = (profile: string) => !publicProfile(profile);
  const revoker = new Revoker({ store, clock, random, changed, holdPermitted });
  const crlImport = new CrlImport({ store, clock, scopes, revoker, changed });
  const adoption = new Adoption({ store, clock, random, revoker, changed });
  const answers = new OcspSigning({ ...common, counts: deps.counts });
  const presigner = new Presigner({ store, clock, responders, signing: answers, config });
  const bulk = new BulkRevocation({
    ...common,
    publisher,
    changed,
    holdPermitted,
    stillMay: deps.stillMay,
    presign: config.presign.enabled ? (ca) => presigner.sweep(ca) : undefined,
    onFailure: (error, run) => onFailure("bulk_revocation", error, run.caId),
  });
  const ocsp = new Ocsp({
    store,
    clock,
    responders,
    config,
    publicProfile,
    signing: answers,
    onAsked: (ca, serial) => presigner.asked(ca, serial),
    onFault: (error) => onFailure("ocsp", error),
  });
  const crlCopies = new CrlCopies({ store, clock, publisher, scopes, files: deps.crlFiles });
  const lists = { scopes, publisher, crlCopies, refresh };
  return { revoker, bulk, crlImport, adoption, ...lists, responders, ocsp, presigner };
}
