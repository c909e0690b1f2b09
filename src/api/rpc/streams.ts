/** THE REMOTE PROCEDURES THAT GO ON TELLING: each the twin of an operation that does. */

import { eventJson } from "#api/audit.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { refuse } from "#core/problems.ts";
import type { Message } from "#core/protobuf/schema.ts";
import { timestamp } from "#core/time.ts";
import type { Told } from "#domain/audit/feed/told.ts";
import type { RpcStreamMethod } from "#http/rpc/door.ts";
import type { Telling } from "#http/rpc/stream-frames.ts";

import { type PkiStream, pkiStreams } from "./messages.ts";

/** Every one of the service. */
export function rpcStreams(): Readonly<Record<PkiStream, RpcStreamMethod>> {
  const tell = teller();
  return {
    StreamEvents: {
      operation: "event.stream",
      messages: pkiStreams.StreamEvents,
      renamed: { last_event_id: "resume_from_seq" },
      ask: ({ action, tenant, resume_from_seq, heartbeat_seconds }) => ({
        action,
        tenant,
        last_event_id: resume_from_seq === undefined ? undefined : String(resume_from_seq),
        heartbeat_seconds,
      }),
      // What the twin's stream is made of.
      tell: (piece) => tell(piece as Told),
    },
  };
}

/** Puts what is told into messages, events that many read together once. */
function teller(): (told: Told) => Telling {
  const known = new WeakMap<readonly AuditEvent[], readonly Message[]>();
  const messagesOf = (events: readonly AuditEvent[]): readonly Message[] => {
    const messages = known.get(events) ?? events.map((event) => ({ event: eventJson(event) }));
    known.set(events, messages);
    return messages;
  };
  return (told) => {
    switch (told.kind) {
      case "connected":
      case "heartbeat": {
        const heartbeat = { time: timestamp(told.at), last_seq: told.lastSeq };
        return { messages: [{ heartbeat }] };
      }
      case "events":
        return { messages: messagesOf(told.events) };
      case "lag":
        return { messages: [{ lag: { dropped: told.dropped, last_seq: told.lastSeq } }] };
      case "end":
        return { ends: refuse(told.code) };
    }
  };
}
