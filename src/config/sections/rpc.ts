/** Settings of remote procedure calls. */

import { flag } from "#config/fields.ts";
import { section } from "#config/section.ts";

/** The keys under `rpc`. */
export const rpc = section("Remote procedure calls", {
  enabled: flag("Serve `/pki.v1.PKIService/*` on the main listener.", true),
});
