/** The sign ledger in JSON: every operation with a CA key, newest first (KEY-5). */

import { type LedgerEntry, ledgerHash, ledgerKinds } from "#core/audit/ledger.ts";
import { integer, oneOf, optional, text } from "#core/shape.ts";
import { type Handler, handler, ok } from "#domain/access/call.ts";
import type { Keys, ProviderName } from "#domain/keys.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { pageFields, sequencePageOf } from "./pages.ts";

export interface LedgerHandlerDeps {
  readonly store: Store;
  readonly keys: Pick<Keys, "facts">;
  readonly roles: { readonly ca: ProviderName };
}

/** Handlers for `hsm.audit_log`. */
export function ledgerHandlers({ store, keys, roles }: LedgerHandlerDeps) {
  return {
    "hsm.audit_log": handler({
      summary: "Entries of the sign ledger, newest first, and whether each hash recomputes.",
      query: {
        kind: optional(oneOf(ledgerKinds)),
        signer_fingerprint: optional(text({ max: 64 })),
        from_number: optional(integer(1, Number.MAX_SAFE_INTEGER)),
        to_number: optional(integer(1, Number.MAX_SAFE_INTEGER)),
        ...pageFields,
      },
      run: async (call) => {
        const { kind, signer_fingerprint, from_number, to_number } = call.query;
        const filter = {
          kind,
          signerFingerprint: signer_fingerprint,
          fromNumber: from_number,
          toNumber: to_number,
        };
        const page = await sequencePageOf(
          "hsm.audit_log",
          call,
          filter,
          entryJson,
          (limit, before) => store.read.audit.ledger(filter, limit, before),
        );
        const main = (await keys.facts()).find(({ provider }) => provider === roles.ca);
        return ok({
          ...page,
          ledger_id: (await store.read.instance.value("ledger_id")) ?? "",
          provider: roles.ca,
          device_serial: main?.deviceSerial ?? "",
        });
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

/** An entry as answers show it; empty members are left out (LED-1). */
function entryJson(entry: LedgerEntry) {
  const whole = (text: string) => (text === "" ? "" : Number(text));
  const optionalMembers = {
    op_id: entry.opId,
    provider: entry.provider,
    device_serial: entry.deviceSerial,
    key_label: entry.keyLabel,
    signer_fingerprint: entry.signerFingerprint,
    role: entry.role,
    operation: entry.operation,
    algorithm: entry.algorithm,
    digest: entry.digest,
    purpose: entry.purpose,
    ca_id: entry.caId,
    artifact: entry.artifact,
    result: entry.result,
    signature_sha256: entry.signatureSha256,
    error: entry.error,
    count: whole(entry.count),
    total: whole(entry.total),
  };
  const present = Object.entries(optionalMembers).filter(([, value]) => value !== "");
  return {
    number: entry.number,
    timestamp: entry.timestamp,
    kind: entry.kind,
    ...Object.fromEntries(present),
    prev_hash: entry.prevHash,
    hash: entry.hash,
    hash_valid: ledgerHash(entry) === entry.hash,
  };
}
