/** Settings of the database. */

import { count, word, written } from "#config/fields.ts";
import { secret } from "#config/secret-field.ts";
import { derived, section } from "#config/section.ts";

/** Keys that only PostgreSQL knows, with their defaults. */
export const postgresDefaults = {
  max_open_conns: 20,
  conn_max_lifetime_seconds: 1800,
  conn_max_idle_time_seconds: 300,
} as const;

/** The keys under `database`. */
export const database = section("Database", {
  driver: word("SQLite inside pkid, or PostgreSQL beside it.", ["sqlite", "postgres"], "sqlite"),
  dsn: written(
    "file",
    secret(
      "File of the SQLite database, or URL of the PostgreSQL database.",
      derived("`<data_dir>/pkid.db`", (of) =>
        of("database.driver") === "sqlite" ? `${of("data_dir")}/pkid.db` : undefined,
      ),
      { show: withoutCredentials },
    ),
  ),
  max_open_conns: count(
    "PostgreSQL connections that read, at most; one more writes, one listens, one watches, and up to four hold leases.",
    postgresDefaults.max_open_conns,
    {
      min: 1,
      max: 1000,
    },
  ),
  conn_max_lifetime_seconds: count(
    "Seconds after which a connection is replaced.",
    postgresDefaults.conn_max_lifetime_seconds,
    {
      min: 1,
    },
  ),
  conn_max_idle_time_seconds: count(
    "Seconds after which an idle connection is closed.",
    postgresDefaults.conn_max_idle_time_seconds,
    {
      min: 1,
    },
  ),
  busy_timeout_ms: count("Milliseconds to wait for a locked SQLite database.", 5000, { min: 1 }),
  min_free_mb: count(
    "Megabytes that must stay free beside the data directory; below it issuance is refused, revocation is not.",
    256,
  ),
});

/** A DSN as it may be shown: the password of a URL or of `key=value` text replaced. */
export function withoutCredentials(dsn: string): string {
  return dsn
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#]*?):[^/?#]*@/i, "$1:***@")
    .replace(/((?:^|[\s?&])(?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]*)/gi, "$1***");
}

/** True for an address the PostgreSQL driver can read. */
export function isPostgresUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) return false;
  try {
    const { username, password, pathname } = new URL(text);
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false; // An escape that is none: the driver would refuse it in its own words.
  }
}
