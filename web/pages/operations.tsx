/** What whoever runs the instance looks at: checks, keys, publication, backups, jobs, settings. */

import { BlockedPart } from "#web/pages/operations/blocked.tsx";
import { BackupPart } from "#web/pages/operations/backup.tsx";
import { JobsPart } from "#web/pages/operations/jobs.tsx";
import { KeysPart } from "#web/pages/operations/keys.tsx";
import { LedgerPart } from "#web/pages/operations/ledger.tsx";
import { PreflightPart } from "#web/pages/operations/preflight.tsx";
import { PublicationPart } from "#web/pages/operations/publication.tsx";
import { SettingsPart } from "#web/pages/operations/settings.tsx";
import type { PageProps } from "#web/page.ts";
import { Parts } from "#web/ui/tabs.tsx";

/** The part that the segment behind `operations` names; preflight first. */
export function OperationsPage({ rest: [part = "preflight", ...rest] }: PageProps) {
  const Part = parts.find(({ segment }) => segment === part)?.Part;
  return (
    <Parts name="Operations" page="operations" tabs={parts} current={part}>
      {Part === undefined ? <p>There is no such part.</p> : <Part rest={rest} />}
    </Parts>
  );
}

const parts = [
  { segment: "preflight", name: "Preflight", Part: PreflightPart },
  { segment: "keys", name: "Keys", Part: KeysPart },
  { segment: "blocked", name: "Blocked keys", Part: BlockedPart },
  { segment: "ledger", name: "Sign ledger", Part: LedgerPart },
  { segment: "publication", name: "Publication", Part: PublicationPart },
  { segment: "backup", name: "Backup", Part: BackupPart },
  { segment: "jobs", name: "Jobs", Part: JobsPart },
  { segment: "settings", name: "Configuration", Part: SettingsPart },
] as const;
