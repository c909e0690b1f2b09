/** Who acts when the clock calls: written into events as `system:<job>`. */

import { systemPrincipal } from "#core/access/principal.ts";
import type { Origin } from "#domain/actor.ts";

/** The origin of a job's changes: no address, no request. */
export const systemOrigin = (job: string): Origin => ({
  principal: systemPrincipal(job),
  ip: "",
  requestId: "",
});
