/** The last backup, whether it was tried, and how to make and try one. */

import type { Answers } from "#api/answers.ts";
import { hrefOf } from "#web/address.ts";
import { Asked } from "#web/ui/asked.tsx";
import { Copy, Fingerprint } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";

type BackupStatus = Answers["backup.status"];

export function BackupPart() {
  return (
    <>
      <Heading name="Backup" />
      <Asked name="backup.status" live={["backup.*"]}>
        {({ backup, drill }) => (
          <div class="cards">
            <section class="card">
              <h2>Last backup</h2>
              <LastBackup backup={backup} />
              <Copy text="pkid backup create" name="command" />
            </section>
            <section class="card">
              <h2>Last drill</h2>
              <LastDrill drill={drill} />
              <Copy text="pkid backup drill" name="command" />
            </section>
          </div>
        )}
      </Asked>
    </>
  );
}

function LastBackup({ backup }: Pick<BackupStatus, "backup">) {
  if (backup === undefined) {
    return (
      <p>
        <Status word="none" tone="bad" /> No backup was ever made.
      </p>
    );
  }
  const { created_at, artifact, size, sha256, seq, recipients } = backup;
  const megabytes = (size / 1e6).toLocaleString("en", { maximumFractionDigits: 1 });
  return (
    <Facts
      of={{
        Made: (
          <>
            <Time at={created_at} /> (<Distance at={created_at} />)
          </>
        ),
        Archive: artifact,
        Size: `${megabytes} MB`,
        "SHA-256": <Fingerprint text={sha256} name="digest" />,
        "Up to event": <a href={hrefOf(["events", String(seq)])}>{seq}</a>,
        "Opened by": recipients.join(", ") || "a passphrase",
      }}
    />
  );
}

function LastDrill({ drill }: Pick<BackupStatus, "drill">) {
  if (drill === undefined) {
    return (
      <p>
        <Status word="none" tone="warn" /> No backup was ever tried.
      </p>
    );
  }
  return (
    <Facts
      of={{
        Ended: (
          <>
            <Status word={drill.result} /> <Time at={drill.at} />
          </>
        ),
        Archive: drill.artifact,
        Why: drill.fault,
        "Last success": <Time at={drill.succeeded_at} />,
      }}
    />
  );
}
