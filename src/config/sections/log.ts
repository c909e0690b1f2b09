/** Settings of the log and the access log. */

import { count, flag, path, word, written } from "#config/fields.ts";
import { derived, section } from "#config/section.ts";

/** The keys under `log`. */
export const log = section("Log", {
  level: word("Least severe entry written.", ["debug", "info", "warn", "error"], "info"),
  format: word("Form of an entry; on a terminal it is always text.", ["json", "text"], "json"),
});

/** The keys under `access_log`. */
export const accessLog = section("Access log", {
  enabled: flag("Record every request, also unauthenticated ones.", true),
  path: written(
    "file",
    path(
      "File of the access log with SQLite; rows may be lost, and the file removed, without harm to anything else.",
      derived("`<data_dir>/access-log.db`", (of) =>
        of("database.driver") === "sqlite" ? `${of("data_dir")}/access-log.db` : undefined,
      ),
    ),
  ),
  retention_days: count("Days the access log is kept.", 30, { min: 1 }),
});
