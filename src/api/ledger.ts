/** The sign ledger in JSON: every operation with a CA key, newest first (KEY-5). */

import { type LedgerEntry, ledgerHash, ledgerKinds } from "#core/audit/ledger.ts";
import { integer, oneOf, optional, parsed } from "#core/shape.ts";
import { fingerprintOf, parseFingerprint } from "#core/x509/public-keys.ts";
import { type Handler, handler, ok } from "#domain/access/call.ts";
import type { LedgerExportDeps } from "#domain/audit/ledger-export.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { OperationName } from "#operations";
import { entryJson } from "./ledger-json.ts";
import { pageFields, sequencePageOf } from "./pages.ts";
import { combinedLedger, signedLedger } from "./signed-ledger.ts";

export interface LedgerHandlerDeps extends Omit<LedgerExportDeps, "provider"> {
  readonly roles: { readonly ca: ProviderName };
}

/** Handlers for `hsm.audit_log` and the two documents made of it. */
export function ledgerHandlers(deps: LedgerHandlerDeps) {
  const { store, keys, roles } = deps;
  const exporting = { ...deps, provider: roles.ca };
  return {
    "hsm.signed_audit_log": signedLedger(exporting),
    "hsm.combined_audit_log": combinedLedger(exporting),
    "hsm.audit_log": handler({
      summary: "Entries of the sign ledger, newest first, and whether each hash recomputes.",
      query: {
        kind: optional(oneOf(ledgerKinds)),
        signer_fingerprint: optional(parsed({ type: "string" }, parseFingerprint)),
        from_number: optional(integer(1, Number.MAX_SAFE_INTEGER)),
        to_number: optional(integer(1, Number.MAX_SAFE_INTEGER)),
        ...pageFields,
      },
      run: async (call) => {
        const { kind, signer_fingerprint, from_number, to_number } = call.query;
        const filter = {
          kind,
          signerFingerprint: signer_fingerprint && fingerprintOf(signer_fingerprint),
          fromNumber: from_number,
          toNumber: to_number,
        };
        const page = await sequencePageOf(
          "hsm.audit_log",
          call,
          filter,
          (entry: LedgerEntry) => ({
            ...entryJson(entry),
            hash_valid: ledgerHash(entry) === entry.hash,
          }),
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
