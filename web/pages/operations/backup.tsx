/** The last backup, whether it was tried, and how to make and try one. */

import { hrefOf } from "#web/address.ts";
import { Asked } from "#web/ui/asked.tsx";
import { Copy, Fingerprint } from "#web/ui/copy.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";

export function BackupPart() {
  return (
    <>
      <Heading name="Backup" />
      <Asked name="backup.status" live={["backup.*"]}>
        {({ backup, drill }) => (
          <div class="cards">
            <section class="card">
              <h2>Last backup</h2>
              {backup === undefined ? (
                <p>
                  <Status word="none" tone="bad" /> No backup was ever made.
                </p>
              ) : (
                <dl>
                  <dt>Made</dt>
                  <dd>
                    <Time at={backup.created_at} /> (<Distance at={backup.created_at} />)
                  </dd>
                  <dt>Archive</dt>
                  <dd>{backup.artifact}</dd>
                  <dt>Size</dt>
                  <dd>
                    {(backup.size / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB
                  </dd>
                  <dt>SHA-256</dt>
                  <dd>
                    <Fingerprint text={backup.sha256} name="digest" />
                  </dd>
                  <dt>Up to event</dt>
                  <dd>
                    <a href={hrefOf(["events", String(backup.seq)])}>{backup.seq}</a>
                  </dd>
                  <dt>Opened by</dt>
                  <dd>{backup.recipients.join(", ") || "a passphrase"}</dd>
                </dl>
              )}
              <Copy text="pkid backup create" name="command" />
            </section>
            <section class="card">
              <h2>Last drill</h2>
              {drill === undefined ? (
                <p>
                  <Status word="none" tone="warn" /> No backup was ever tried.
                </p>
              ) : (
                <dl>
                  <dt>Ended</dt>
                  <dd>
                    <Status word={drill.result} /> <Time at={drill.at} />
                  </dd>
                  <dt>Archive</dt>
                  <dd>{drill.artifact}</dd>
                  {drill.fault !== "" && (
                    <>
                      <dt>Why</dt>
                      <dd>{drill.fault}</dd>
                    </>
                  )}
                  <dt>Last success</dt>
                  <dd>
                    <Time at={drill.succeeded_at} />
                  </dd>
                </dl>
              )}
              <Copy text="pkid backup drill" name="command" />
            </section>
          </div>
        )}
      </Asked>
    </>
  );
}
