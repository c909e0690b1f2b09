/** One event: what it says, the text that is hashed, and how it hangs in the chain. */

import { useEffect, useState } from "preact/hooks";
import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import type { FeedEvent } from "#web/feed.ts";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Copy, Fingerprint, Serial } from "#web/ui/copy.tsx";
import { EventDetail } from "#web/ui/event-detail.tsx";
import { Panel } from "#web/ui/layers.tsx";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";
import { hashedMembers, hashOf } from "./canonical.ts";

interface EventPanelProps {
  readonly seq: string;
  readonly closeHref: string;
}

/** The event of this number with its neighbours, as far as the caller may read them. */
export function EventPanel({ seq, closeHref }: EventPanelProps) {
  const number = /^\d{1,15}$/.test(seq) ? Number(seq) : undefined;
  const around = number === undefined ? undefined : { before_seq: number + 2, limit: 3 };
  const { reply, refresh } = useAsked("event.list", around);
  if (number === undefined) return <Missing closeHref={closeHref} />;
  if (reply === undefined) return <Waiting />;
  if (reply.kind !== "answered") return <Outcome reply={reply} again={refresh} />;
  const { items } = reply.answer;
  const event = items.find((one) => one.seq === number);
  if (event === undefined) return <Missing closeHref={closeHref} />;
  return (
    <Shown
      key={number}
      event={event}
      before={items.find((one) => one.seq === number - 1)}
      after={items.find((one) => one.seq === number + 1)}
      closeHref={closeHref}
    />
  );
}

const Missing = ({ closeHref }: { readonly closeHref: string }) => (
  <Panel title="No such event" closeHref={closeHref}>
    <p>There is none of this number that you may read.</p>
  </Panel>
);

interface ShownProps {
  readonly event: FeedEvent;
  readonly before: FeedEvent | undefined;
  readonly after: FeedEvent | undefined;
  readonly closeHref: string;
}

function Shown({ event, before, after, closeHref }: ShownProps) {
  return (
    <Panel title={event.action} closeHref={closeHref}>
      <p>
        <Status word={event.result} /> <Time at={event.timestamp} />
      </p>
      <dl>
        <dt>Who</dt>
        <dd>
          {event.actor_name ? `${event.actor_name} (${event.actor})` : event.actor}
          {event.actor_roles && <span class="quiet"> as {event.actor_roles}</span>}
        </dd>
        <On event={event} />
        <Member name="Tenant" value={event.tenant} />
        <Member name="From" value={event.ip} />
        {event.request_id && (
          <>
            <dt>Request</dt>
            <dd>
              <Copy text={event.request_id} name="request id" />
            </dd>
          </>
        )}
      </dl>
      {event.detail && <EventDetail text={event.detail} serial={event.serial} />}
      <Chain event={event} before={before} after={after} />
      <details>
        <summary>The text that is hashed</summary>
        <dl class="mono">
          <dt>seq</dt>
          <dd>{event.seq}</dd>
          {hashedMembers.map((name) => (
            <Member key={name} name={name} value={event[name]} />
          ))}
        </dl>
      </details>
    </Panel>
  );
}

function Member({ name, value }: { readonly name: string; readonly value: string | undefined }) {
  if (value === undefined || value === "") return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

/** What it was done to, as a link where the console has a page for it. */
function On({ event: { ca_id, serial, target, target_name, action } }: Pick<ShownProps, "event">) {
  const href =
    ca_id !== undefined && serial !== undefined
      ? hrefOf(["certificates", ca_id, serial])
      : ca_id !== undefined
        ? hrefOf(["authorities", ca_id])
        : /\.(pending|approved|rejected)$/.test(action) && target !== undefined
          ? hrefOf(["approvals", target])
          : undefined;
  const isSerial = serial !== undefined && serial !== "";
  const name = target_name ?? target;
  // A certificate is told by its serial alone, which has a place of its own below.
  const shown = isSerial && name === serial ? "the certificate" : name;
  return (
    <>
      {shown !== undefined && (
        <>
          <dt>On</dt>
          <dd>{href === undefined ? shown : <a href={href}>{shown}</a>}</dd>
        </>
      )}
      {isSerial && (
        <>
          <dt>Serial</dt>
          <dd>
            <Serial serial={serial} />
          </dd>
        </>
      )}
    </>
  );
}

/** The hash is computed here, from what is shown, and held against what is stored. */
function Chain({ event, before, after }: Omit<ShownProps, "closeHref">) {
  const { query } = useAddress();
  const [computed, setComputed] = useState<string>();
  useEffect(() => void hashOf(event).then(setComputed), [event]);
  const isSound = computed === event.hash;
  const neighbour = (seq: number) => hrefOf(["events", String(seq)], query);
  return (
    <>
      <h3>In the chain</h3>
      <dl>
        <dt>Number</dt>
        <dd class="mono">{event.seq}</dd>
        <dt>Before</dt>
        <dd>
          <Fingerprint text={event.prev_hash} name="hash of the event before" />
          {before && (
            <Link
              href={neighbour(before.seq)}
              seq={before.seq}
              sound={before.hash === event.prev_hash}
            />
          )}
        </dd>
        <dt>Hash</dt>
        <dd>
          <Fingerprint text={event.hash} name="hash" />
          {computed !== undefined && (
            <Status word={isSound ? "valid" : "invalid"} tone={isSound ? "good" : "bad"} />
          )}
        </dd>
        <dt>After</dt>
        <dd>
          {after ? (
            <Link
              href={neighbour(after.seq)}
              seq={after.seq}
              sound={after.prev_hash === event.hash}
            />
          ) : (
            <span class="quiet">none that you may read</span>
          )}
        </dd>
      </dl>
    </>
  );
}

interface LinkProps {
  readonly href: string;
  readonly seq: number;
  readonly sound: boolean;
}

const Link = ({ href, seq, sound }: LinkProps) => (
  <p>
    <a href={href}>{seq}</a>{" "}
    <Status word={sound ? "linked" : "link broken"} tone={sound ? "good" : "bad"} />
  </p>
);
