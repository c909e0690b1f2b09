/** Revocation in JSON: revoke, suspend, release, and the list of revoked serials. */

import { parseSerial } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import { optional, otherwise, parsed, text } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { parseReason, revocationReasons } from "#core/x509/reasons.ts";
import { type Authorized, type Handler, handler, ok } from "#domain/access/call.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { RevocationRequest, RevocationResult, Revoker } from "#domain/revocation/revoke.ts";
import type { RevocationRecord } from "#domain/revocation/store.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { pageFields, pageOf } from "./pages.ts";
import { serialPrefix } from "./serial-prefix.ts";

interface Deps {
  readonly store: Store;
  readonly revoker: Revoker;
}

/** Handlers for `cert.revoke`, `cert.suspend`, `cert.release`, `revocation.list`. */
export function revocationHandlers(deps: Deps) {
  const { revoker } = deps;
  return {
    "cert.revoke": handler({
      summary: "Revoke a certificate, or suspend it with reason certificateHold.",
      path: { id: text() },
      body: { serial, reason },
      run: async (call) => {
        const request = await requestOf(call, call.body.serial);
        return ok(resultJson(await revoker.revoke(request, call.body.reason)));
      },
    }),
    "cert.suspend": handler({
      summary: "Put a certificate on hold.",
      path: { id: text(), serial },
      run: async (call) =>
        ok(resultJson(await revoker.suspend(await requestOf(call, call.path.serial)))),
    }),
    "cert.release": handler({
      summary: "Take a certificate off hold.",
      path: { id: text(), serial },
      run: async (call) =>
        ok(resultJson(await revoker.release(await requestOf(call, call.path.serial)))),
    }),
    "revocation.list": revocationList(deps.store),
  } satisfies Partial<Record<OperationName, Handler>>;
}

function revocationList(store: Store): Handler {
  return handler({
    summary: "Revoked and held serials, newest first.",
    path: { id: text() },
    query: { serial_prefix: optional(serialPrefix()), ...pageFields },
    run: async (call) => {
      const { revocations } = store.read;
      const filter = { caId: caOf(call.ca).id, serialPrefix: call.query.serial_prefix };
      return ok(
        await pageOf("revocation.list", call, filter, recordJson, (limit, after) =>
          revocations.page(filter, limit, after),
        ),
      );
    },
  });
}

type RevocationCall = Pick<Authorized<never, never, never>, "origin" | "rights" | "ca">;

async function requestOf(
  call: RevocationCall,
  serial: RevocationRequest["serial"],
): Promise<RevocationRequest> {
  const ca = caOf(call.ca);
  const mayManageCa = await call.rights.on(ca, "ca:manage");
  return { ca, serial, origin: call.origin, mayManageCa };
}

function caOf(ca: CaRecord | undefined): CaRecord {
  assert(ca !== undefined, "an operation on a CA is authorized for one");
  return ca;
}

function resultJson(result: RevocationResult) {
  const { status, serial, revokedAt, reason } = result;
  if (revokedAt === undefined) return { status, serial };
  return { status, serial, revoked_at: timestamp(revokedAt), reason };
}

const recordJson = (record: RevocationRecord) => ({
  ca_id: record.caId,
  serial: record.serial,
  revoked_at: timestamp(record.revokedAt),
  revocation_reason: revocationReasons[record.reason],
  reason: record.reason,
  known: record.known,
  revocation_seq: record.sequence,
});

const serial = parsed({ type: "string" }, parseSerial);
const reason = otherwise(
  parsed({ type: "string", enum: Object.keys(revocationReasons) }, parseReason),
  "unspecified",
);
