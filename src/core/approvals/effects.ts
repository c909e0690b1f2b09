/** Which event of a guarded operation tells that it was done. */

import type { Action } from "#core/audit/actions.ts";

/** One such event is made for each approval, in the unit that did it. */
export const effectActions: ReadonlySet<Action> = new Set([
  "ca.init_root",
  "ca.issue_intermediate",
  "ca.import_cert",
  "ca.cross_sign",
  "ca.rotate",
  "ca.retire",
  "cert.revoke_bulk",
  "acme.replace.plan",
  "kek.rotate",
  "token.create",
  "cert.issue",
  "cert.renew",
  "webauthn.remove",
]);
