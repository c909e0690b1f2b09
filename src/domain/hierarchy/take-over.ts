/**
 * Takes over a CA that another program has run: its key, its certificate, and the number its lists
 * have come to (IMP-2). Until everything it signed and revoked is here too it waits, so that no
 * list and no answer of it leaves something out.
 */

import { compareOctets } from "#core/asn1/der.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { caId, type TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { type Instant, instant } from "#core/time.ts";
import type { ParsedCertificate } from "#core/x509/certificate.ts";
import { nameText } from "#core/x509/names.ts";
import { keyIdOf, parsePublicKey } from "#core/x509/public-keys.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import type { Origin } from "#domain/actor.ts";
import { requireFreeLabel } from "#domain/authorities/labels.ts";
import { aboutCa } from "#domain/authorities/events.ts";
import type { CaRecord, Certified } from "#domain/authorities/store.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { KeyHandle } from "#domain/keys.ts";
import { importedMarker, importEvent } from "#domain/revocation/adoption.ts";
import { foreignOf } from "#domain/revocation/adoption-judge.ts";
import { fullScope } from "#domain/revocation/scopes.ts";
import { announceKey } from "#domain/signing/entries.ts";
import type { Signing } from "#domain/signing/signing.ts";
import type { Unit } from "#domain/store.ts";
import { requireActive } from "#domain/access/suspension.ts";
import { requireTenant } from "#domain/tenants/quotas.ts";
import { pendingCa, signCaRequest } from "./ca-request.ts";
import type { AuthoritiesDeps } from "./create.ts";
import { certifiedBy } from "./certified.ts";
import { type Examined, examined, examinedPem, type TakeOverWarning } from "./take-over-checks.ts";

interface Deps extends Omit<AuthoritiesDeps, "ceremony" | "signers"> {
  readonly signing: Signing;
}

/** Where the key is: in a box for the software key store, or on the token under this label. */
export type OfferedKey =
  | { readonly provider: "software"; readonly box: Uint8Array }
  | { readonly provider: "pkcs11"; readonly label: string };

/** The CA that is to be taken over. */
export interface TakeOverRequest {
  readonly label: string;
  readonly certificatePem: string;
  /** The certificates above it; undefined for a root. */
  readonly chainPem: string | undefined;
  /** Undefined for a CA that is here already, and where only a look is wanted. */
  readonly key: OfferedKey | undefined;
}

/** What is here of it. */
export interface TakenOver {
  /** Undefined where it was only looked at and is not here. */
  readonly ca: CaRecord | undefined;
  /** True when this call began it. */
  readonly begun: boolean;
  readonly warnings: readonly TakeOverWarning[];
}

/** Takes CAs over. */
export class TakeOver {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Where the software key store takes private keys of others in. */
  async address(): Promise<Uint8Array> {
    return await this.#deps.keys.intake.address();
  }

  /**
   * Begins to take a CA over, which then waits for `finish`; the same one a second time is given as
   * it is. With `look` nothing is changed. Refuses `bad_certificate`, `import_refused` with every
   * check that failed, `already_exists` (`label`, or `key` where another CA has it),
   * `key_type_unsupported`, `missing_field` without a key, `bad_key`, `key_unavailable`.
   */
  async begin(
    origin: Origin,
    tenant: TenantId,
    request: TakeOverRequest,
    look = false,
  ): Promise<TakenOver> {
    const { store } = this.#deps;
    const found = await examined(store.read.cas, request, this.#deps.clock.now());
    const here = await this.#here(tenant, found.certificate);
    if (here !== undefined) return { ca: here, begun: false, warnings: found.warnings };
    const keyType = keyTypeOf(found.certificate);
    await requireFreeLabel(this.#deps, { origin, tenant, label: request.label });
    requireActive(await store.read.tenants.named(tenant));
    if (look) {
      await this.#looked(request.key, found.certificate);
      return { ca: undefined, begun: false, warnings: found.warnings };
    }
    const { key } = request;
    if (key === undefined) throw refuse("missing_field", { field: "key" });
    // Two at a time, also of two replicas, would be two CAs with one key.
    const ca = await store.exclusively("ca-import", async () => {
      const other = await this.#here(tenant, found.certificate);
      if (other !== undefined) return other;
      const handle = await this.#keyOf(key, found.certificate, keyType);
      return await this.#insert(origin, tenant, { label: request.label, handle, found });
    });
    return { ca, begun: true, warnings: found.warnings };
  }

  /**
   * Ends it: the CA signs from now on, its lists above `crlNumber`. Of one that has ended only the
   * number is raised, and nothing else is done twice. Refuses `ca_not_pending` for one that was not
   * taken over.
   */
  async finish(origin: Origin, ca: CaRecord, crlNumber: number): Promise<CaRecord> {
    const { store, clock } = this.#deps;
    const stored = await certificateOf(this.#deps, ca);
    const found = await examined(store.read.cas, stored, clock.now());
    const now = clock.now();
    // Above a CA whose issuer is here stands what the issuer's own record says.
    const certified = certifiedBy(found.certificate, ca.csr === undefined ? [] : found.path);
    const pending = ca.status === "pending";
    // As it was when it began, whatever CAs have come or gone since.
    const issuer = (ca.parent && (await store.read.cas.byId(ca.parent))) || ca;
    const changed = await store.atomically(async (tx) => {
      const active = pending && (await tx.cas.certify(ca.id, "pending", certified));
      const raised = crlNumber > 0 && (await raise(tx, ca, crlNumber));
      if (active && ca.csr === undefined) await this.#own(tx, origin, { issuer, found, now });
      if (!active && !raised) return false;
      await tx.audit.appendEvent(finishEvent(origin, ca, certified, crlNumber), now);
      return active;
    });
    if (changed) await this.#deps.activated(ca.id);
    return (await store.read.cas.byId(ca.id)) ?? ca;
  }

  /** The certificate of a CA that is taken over or was; refuses `ca_not_pending` for any other. */
  async issuer(ca: CaRecord): Promise<ParsedCertificate> {
    const { certificatePem } = await certificateOf(this.#deps, ca);
    return (await examinedPem(certificatePem)).certificate;
  }

  /** As `begin` looks: the certificate of a CA to be, and the CA with it that is here. */
  async examine(tenant: TenantId, certificatePem: string) {
    const { certificate } = await examinedPem(certificatePem);
    return { certificate, ca: await this.#here(tenant, certificate) };
  }

  /** Refuses `already_exists` (`key`) where another CA has the key. */
  async #here(tenant: TenantId, certificate: ParsedCertificate): Promise<CaRecord | undefined> {
    const { store } = this.#deps;
    for (const ca of await store.read.cas.withKey(certificate.spki)) {
      const its = ca.certificate ?? (await storedFor(this.#deps, ca))?.der;
      const same = its !== undefined && compareOctets(its, certificate.der) === 0;
      if (same && ca.tenant === tenant) return ca;
      throw refuse("already_exists", { field: "key" });
    }
    return undefined;
  }

  /** On a token a look is free; a box is opened only to be kept. */
  async #looked(key: OfferedKey | undefined, { spki }: ParsedCertificate): Promise<void> {
    if (key?.provider !== "pkcs11") return;
    await this.#deps.keys.find({ provider: "pkcs11", label: key.label, id: keyIdOf(spki) });
  }

  /** Held and announced; refuses `import_refused` (`public_key`) for the key of another. */
  async #keyOf(key: OfferedKey, { spki }: ParsedCertificate, keyType: KeyType): Promise<KeyHandle> {
    const { keys, store, clock } = this.#deps;
    const id = keyIdOf(spki);
    // The label follows from the key: who tries again after a failure finds what he brought.
    const handle =
      key.provider === "pkcs11"
        ? await keys.find({ provider: "pkcs11", label: key.label, id })
        : await keys.intake.take({ label: `imported-${id}`, box: key.box });
    const same = compareOctets(handle.spki, spki) === 0 && handle.keyType === keyType;
    if (!same) {
      if (key.provider === "software") await keys.destroy(handle.ref);
      throw refuse("import_refused", { checks: ["public_key"] });
    }
    const operation = key.provider === "pkcs11" ? "find" : "import";
    const at = clock.now();
    await store.atomically((tx) => announceKey(tx, handle, "ca", operation, at));
    return handle;
  }

  async #insert(
    origin: Origin,
    tenant: TenantId,
    given: { readonly label: string; readonly handle: KeyHandle; readonly found: Examined },
  ): Promise<CaRecord> {
    const { store, clock, random } = this.#deps;
    const { label, handle, found } = given;
    const { certificate, maxPathLength, parent, kind } = found;
    const id = caId(random.uuid());
    const subject = nameText(certificate.subject);
    const facts = { id, tenant, label, handle, subject, maxPathLength };
    const createdAt = clock.now();
    const write = async (tx: Unit, ca: CaRecord, at: CaRecord["createdAt"]) => {
      await requireTenant(tx, tenant);
      await tx.cas.insert(ca);
      await tx.instance.setValue(valueName(ca), encodeStored(found));
      await tx.audit.appendEvent(beginEvent(origin, ca, certificate), at);
    };
    if (kind === "external") {
      const wanted = { id, handle, subject: certificate.subject.der, maxPathLength };
      const make = (csr: Uint8Array) => pendingCa(facts, createdAt, { csr });
      return await signCaRequest(this.#deps, wanted, make, write);
    }
    const below = parent === undefined ? {} : { parent: parent.id };
    const ca = pendingCa(facts, createdAt, { csr: undefined, ...below });
    await store.atomically((tx) => write(tx, ca, createdAt));
    return ca;
  }

  /** The certificate of a CA whose issuer is here stands in the inventory, as every other does. */
  async #own(
    tx: Unit,
    origin: Origin,
    given: { readonly issuer: CaRecord; readonly found: Examined; readonly now: Instant },
  ): Promise<void> {
    const { issuer, now } = given;
    const { certificate } = given.found;
    const known = await tx.certificates.lock(issuer.id, certificate.serial);
    const entry = await tx.revocations.lock(issuer.id, certificate.serial);
    if (entry !== undefined) throw refuse("import_refused", { checks: ["revoked"] });
    if (known !== undefined) {
      const same = compareOctets(known.certificate, certificate.der) === 0;
      if (!same) throw refuse("import_refused", { checks: ["serial"] });
      return;
    }
    const record: CertificateRecord = {
      ...foreignOf(certificate, undefined),
      id: this.#deps.random.uuid(),
      caId: issuer.id,
      tenant: issuer.tenant,
      status: "good",
      revokedAt: undefined,
      reason: undefined,
      requestedBy: origin.principal.subject,
      createdAt: instant(Math.min(certificate.notBefore, now)),
      marker: importedMarker,
    };
    if (!(await tx.certificates.adopt(record))) {
      throw refuse("import_refused", { checks: ["serial"] });
    }
    await tx.audit.appendEvent(importEvent(origin, issuer, record), now);
  }
}

const raise = (tx: Unit, ca: CaRecord, number: number): Promise<boolean> =>
  tx.revocations.raiseCrlNumber(ca.id, fullScope, number);

/** What was given when it began: a waiting CA has no certificate of its own yet. */
interface Stored {
  readonly certificatePem: string;
  readonly chainPem: string | undefined;
}

/** Where the certificate of a CA that waits stands among the values of the instance. */
export const waitingPrefix = "ca_import/";
const valueName = ({ id }: Pick<CaRecord, "id">): string => `${waitingPrefix}${id}`;

function encodeStored({ certificate, path }: Examined): string {
  const chain = path.map(({ der }) => encodePem("CERTIFICATE", der)).join("");
  return encodePem("CERTIFICATE", certificate.der) + (chain === "" ? "" : `\n${chain}`);
}

async function storedFor({ store }: Pick<Deps, "store">, ca: Pick<CaRecord, "id">) {
  const text = await store.read.instance.value(valueName(ca));
  if (text === undefined) return undefined;
  const [certificatePem = "", chainPem] = text.split("\n\n");
  const { certificate } = await examinedPem(certificatePem);
  return { certificatePem, chainPem, der: certificate.der };
}

async function certificateOf(deps: Pick<Deps, "store">, ca: CaRecord): Promise<Stored> {
  const stored = await storedFor(deps, ca);
  if (stored === undefined) throw refuse("ca_not_pending", { status: ca.status });
  return stored;
}

/** Refuses `key_type_unsupported`. */
function keyTypeOf({ spki }: ParsedCertificate): KeyType {
  const { keyType } = parsePublicKey(spki);
  if (keyType === undefined) throw refuse("key_type_unsupported");
  return keyType;
}

function beginEvent(origin: Origin, ca: CaRecord, { serial }: ParsedCertificate) {
  return {
    action: "ca.import" as const,
    result: "success" as const,
    ...aboutCa(origin, ca, serial),
    targetName: ca.label,
    detail: { subject: ca.subject, key_type: ca.keyType, serial },
  };
}

function finishEvent(origin: Origin, ca: CaRecord, certified: Certified, crlNumber: number) {
  const { subject, serial, certificate } = certified;
  return {
    action: "ca.import_finish" as const,
    result: "success" as const,
    ...aboutCa(origin, ca, serial),
    targetName: ca.label,
    detail: { subject, serial, crl_number: crlNumber, sha256: sha256Hex(certificate) },
  };
}
