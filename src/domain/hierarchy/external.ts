/**
 * CAs below a root somewhere else: the key and its request here, the certificate from there
 * (ROL-7).
 */

import { decodePem, decodePemBlocks } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { caId, type TenantId } from "#core/ids.ts";
import { checkImport, type ImportWarning } from "#core/policy/import-checks.ts";
import { Problem, refuse } from "#core/problems.ts";
import { isPostQuantum } from "#core/x509/algorithms.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { parseCsr } from "#core/x509/csr.ts";
import { readOrRefuse, refuseUnreadableCa } from "#core/x509/foreign.ts";
import { encodeName, hasControls, nameText } from "#core/x509/names.ts";
import type { Origin } from "#domain/actor.ts";
import { requireFreeLabel } from "#domain/authorities/labels.ts";
import { aboutCa } from "#domain/authorities/events.ts";
import type { KeyHandle } from "#domain/keys.ts";
import type { Signing } from "#domain/signing/signing.ts";
import { requireActive } from "#domain/access/suspension.ts";
import { requireTenant } from "#domain/tenants/quotas.ts";
import { certifiedBy } from "./certified.ts";
import { discardCaKeys, makeCaKeys } from "./ca-keys.ts";
import { pendingCa, signCaRequest } from "./ca-request.ts";
import type { AuthoritiesDeps, CaRequest } from "./create.ts";
import { externalCertificates } from "#domain/authorities/signers.ts";
import type { CaRecord, Certified } from "#domain/authorities/store.ts";

interface Deps extends Omit<AuthoritiesDeps, "ceremony" | "signers"> {
  readonly signing: Signing;
}

/** What a CA below an external root shall be; its life is the other side's to decide. */
export type ExternalRequest = Pick<CaRequest, "label" | "subject" | "keyType" | "maxPathLength">;

export interface ImportRequest {
  readonly certificatePem: string;
  /** Undefined: none given; a replacement then keeps the chain it has. */
  readonly chainPem: string | undefined;
  readonly replace: boolean;
}

/** Makes externally signed CAs. */
export class ExternalAuthorities {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * A pending CA: its key and a request signed with it. Refuses `already_exists`,
   * `key_type_unsupported`, `tenant_suspended`, `key_unavailable`.
   */
  async request(origin: Origin, tenant: TenantId, request: ExternalRequest): Promise<CaRecord> {
    const { store, random, config } = this.#deps;
    const provider = config.key_provider.roles.ca;
    if (isPostQuantum(request.keyType)) {
      throw refuse("key_type_unsupported", { key_type: request.keyType });
    }
    await requireFreeLabel(this.#deps, { origin, tenant, label: request.label });
    requireActive(await store.read.tenants.named(tenant));
    const id = caId(random.uuid());
    const label = `${request.label}-${id}`;
    const keys = await makeCaKeys(this.#deps, { label, keyType: request.keyType, provider });
    const { native } = keys;
    try {
      return await this.#signRequest(origin, tenant, request, native, id);
    } catch (error) {
      const taken = error instanceof Problem && error.code === "already_exists";
      if (taken) await discardCaKeys(this.#deps, keys);
      throw error;
    }
  }

  /**
   * Gives a pending CA the certificate the other side made, or an active externally signed one
   * another for the same key. Refuses `ca_not_pending`, `bad_certificate`, `import_refused` with
   * every check that failed.
   */
  async certify(
    origin: Origin,
    ca: CaRecord,
    request: ImportRequest,
  ): Promise<{ readonly ca: CaRecord; readonly warnings: readonly ImportWarning[] }> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const { from, certified, warnings } = this.admit(ca, request);
    await store.atomically(async (tx) => {
      if (!(await tx.cas.certify(ca.id, from, certified))) {
        throw refuse("ca_not_pending", { status: await tx.cas.status(ca.id) });
      }
      await tx.audit.appendEvent(importEvent(origin, ca, certified), now);
    });
    await this.#deps.activated(ca.id);
    return { ca: { ...ca, ...certified, status: "active" }, warnings };
  }

  /** Refuses what `certify` would refuse; gives what it would store. */
  admit(ca: CaRecord, request: ImportRequest) {
    const now = this.#deps.clock.now();
    const from = request.replace ? ("active" as const) : ("pending" as const);
    if (ca.csr === undefined || ca.status !== from) {
      throw refuse("ca_not_pending", { status: ca.status });
    }
    const certificate = readCertificate(request.certificatePem);
    const replaced = ca.certificate && parseCertificate(ca.certificate);
    const chain = request.chainPem === undefined ? keptChain(ca) : readChain(request.chainPem);
    const verdict = checkImport({
      certificate,
      chain,
      ownSpki: ca.spki,
      replaced,
      now,
      subject: parseCsr(ca.csr).subject.der,
      maxPathLength: ca.maxPathLength,
    });
    if (verdict.refused.length > 0) throw refuse("import_refused", { checks: verdict.refused });
    for (const one of [certificate, ...verdict.path]) refuseUnreadableCa(one);
    const certified = certifiedBy(certificate, verdict.path);
    return { from, certified, warnings: verdict.warnings };
  }

  async #signRequest(
    origin: Origin,
    tenant: TenantId,
    request: ExternalRequest,
    handle: KeyHandle,
    id: CaRecord["id"],
  ): Promise<CaRecord> {
    const subject = encodeName(request.subject);
    const createdAt = this.#deps.clock.now();
    const pending = { ...request, id, tenant, handle, subject: nameText(subject) };
    const wanted = { id, handle, subject: subject.der, maxPathLength: request.maxPathLength };
    return await signCaRequest(
      this.#deps,
      wanted,
      (csr) => pendingCa(pending, createdAt, { csr }),
      async (tx, ca, at) => {
        await requireTenant(tx, tenant);
        await tx.cas.insert(ca);
        await tx.audit.appendEvent(requestEvent(origin, ca), at);
      },
    );
  }
}

/** One certificate in PEM. Refuses `bad_certificate`. */
export function readCertificate(pem: string): ParsedCertificate {
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) throw refuse("bad_certificate", { reason: "not one PEM certificate" });
  return parsed(der);
}

/** PEM of 1 to 16 certificates. Refuses `bad_certificate`. */
export function readChain(pem: string): readonly ParsedCertificate[] {
  const blocks = decodePemBlocks(pem, "CERTIFICATE", chainMax);
  if (blocks === undefined || blocks.length === 0) {
    throw refuse("bad_certificate", { reason: "the chain is not PEM of 1 to 16 certificates" });
  }
  return blocks.map(parsed);
}

function parsed(der: Uint8Array): ParsedCertificate {
  const certificate = readOrRefuse("bad_certificate", () => parseCertificate(der));
  // It would become the issuer of all that is signed here, which no lint of ours could refuse any
  // more.
  if (certificate.subject.attributes.some(({ value }) => hasControls(value))) {
    throw refuse("bad_certificate", { reason: "the subject has control characters" });
  }
  return certificate;
}

const keptChain = (ca: CaRecord) => externalCertificates(ca).map(parseCertificate);

function requestEvent(origin: Origin, ca: CaRecord) {
  return {
    action: "ca.csr" as const,
    result: "success" as const,
    ...aboutCa(origin, ca),
    targetName: ca.label,
    detail: {
      subject: ca.subject,
      key_type: ca.keyType,
      sha256: ca.csr && sha256Hex(ca.csr),
    },
  };
}

function importEvent(origin: Origin, ca: CaRecord, { subject, serial, certificate }: Certified) {
  const sha256 = sha256Hex(certificate);
  return {
    action: "ca.import_cert" as const,
    result: "success" as const,
    ...aboutCa(origin, ca, serial),
    targetName: ca.label,
    detail: { subject, serial, sha256 },
  };
}

const chainMax = 16;
