/** Settings of calls to other servers. */

import { existingFile } from "#config/fields.ts";
import { section } from "#config/section.ts";

/** The keys under `outbound`. */
export const outbound = section("Calls to other servers", {
  ca_file: existingFile("CA certificates trusted beside those of the system, PEM."),
});
