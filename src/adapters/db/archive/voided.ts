/**
 * What an archive may not bring back of ACME (RES-2): nonces, which were used since or may have
 * been, and challenges with the leases on them, whose proofs were looked for at another time.
 */

import { changer, type Connection } from "#adapters/db/engine/connection.ts";
import { nonceEpochName, voidedProblem } from "#domain/acme/voided.ts";

/**
 * Within the caller's transaction, on a database of this binary's schema. Accounts, credentials,
 * valid authorizations, and orders that were ready or valid go on.
 */
export async function voidAcme(writer: Connection): Promise<void> {
  const problem = JSON.stringify(voidedProblem);
  await writer.run("delete from acme_nonces", []);
  const epoch = `insert into instance (name, value) values (%1, %2)
     on conflict (name) do update set value = excluded.value`;
  await changer(writer, epoch)([nonceEpochName, crypto.randomUUID()]);
  await changer(
    writer,
    "update acme_orders set status = 'invalid', error = %1 where status = 'pending'",
  )([problem]);
  await changer(
    writer,
    `update acme_challenges set status = 'invalid', error = %1
     where status in ('pending', 'processing')
     and authorization_id in (select id from acme_authorizations where status = 'pending')`,
  )([problem]);
  await writer.run("update acme_challenges set status = 'pending' where status = 'processing'", []);
  await writer.run(
    "update acme_challenges set next_at = null, owner = null, lease_until = null",
    [],
  );
  await writer.run(
    "update acme_authorizations set status = 'invalid' where status = 'pending'",
    [],
  );
}
