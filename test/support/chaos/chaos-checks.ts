/** What must hold of the database after any number of kills, asked of the file itself. */

import { Database } from "bun:sqlite";

/**
 * Facts acknowledged to clients: serial → certificate (PEM) and its CA where it was said, and
 * serials acknowledged as revoked.
 */
export interface Acknowledged {
  readonly certificates: Map<string, { readonly pem: string; readonly ca: string | undefined }>;
  readonly revoked: Map<string, string>;
}

/**
 * Reads the stopped database directly: an answer the server cannot embellish. `logged` are the
 * serials that transparency logs were shown.
 */
export function storedChecks(file: string, told: Acknowledged, logged: readonly string[] = []) {
  // Nobody opens this file again: the indexes only make the questions below quick.
  const db = new Database(file);
  db.run("CREATE INDEX chaos_artifact ON ledger (artifact)");
  db.run("CREATE INDEX chaos_op ON ledger (op_id)");
  db.run("CREATE INDEX chaos_event ON events (serial)");
  db.run("CREATE INDEX chaos_serial ON certificates (serial)");
  const findings: string[] = [];
  const one = (sql: string, ...values: string[]) => db.query(sql).get(...values);
  for (const [serial, { pem }] of told.certificates) {
    const row = one("SELECT certificate, status FROM certificates WHERE serial = ?", serial) as {
      certificate: Uint8Array;
      status: string;
    } | null; // Columns as selected.
    const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64");
    if (row === null) findings.push(`certificate ${serial} was delivered and is not in inventory`);
    else if (!der.equals(row.certificate)) findings.push(`certificate ${serial} differs`);
    const issue = "SELECT seq FROM events WHERE action = 'cert.issue' AND serial = ?";
    if (one(issue, serial) === null) findings.push(`certificate ${serial} has no event`);
  }
  for (const serial of told.revoked.keys()) {
    if (one("SELECT serial FROM revocations WHERE serial = ?", serial) === null) {
      findings.push(`revocation of ${serial} was acknowledged and is lost`);
    }
  }
  for (const serial of logged) {
    if (one("SELECT serial FROM precertificates WHERE serial = ?", serial) === null) {
      findings.push(`a log has a precertificate of ${serial} that was not kept`);
    }
  }
  const count = (sql: string) => Number((one(sql) as { n: number }).n); // One row by construction.
  for (const [sentence, sql] of stored) {
    const n = count(sql);
    if (n !== 0) findings.push(`${n} × ${sentence}`);
  }
  const orphans = count("SELECT count(*) n FROM intents WHERE state = 'orphaned'");
  db.close();
  return { orphans, findings };
}

/** Sentences that must be false, each with the query that counts the rows it is true for. */
const stored: readonly (readonly [string, string])[] = [
  [
    "a stored certificate without exactly one successful ledger outcome",
    `SELECT count(*) n FROM certificates c WHERE c.kind = 'leaf' AND 1 <> (SELECT count(*) FROM ledger l
       WHERE l.kind = 'outcome' AND l.result = 'success' AND l.purpose = 'certificate' AND l.artifact = c.serial AND l.ca_id = c.ca_id)`,
  ],
  [
    "a successful leaf signature in the ledger without a stored certificate",
    `SELECT count(*) n FROM ledger l WHERE l.kind = 'outcome' AND l.result = 'success' AND l.purpose = 'certificate'
       AND NOT EXISTS (SELECT 1 FROM certificates c WHERE c.serial = l.artifact AND c.ca_id = l.ca_id)`,
  ],
  [
    "a ledger outcome without exactly one earlier intent of equal digest",
    `SELECT count(*) n FROM ledger o WHERE o.kind = 'outcome' AND 1 <> (SELECT count(*) FROM ledger i
       WHERE i.kind = 'intent' AND i.op_id = o.op_id AND i.digest = o.digest AND i.number < o.number)`,
  ],
  [
    "a ledger intent without outcome after a clean stop",
    `SELECT count(*) n FROM ledger i WHERE i.kind = 'intent'
       AND NOT EXISTS (SELECT 1 FROM ledger o WHERE o.kind = 'outcome' AND o.op_id = i.op_id)`,
  ],
  [
    // The successor's own certificate is closed in the ledger in the unit that supersedes the old
    // key and records that.
    "a leaf intended on a superseded key after its rotation",
    `SELECT count(*) n FROM ledger i JOIN cas old ON old.id = i.ca_id JOIN cas new ON new.id = old.successor
       JOIN ledger rotation ON rotation.kind = 'outcome' AND rotation.artifact = new.serial AND rotation.ca_id = new.parent
       WHERE i.kind = 'intent' AND i.purpose IN ('certificate', 'precertificate') AND i.number > rotation.number`,
  ],
  [
    "a rotated CA without exactly one event and one ledger entry of its rotation",
    `SELECT count(*) n FROM cas old JOIN cas new ON new.id = old.successor
       WHERE 1 <> (SELECT count(*) FROM events e WHERE e.action = 'ca.rotate' AND e.result = 'success' AND e.serial = new.serial)
       OR 1 <> (SELECT count(*) FROM ledger l WHERE l.kind = 'outcome' AND l.artifact = new.serial AND l.ca_id = new.parent)`,
  ],
  [
    "a revocation without an event",
    `SELECT count(*) n FROM revocations r WHERE NOT EXISTS (SELECT 1 FROM events e
       WHERE e.action = 'cert.revoke' AND e.result = 'success' AND e.serial = r.serial)`,
  ],
  [
    "a certificate event without a certificate",
    `SELECT count(*) n FROM events e WHERE e.action = 'cert.issue' AND e.result = 'success'
       AND NOT EXISTS (SELECT 1 FROM certificates c WHERE c.serial = e.serial)`,
  ],
  [
    "a serial that two certificates or two intents have",
    `SELECT (SELECT count(*) - count(DISTINCT serial) FROM certificates) + (SELECT count(*) - count(DISTINCT serial) FROM intents) n`,
  ],
  [
    "a certificate whose serial also came to nothing",
    `SELECT count(*) n FROM certificates c WHERE EXISTS (SELECT 1 FROM intents i WHERE i.ca_id = c.ca_id AND i.serial = c.serial)`,
  ],
  ["an intent that is open after a clean stop", "SELECT count(*) n FROM open_intents"],
  [
    "a kept precertificate that is neither a certificate nor a named leftover",
    `SELECT count(*) n FROM precertificates p WHERE NOT EXISTS (SELECT 1 FROM intents i WHERE i.ca_id = p.ca_id
       AND i.serial = p.serial AND i.state IN ('orphaned', 'abandoned')) AND NOT EXISTS (SELECT 1 FROM certificates c
       WHERE c.ca_id = p.ca_id AND c.serial = p.serial)`,
  ],
  [
    "a kept precertificate without exactly one successful ledger outcome",
    `SELECT count(*) n FROM precertificates p WHERE 1 <> (SELECT count(*) FROM ledger l WHERE l.kind = 'outcome'
       AND l.result = 'success' AND l.purpose = 'precertificate' AND l.artifact = p.serial AND l.ca_id = p.ca_id)`,
  ],
  [
    "a successful precertificate signature in the ledger that was not kept",
    `SELECT count(*) n FROM ledger l WHERE l.kind = 'outcome' AND l.result = 'success' AND l.purpose = 'precertificate'
       AND NOT EXISTS (SELECT 1 FROM precertificates p WHERE p.serial = l.artifact AND p.ca_id = l.ca_id)`,
  ],
  [
    "a logged certificate without its precertificate, or without the SCTs it embeds",
    `SELECT count(*) n FROM certificates c WHERE c.profile = 'logged' AND (NOT EXISTS (SELECT 1 FROM precertificates p
       WHERE p.ca_id = c.ca_id AND p.serial = c.serial) OR 2 <> (SELECT count(*) FROM ct_inclusions s
       WHERE s.ca_id = c.ca_id AND s.serial = c.serial))`,
  ],
  [
    "a name of a bulk item that was certified twice",
    `SELECT count(*) n FROM (SELECT 1 FROM certificates WHERE common_name LIKE 'bulk-%' GROUP BY common_name HAVING count(*) > 1)`,
  ],
  [
    "a bulk item without the certificate it became",
    `SELECT count(*) n FROM bulk_items b WHERE NOT EXISTS (SELECT 1 FROM certificates c WHERE c.ca_id = b.ca_id AND c.serial = b.serial)`,
  ],
];
