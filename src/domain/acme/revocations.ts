/**
 * Revocation by whoever has the right to it: the account that got the certificate, one that holds
 * its names, or its key (RFC 8555 §7.6).
 */

import { DerError } from "#core/asn1/cursor.ts";
import type { AccountKey } from "#core/acme/account-keys.ts";
import type { Identifier } from "#core/acme/identifiers.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import type { Serial } from "#core/ids.ts";
import { Problem, refuse } from "#core/problems.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Revoker } from "#domain/revocation/revoke.ts";
import type { Store } from "#domain/store.ts";
import type { Directories, Directory } from "./directories.ts";
import type { Inventory } from "./inventory.ts";
import { acmeOrigin, type Whence } from "./origin.ts";
import type { AccountRecord } from "./store.ts";

export interface RevocationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly directories: Directories;
  readonly inventory: Inventory;
  readonly revoker: Pick<Revoker, "revoke">;
}

/** Who asks: an account, or whoever holds a key. */
export type Revoking =
  | { readonly by: "account"; readonly account: AccountRecord }
  | { readonly by: "key"; readonly key: AccountKey };

/** Properties of a request that do not decide the right to revoke. */
export interface RevocationDetails {
  readonly reasonCode: unknown;
  readonly context: Whence;
  /** Called when the right to revoke has been verified. */
  readonly authorize: () => void;
}

/** Revokes what accounts and holders of keys ask for. */
export class Revocations {
  readonly #deps: RevocationDeps;

  constructor(deps: RevocationDeps) {
    this.#deps = deps;
  }

  /**
   * Revokes a certificate of the directory's lineage. Refuses `acme_not_found` for one that is not
   * in the inventory byte for byte, `acme_unauthorized` without right, `acme_bad_revocation_reason`
   * for a reason that is not for subscribers, `acme_already_revoked`. Who has the key and not the
   * account ends what records of its names say of keys that the account has had before.
   */
  async revoke(
    directory: Directory,
    who: Revoking,
    der: Uint8Array,
    { reasonCode, context, authorize }: RevocationDetails,
  ): Promise<void> {
    const { store, directories, inventory, revoker } = this.#deps;
    const certificate = read(der);
    const lineage = await directories.ca(directory);
    const record = await inventory.identical(lineage, der, certificate.serial);
    if (record === undefined) throw refuse("acme_not_found");
    if (!(await this.#mayRevoke(who, certificate, record))) {
      throw refuse("acme_unauthorized", { reason: "the certificate is not yours to revoke" });
    }
    authorize();
    const reason = reasonOf(reasonCode);
    const ca = await store.read.cas.byId(record.caId);
    if (ca === undefined) throw refuse("acme_not_found");
    const origin = acmeOrigin(subjectOf(who), context);
    const obtained = await store.read.acme.obtained(record);
    const { status } = await revoker.revoke(
      {
        ca,
        serial: record.serial,
        origin,
        mayManageCa: false,
        keyProven: who.by === "key",
        protocol: "acme",
        also: async (tx, at) => {
          if (who.by === "key" && obtained !== undefined) {
            await tx.acme.endRecords(obtained.account, provenNames(record));
          }
          await tx.audit.appendEvent(eventOf(origin, ca, record.serial, who), at);
        },
      },
      reason,
    );
    if (status === "already-revoked") throw refuse("acme_already_revoked");
  }

  async #mayRevoke(
    who: Revoking,
    { spki }: ParsedCertificate,
    { caId, serial, sans }: CertificateRecord,
  ): Promise<boolean> {
    const { acme } = this.#deps.store.read;
    if (who.by === "key") return spkiSha256(who.key.spki) === spkiSha256(spki);
    const obtained = await acme.obtained({ caId, serial });
    if (obtained?.account === who.account.id) return true;
    const names = identifiersOf(sans);
    if (names === undefined || names.length === 0) return false;
    const valid = await acme.validFor(who.account.id, names, this.#deps.clock.now());
    return names.every(({ identifier, wildcard }) =>
      valid.some(
        (one) =>
          one.wildcard === wildcard &&
          one.identifier.type === identifier.type &&
          one.identifier.value === identifier.value,
      ),
    );
  }
}

/** The protocol's own event, beside `cert.revoke`. */
const eventOf = (
  origin: Origin,
  { id, tenant }: CaRecord,
  serial: Serial,
  who: Revoking,
): EventDraft => ({
  ...authorOf(origin, tenant),
  action: "acme.cert.revoke",
  result: "success",
  tenant,
  caId: id,
  serial,
  target: id,
  targetName: serial,
  detail: { eab: who.by === "account" ? who.account.eabId : undefined },
});

/** What an account must hold proofs of; undefined where it cannot hold one of a name. */
function identifiersOf(
  sans: readonly string[],
): readonly { readonly identifier: Identifier; readonly wildcard: boolean }[] | undefined {
  const names: { identifier: Identifier; wildcard: boolean }[] = [];
  for (const san of sans) {
    const colon = san.indexOf(":");
    const [type, value] = [san.slice(0, colon), san.slice(colon + 1)];
    if (type !== "dns" && type !== "ip") return undefined;
    const wildcard = value.startsWith("*.");
    names.push({ identifier: { type, value: wildcard ? value.slice(2) : value }, wildcard });
  }
  return names;
}

/** The names below which standing records lie. */
const provenNames = ({ sans }: CertificateRecord): readonly string[] => [
  ...new Set((identifiersOf(sans) ?? []).map(({ identifier }) => identifier.value)),
];

/** Whose event it is; a key without account is named by its digest. */
const subjectOf = (who: Revoking): `acme:${string}` =>
  who.by === "account" ? `acme:${who.account.id}` : `acme:key-${who.key.thumbprint}`;

function read(der: Uint8Array): ParsedCertificate {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (error instanceof DerError || error instanceof Problem) {
      throw refuse("acme_malformed", { reason: "the certificate cannot be read" });
    }
    throw error;
  }
}

/** RFC 8555 §7.6: the reasons that are a subscriber's to give. */
function reasonOf(code: unknown): RevocationReason {
  if (code === undefined) return "unspecified";
  const reason = typeof code === "number" ? reasons.get(code) : undefined;
  if (reason === undefined) throw refuse("acme_bad_revocation_reason");
  return reason;
}

const reasons: ReadonlyMap<number, RevocationReason> = new Map([
  [0, "unspecified"],
  [1, "keyCompromise"],
  [3, "affiliationChanged"],
  [4, "superseded"],
  [5, "cessationOfOperation"],
]);
