/** Orders as they stand in their table. */

import type { OrderRecord } from "#domain/acme/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

type Row = Connection["t"]["acmeOrders"]["$inferSelect"];

/** The row of an order that nobody finalizes. */
export function rowOf(order: OrderRecord): Connection["t"]["acmeOrders"]["$inferInsert"] {
  const { replaces, certificate, error, expiresAt } = order;
  return {
    ...order,
    identifiers: JSON.stringify(order.identifiers),
    replacesCa: replaces?.caId ?? null,
    replacesSerial: replaces?.serial ?? null,
    endsAt: expiresAt,
    error: error === undefined ? null : JSON.stringify(error),
    certificateCa: certificate?.caId ?? null,
    certificateSerial: certificate?.serial ?? null,
  };
}

/** Only the writes of these stores fill the table, so its texts are what the record's type says. */
export function orderFrom(row: Row): OrderRecord {
  const { replacesCa, replacesSerial, certificateCa, certificateSerial, ...rest } = row;
  const { endsAt: _e, certificateNotAfter: _n, replacedBy: _r, owner: _o, claimedAt: _c } = rest;
  const { id, account, directory, tenant, caId, status, authorizations, profile } = rest;
  const { createdAt, expiresAt } = rest;
  const error: unknown = rest.error === null ? undefined : JSON.parse(rest.error);
  const identifiers: unknown = JSON.parse(rest.identifiers);
  return {
    id,
    account,
    directory,
    tenant,
    caId,
    status,
    identifiers,
    authorizations,
    profile,
    replaces: nameOf(replacesCa, replacesSerial),
    createdAt,
    expiresAt,
    error,
    certificate: nameOf(certificateCa, certificateSerial),
  } as OrderRecord; // See above.
}

const nameOf = (caId: string | null, serial: string | null) =>
  caId === null || serial === null ? undefined : { caId, serial };
