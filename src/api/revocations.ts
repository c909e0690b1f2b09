/** Revocation in JSON: revoke, suspend, release, and the list of revoked serials. */

import {
  flag,
  oneOf,
  optional,
  otherwise,
  parsed,
  shape,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { parseReason, revocationReasons } from "#core/x509/reasons.ts";
import { type Asking, type Definition, operation } from "#domain/access/operation.ts";
import { type OnCa, theCa } from "#domain/access/targets.ts";
import {
  type RevocationRequest,
  type RevocationResult,
  revocationResults,
  type Revoker,
} from "#domain/revocation/revoke.ts";
import type { RevocationRecord } from "#domain/revocation/store.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { serialField } from "./fields.ts";
import { listOf, pageFields, pageOf } from "./pages.ts";
import { serialPrefix } from "./serial-prefix.ts";
import { count, reasonText, serialText, time } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly revoker: Revoker;
}

/** Handlers for `cert.revoke`, `cert.suspend`, `cert.release`, `revocation.list`. */
export function revocationHandlers(deps: Deps) {
  const { revoker } = deps;
  return {
    "cert.revoke": operation({
      summary: "Revoke a certificate, or suspend it with reason certificateHold.",
      target: theCa,
      input: { serial: serialField, reason },
      output: resultShape,
      run: async (call) => {
        const request = await requestOf(call, call.input.serial);
        return resultJson(await revoker.revoke(request, call.input.reason));
      },
    }),
    "cert.suspend": operation({
      summary: "Put a certificate on hold.",
      target: theCa,
      input: { serial: serialField },
      output: resultShape,
      run: async (call) =>
        resultJson(await revoker.suspend(await requestOf(call, call.input.serial))),
    }),
    "cert.release": operation({
      summary: "Take a certificate off hold.",
      target: theCa,
      input: { serial: serialField },
      output: resultShape,
      run: async (call) =>
        resultJson(await revoker.release(await requestOf(call, call.input.serial))),
    }),
    "revocation.list": revocationList(deps.store),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function revocationList(store: Store) {
  return operation({
    summary: "Revoked and held serials, newest first.",
    target: theCa,
    input: { serial_prefix: optional(serialPrefix()), ...pageFields },
    output: listOf(recordShape),
    run: async (call) => {
      const { revocations } = store.read;
      const filter = { caId: call.ca.id, serialPrefix: call.input.serial_prefix };
      return await pageOf("revocation.list", call, filter, recordJson, (limit, after) =>
        revocations.page(filter, limit, after),
      );
    },
  });
}

type RevocationCall = Pick<Asking, "origin" | "rights"> & OnCa;

async function requestOf(
  call: RevocationCall,
  serial: RevocationRequest["serial"],
): Promise<RevocationRequest> {
  const { ca } = call;
  const mayManageCa = await call.rights.on(ca, "ca:manage");
  return { ca, serial, origin: call.origin, mayManageCa };
}

const resultShape = shape({
  status: oneOf(revocationResults),
  serial: serialText,
  revoked_at: optional(time),
  reason: optional(reasonText),
});

function resultJson(result: RevocationResult): ValueOf<typeof resultShape> {
  const { status, serial, revokedAt, reason } = result;
  if (revokedAt === undefined) return { status, serial };
  return { status, serial, revoked_at: timestamp(revokedAt), reason };
}

const recordShape = shape({
  ca_id: words(),
  serial: serialText,
  revoked_at: time,
  revocation_reason: count,
  reason: reasonText,
  known: flag(),
  revocation_seq: count,
});

const recordJson = (record: RevocationRecord): ValueOf<typeof recordShape> => ({
  ca_id: record.caId,
  serial: record.serial,
  revoked_at: timestamp(record.revokedAt),
  revocation_reason: revocationReasons[record.reason],
  reason: record.reason,
  known: record.known,
  revocation_seq: record.sequence,
});

const reason = otherwise(
  parsed({ type: "string", enum: Object.keys(revocationReasons) }, parseReason),
  "unspecified",
);
