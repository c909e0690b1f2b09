/** Revocation in JSON: revoke, suspend, release, and the list of revoked serials. */

import type { CaId } from "#core/ids.ts";
import { flag, oneOf, optional, otherwise, shape, type ValueOf, words } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { revocationReasons } from "#core/x509/reasons.ts";
import { type Asking, type Definition, operation } from "#domain/access/operation.ts";
import { type OnCa, theCa } from "#domain/access/targets.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { listLineage } from "#domain/certificates/lineage.ts";
import {
  type RevocationRequest,
  type RevocationResult,
  revocationResults,
  type Revoker,
} from "#domain/revocation/revoke.ts";
import { resolveRevocationTarget } from "#domain/revocation/revocation-target.ts";
import type { RevocationRecord } from "#domain/revocation/store.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { reasonField, serialField } from "./fields.ts";
import { listOf, pageFields, pageOf } from "./pages.ts";
import { serialPrefix } from "./serial-prefix.ts";
import { count, reasonText, serialText, time } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly revoker: Revoker;
}

/** What a certificate that is to be held, or is held for good, may be beyond. */
const holding = ["already_revoked", "hold_not_permitted", "certificate_expired"] as const;

/** Handlers for `cert.revoke`, `cert.suspend`, `cert.release`, `revocation.list`. */
export function revocationHandlers(deps: Deps) {
  const { revoker } = deps;
  return {
    "cert.revoke": operation({
      summary: "Revoke a certificate, or suspend it with reason certificateHold.",
      target: theCa,
      input: { serial: serialField, reason: otherwise(reasonField, "unspecified") },
      output: resultShape,
      refuses: holding,
      run: async (call) => {
        const request = await requestOf(deps.store, call, call.input.serial);
        return resultJson(await revoker.revoke(request, call.input.reason));
      },
    }),
    "cert.suspend": operation({
      summary: "Put a certificate on hold.",
      target: theCa,
      input: { serial: serialField },
      output: resultShape,
      refuses: holding,
      run: async (call) =>
        resultJson(await revoker.suspend(await requestOf(deps.store, call, call.input.serial))),
    }),
    "cert.release": operation({
      summary: "Take a certificate off hold.",
      target: theCa,
      input: { serial: serialField },
      output: resultShape,
      refuses: ["not_held"],
      run: async (call) =>
        resultJson(await revoker.release(await requestOf(deps.store, call, call.input.serial))),
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
      const { ca, input } = call;
      const serialPrefix = input.serial_prefix;
      const bound = { caId: ca.id, serialPrefix };
      const caId =
        serialPrefix === undefined ? ca.id : await findSearchedCa(store, ca, serialPrefix);
      return await pageOf("revocation.list", call, bound, recordJson, (limit, after) =>
        revocations.page({ caId, serialPrefix }, limit, after),
      );
    },
  });
}

/** Returns the first CA of the lineage with a match, and `ca` if none has one (ROL-3). */
async function findSearchedCa(
  { read }: Pick<Store, "read">,
  ca: CaRecord,
  serialPrefix: string,
): Promise<CaId> {
  for (const { id } of await listLineage(read.cas, ca)) {
    const { items } = await read.revocations.page({ caId: id, serialPrefix }, 1);
    if (items.length > 0) return id;
  }
  return ca.id;
}

type RevocationCall = Pick<Asking, "origin" | "rights"> & OnCa;

/** Builds the request for the CA of the lineage whose key signed the serial (ROL-3). */
async function requestOf(
  { read }: Pick<Store, "read">,
  call: RevocationCall,
  serial: RevocationRequest["serial"],
): Promise<RevocationRequest> {
  const ca = await resolveRevocationTarget(read, call.ca, serial);
  const mayManageCa = await call.rights.on(ca, "ca:manage");
  return { ca, serial, origin: call.origin, mayManageCa };
}

const resultShape = shape({
  ca_id: words(),
  status: oneOf(revocationResults),
  serial: serialText,
  revoked_at: optional(time),
  reason: optional(reasonText),
});

function resultJson(result: RevocationResult): ValueOf<typeof resultShape> {
  const { caId, status, serial, revokedAt, reason } = result;
  if (revokedAt === undefined) return { ca_id: caId, status, serial };
  return { ca_id: caId, status, serial, revoked_at: timestamp(revokedAt), reason };
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
