/** WHAT THE SHELL CAN ASK FOR: every noun with its verbs. */

import type { Noun } from "./command.ts";
import { acmeVerbs } from "#cli/commands/acme.ts";
import { approvalVerbs } from "#cli/commands/approvals.ts";
import { auditVerbs } from "#cli/commands/audit.ts";
import { backupVerbs } from "#cli/commands/backup.ts";
import { caVerbs } from "#cli/commands/ca.ts";
import { canaryVerbs } from "#cli/commands/canary.ts";
import { certVerbs } from "#cli/commands/cert.ts";
import { completion } from "#cli/commands/completion.ts";
import { configVerbs } from "#cli/commands/config.ts";
import { crlVerbs } from "#cli/commands/crl.ts";
import { ctVerbs } from "#cli/commands/ct.ts";
import { dbVerbs } from "#cli/commands/db.ts";
import { dnsRecordsVerbs } from "#cli/commands/dns-records.ts";
import { grantVerbs } from "#cli/commands/grant.ts";
import { hsmVerbs } from "#cli/commands/hsm.ts";
import { importVerbs } from "#cli/commands/import.ts";
import { init } from "#cli/commands/init.ts";
import { blockVerbs } from "#cli/commands/keys.ts";
import { kekVerbs } from "#cli/commands/kek.ts";
import { inventoryVerbs } from "#cli/commands/inventory.ts";
import { keysInventory } from "#cli/commands/keys-inventory.ts";
import { man } from "#cli/commands/man.ts";
import { manual } from "#cli/commands/manual.ts";
import { metricsVerbs } from "#cli/commands/metrics.ts";
import { migrate } from "#cli/commands/migrate.ts";
import { monitorVerbs } from "#cli/commands/monitor.ts";
import { ocspVerbs } from "#cli/commands/ocsp.ts";
import { passkeysVerbs } from "#cli/commands/passkeys.ts";
import { preflight } from "#cli/commands/preflight.ts";
import { profileVerbs } from "#cli/commands/profile.ts";
import { publishVerbs } from "#cli/commands/publish.ts";
import { quickstart } from "#cli/commands/quickstart.ts";
import { restore } from "#cli/commands/restore.ts";
import { retentionVerbs } from "#cli/commands/retention.ts";
import { revokeVerbs } from "#cli/commands/revoke.ts";
import { serve } from "#cli/commands/serve.ts";
import { serviceVerbs } from "#cli/commands/service.ts";
import { sessionsVerbs } from "#cli/commands/sessions.ts";
import { supportBundle } from "#cli/commands/support-bundle.ts";
import { tenantVerbs } from "#cli/commands/tenant.ts";
import { verify } from "#cli/commands/verify.ts";
import { trustVerbs } from "#cli/commands/trust.ts";
import { apiTokenVerbs } from "#cli/commands/token.ts";

export const nouns: Readonly<Record<string, Noun>> = {
  quickstart,
  init,
  serve,
  service: { summary: "Have systemd run the server.", verbs: serviceVerbs },
  config: { summary: "Check, show and describe the configuration.", verbs: configVerbs },
  migrate,
  db: { summary: "The database.", verbs: dbVerbs },
  preflight,
  ca: { summary: "Certificate authorities.", verbs: caVerbs },
  import: { summary: "Come from another CA.", verbs: importVerbs },
  profile: { summary: "Certificate profiles.", verbs: profileVerbs },
  cert: { summary: "Certificates.", verbs: certVerbs },
  inventory: { summary: "All certificates together.", verbs: inventoryVerbs },
  revoke: { summary: "Revoke, suspend and release certificates.", verbs: revokeVerbs },
  crl: { summary: "Certificate revocation lists.", verbs: crlVerbs },
  ct: { summary: "Certificate transparency.", verbs: ctVerbs },
  ocsp: { summary: "Online certificate status.", verbs: ocspVerbs },
  acme: { summary: "Enrolment by ACME: who enrols, and for what.", verbs: acmeVerbs },
  trust: { summary: "CAs that this machine trusts.", verbs: trustVerbs },
  publish: { summary: "Artefacts for others to serve.", verbs: publishVerbs },
  metrics: { summary: "What watches it from outside.", verbs: metricsVerbs },
  monitor: { summary: "What is watched.", verbs: monitorVerbs },
  canary: { summary: "Probes that show that issuing and revoking works.", verbs: canaryVerbs },
  "dns-records": { summary: "DNS records that pin keys.", verbs: dnsRecordsVerbs },
  sessions: { summary: "People who are logged in.", verbs: sessionsVerbs },
  passkeys: { summary: "What people confirm with.", verbs: passkeysVerbs },
  token: { summary: "API tokens.", verbs: apiTokenVerbs },
  grant: { summary: "Roles on single CAs.", verbs: grantVerbs },
  tenant: { summary: "Tenants, their quotas and what they use.", verbs: tenantVerbs },
  approvals: { summary: "Operations that wait for other people.", verbs: approvalVerbs },
  audit: { summary: "The audit chain.", verbs: auditVerbs },
  keys: {
    summary: "Keys: what the key store holds, blocked ones, and the one that seals secrets.",
    verbs: {
      inventory: keysInventory,
      kek: { summary: "The key that seals secrets in the database.", verbs: kekVerbs },
      block: { summary: "Keys that are never certified again.", verbs: blockVerbs },
    },
  },
  hsm: { summary: "The key store.", verbs: hsmVerbs },
  verify,
  backup: { summary: "Archives of everything, and drills with them.", verbs: backupVerbs },
  restore,
  retention: { summary: "What leaves the inventory.", verbs: retentionVerbs },
  "support-bundle": supportBundle,
  manual,
  man: man(() => nouns),
  completion: completion(() => nouns),
};
