/** Sealed values are envelopes for the place they lie in, under a KEK version that is known. */

import { parseEnvelope } from "#core/envelope.ts";

import type { Look } from "./look.ts";
import { asked, paged, textOf } from "./look-rows.ts";

/** Opens none: their keys are not here. */
export async function proveSealed(look: Look): Promise<void> {
  const { connection, proofs } = look;
  const { sealed } = proofs;
  const versions = await asked(connection, "select version, status, family from kek_versions");
  const families = new Map(versions.map(([version, , family]) => [Number(version), family]));
  const active = versions.filter(([, status]) => status === "active").length;
  if (versions.length > 0 && active !== 1) sealed.violated(`${active} KEK versions are active.`);
  for await (const page of paged(connection, everyValue, [""])) {
    for (const [key, version, text, secret, eab] of page) {
      sealed.checked += 1;
      const place = textOf(key);
      const envelope = parseEnvelope(textOf(text));
      if (envelope === undefined) sealed.violated(`The value at ${place} is no envelope.`);
      else if (envelope.context !== place)
        sealed.violated(`The value at ${place} was sealed for another place.`);
      else if (envelope.kekVersion !== Number(version)) {
        sealed.violated(`The value at ${place} is under another KEK version than its row says.`);
      } else if (families.get(envelope.kekVersion) !== envelope.kek) {
        sealed.violated(`The value at ${place} is under a KEK that is not known.`);
      }
      if (place.startsWith("approvals/") && secret !== "sealed") {
        sealed.violated(`The value at ${place} belongs to no approval that keeps a secret.`);
      }
      if (place.startsWith("acme_eabs/") && eab === null) {
        sealed.violated(`The value at ${place} belongs to no credential of ACME.`);
      }
    }
    look.advanced(page.length);
  }
  const lost = await asked(connection, lostSecrets);
  for (const [id] of lost) sealed.violated(`The secret of approval ${textOf(id)} is gone.`);
  const keyless = await asked(connection, lostKeys);
  for (const [id] of keyless) sealed.violated(`The key of credential ${textOf(id)} is gone.`);
}

const everyValue = `select s.place, s.kek_version, s.envelope, a.secret, e.id from sealed_values s
left join approvals a on s.place = 'approvals/secret/' || a.id
left join acme_eabs e on s.place = 'acme_eabs/hmac_key/' || e.id
where s.place > %1 order by s.place limit %2`;
const lostSecrets = `select a.id from approvals a where a.secret = 'sealed'
and not exists (select 1 from sealed_values s where s.place = 'approvals/secret/' || a.id) limit 100`;
/** That of a credential which was revoked is gone for good. */
const lostKeys = `select e.id from acme_eabs e where e.revoked_at is null
and not exists (select 1 from sealed_values s where s.place = 'acme_eabs/hmac_key/' || e.id) limit 100`;
