/** The request of a CA that somebody else certifies, and the CA while it waits. */

import type { TenantId } from "#core/ids.ts";
import { caKeyUsages } from "#core/policy/certificate-extensions.ts";
import type { IssuanceSections } from "#core/policy/plan.ts";
import type { Instant } from "#core/time.ts";
import { defaultSignature } from "#core/x509/algorithms.ts";
import { assembleSigned } from "#core/x509/certificate.ts";
import {
  basicConstraints,
  keyUsage,
  subjectKeyId,
  subjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import { encodeRequestInfo } from "#core/x509/request-info.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { KeyHandle } from "#domain/keys.ts";
import type { Signing } from "#domain/signing/signing.ts";
import type { Unit } from "#domain/store.ts";

interface Deps {
  readonly signing: Signing;
  readonly config: Pick<IssuanceSections, "issuance">;
}

/** What the request says, and whose key signs it. */
export interface CaRequestFacts {
  readonly id: CaRecord["id"];
  readonly handle: KeyHandle;
  /** DER of the name. */
  readonly subject: Uint8Array;
  readonly maxPathLength: number | undefined;
}

/**
 * Through the ledger like every other use of a CA key, though what is signed is no certificate
 * (KEY-5). `made` is given the request in DER, and what it gives `store` writes in the unit that
 * closes the entry.
 */
export async function signCaRequest<T>(
  { signing, config }: Deps,
  { id, handle, subject, maxPathLength }: CaRequestFacts,
  made: (csr: Uint8Array) => T,
  store: (tx: Unit, made: T, at: Instant) => Promise<void>,
): Promise<T> {
  const algorithm = defaultSignature(handle.keyType);
  const keyId = subjectKeyId(handle.spki, config.issuance.ski_method);
  const extensions = [
    basicConstraints(true, maxPathLength),
    keyUsage(caKeyUsages),
    subjectKeyIdentifier(keyId),
  ];
  const message = encodeRequestInfo({ subject, spki: handle.spki, extensions });
  const key = { key: handle, role: "ca", caId: id, artifact: id } as const;
  const intended = await signing.intend({ ...key, algorithm, message, purpose: "csr" });
  const signed = await intended.sign();
  const result = await signed.prepare(() =>
    made(assembleSigned(message, algorithm, signed.signature)),
  );
  await signed.close((tx, at) => store(tx, result, at));
  return result;
}

/** The record of a CA without certificate; without request it is none that is signed elsewhere. */
export function pendingCa(
  request: {
    readonly label: string;
    readonly maxPathLength: number | undefined;
    readonly id: CaRecord["id"];
    readonly tenant: TenantId;
    readonly handle: KeyHandle;
    readonly subject: string;
  },
  createdAt: CaRecord["createdAt"],
  { csr, parent }: { readonly csr: Uint8Array | undefined; readonly parent?: CaRecord["id"] },
): CaRecord {
  const { id, tenant, label, handle, subject, maxPathLength } = request;
  return {
    id,
    tenant,
    label,
    parent,
    lineage: id,
    status: "pending",
    key: handle.ref,
    keyType: handle.keyType,
    spki: handle.spki,
    alternative: undefined,
    subject,
    maxPathLength,
    certificate: undefined,
    serial: undefined,
    notBefore: undefined,
    notAfter: undefined,
    csr,
    externalChain: undefined,
    successor: undefined,
    predecessor: undefined,
    retireAfter: undefined,
    createdAt,
    internal: false,
  };
}
