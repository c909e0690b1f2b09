/** The sign ledger in JSON: every operation with a CA key, newest first (KEY-5). */

import { fingerprintField } from "./fields.ts";
import { type LedgerEntry, ledgerHash, ledgerKinds } from "#core/audit/ledger.ts";
import { flag, integer, oneOf, optional, shape, words } from "#core/shape.ts";
import { fingerprintOf } from "#core/x509/public-keys.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { LedgerExportDeps } from "#domain/audit/ledger-export.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { OperationName } from "#operations";
import { entryJson, entryShapes } from "./ledger-json.ts";
import { listMembers, pageFields, sequencePageOf } from "./pages.ts";
import { providerText } from "./shapes.ts";
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
    "hsm.audit_log": operation({
      summary: "Entries of the sign ledger, newest first, and whether each hash recomputes.",
      target: thePlatform,
      input: {
        kind: optional(oneOf(ledgerKinds)),
        signer_fingerprint: optional(fingerprintField),
        from_number: optional(integer(1, Number.MAX_SAFE_INTEGER)),
        to_number: optional(integer(1, Number.MAX_SAFE_INTEGER)),
        ...pageFields,
      },
      output: auditLogShape,
      run: async (call) => {
        const { kind, signer_fingerprint, from_number, to_number } = call.input;
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
        return {
          ...page,
          ledger_id: (await store.read.instance.value("ledger_id")) ?? "",
          provider: roles.ca,
          device_serial: main?.deviceSerial ?? "",
        };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const auditLogShape = shape({
  ...listMembers(shape({ ...entryShapes, hash_valid: flag() })),
  ledger_id: words(),
  provider: providerText,
  device_serial: words(),
});
