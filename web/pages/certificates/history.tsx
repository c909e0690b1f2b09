/** What has happened to a certificate: the audit events that name it, newest first. */

import { hrefOf } from "#web/address.ts";
import { useAddress, useLive } from "#web/console.ts";
import { useRight } from "#web/rights.ts";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { EventDetail } from "#web/ui/event-detail.tsx";
import { plainText } from "#web/ui/plain.ts";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";
import type { Certificate } from "./authorities.ts";

/** The newest events; those to come appear by themselves. */
export function CertificateEvents({ certificate }: { readonly certificate: Certificate }) {
  const { ca_id: ca, serial } = certificate;
  const { query } = useAddress();
  const right = useRight("event.list", { caId: ca });
  const members = right.allowed ? { ca, serial, limit: eventsMax } : undefined;
  const { reply, refresh } = useAsked("event.list", members);
  useLive((event) => event.serial === serial && event.ca_id === ca, refresh);
  if (!right.allowed) return <p class="quiet">{right.reason}</p>;
  if (reply === undefined) return <Waiting />;
  if (reply.kind !== "answered") return <Outcome reply={reply} again={refresh} />;
  const { items, total } = reply.answer;
  if (items.length === 0) return <p class="quiet">No event names it.</p>;
  return (
    <>
      <ol class="plain events">
        {items.map((event) => (
          <li key={event.seq}>
            <div>
              <a href={hrefOf(["events", String(event.seq)], { tenant: query.tenant })}>
                {event.action}
              </a>{" "}
              <Status word={event.result} /> <Time at={event.timestamp} />
            </div>
            <div class="small">{plainText(event.actor_name ?? event.actor)}</div>
            {event.detail !== undefined && (
              <div class="small">
                <EventDetail text={event.detail} serial={serial} />
              </div>
            )}
          </li>
        ))}
      </ol>
      {total > items.length && (
        <p>
          <a href={hrefOf(["events"], { ca, serial, tenant: query.tenant })}>
            All {total.toLocaleString("en")} events
          </a>
        </p>
      )}
    </>
  );
}

const eventsMax = 50;
