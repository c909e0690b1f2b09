/** A serial is used once under each key, also where nothing came of it (REC-1). */

import type { Look } from "./look.ts";
import { asked, textOf } from "./look-rows.ts";

/** Those of certificates are looked at with their rows. */
export async function proveSerials({ connection, proofs, from }: Look): Promise<void> {
  const { serials } = proofs;
  for (const [text, says] of twice) {
    const rows = await asked(connection, text, text.includes("%1") ? [from.ordinal] : []);
    for (const [serial, ca] of rows) {
      serials.violated(`Serial ${textOf(serial)} of CA ${textOf(ca)} ${says}.`);
    }
  }
}

/** Two CAs of one key are one issuer to whoever looks a serial up. */
// biome-ignore format: the table is read by column.
const twice: readonly (readonly [string, string])[] = [
  ["select c.serial, c.ca_id from certificates c where c.ordinal > %1 group by c.ca_id, c.serial having count(*) > 1 limit 100", "is there twice"],
  ["select i.serial, i.ca_id from intents i join certificates c on c.ca_id = i.ca_id and c.serial = i.serial limit 100", "was given up, and is a certificate's"],
  ["select o.serial, o.ca_id from open_intents o join certificates c on c.ca_id = o.ca_id and c.serial = o.serial where o.serial <> '' limit 100", "is open, and a certificate's"],
  ["select o.serial, o.ca_id from open_intents o join intents i on i.ca_id = o.ca_id and i.serial = o.serial where o.serial <> '' limit 100", "is open, and given up"],
  ["select c.serial, c.ca_id from cas a join cas b on b.spki = a.spki and b.id <> a.id join certificates c on c.ca_id = a.id join certificates d on d.ca_id = b.id and d.serial = c.serial limit 100", "is also another CA's of the same key"],
];
