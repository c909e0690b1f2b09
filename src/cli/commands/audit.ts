/** `pkid audit`: reads, follows, verifies and exports the audit chain. */

import type { Command } from "#cli/command.ts";

import { auditExport } from "./audit-export.ts";
import { auditList } from "./audit-list.ts";
import { auditVerify } from "./audit-verify.ts";

export const auditVerbs: Readonly<Record<string, Command>> = {
  list: auditList,
  verify: auditVerify,
  export: auditExport,
};
