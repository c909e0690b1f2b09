/** The live feed of audit events, as server-sent events (WHATWG HTML §9.2). */

import { addressKey } from "#core/address-key.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { integer, optional, otherwise, parsed, text, WrongValue } from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { Stream } from "#domain/access/outcome.ts";
import type { Rights } from "#domain/access/rights.ts";
import { anyScope } from "#domain/access/targets.ts";
import type { EventFeed } from "#domain/audit/feed/feed.ts";
import type { Reading } from "#domain/audit/feed/reader.ts";
import type { Told } from "#domain/audit/feed/told.ts";
import type { Origin } from "#domain/actor.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { actionField, eventJson } from "./audit.ts";
import { readableTenant } from "./pages.ts";

export interface EventStreamDeps {
  readonly store: Store;
  readonly feed: Pick<EventFeed, "read">;
}

/** Handler for `event.stream`. */
export function eventStreamHandlers({ store, feed }: EventStreamDeps) {
  const write = writer();
  return {
    "event.stream": operation({
      summary: "Audit events as they happen, from where the caller left off.",
      target: anyScope,
      input: {
        action: optional(actionField()),
        tenant: optional(text({ max: 64 })),
        last_event_id: optional(seqField()),
        heartbeat_seconds: otherwise(integer(1, 60), 15),
      },
      output: { media: [eventStream], streams: true },
      run: async ({ input, reach, origin, rights, standing }) => {
        const tenant = await readableTenant(store, input.tenant, reach);
        const source = await feed.read({
          filter: { reach, action: input.action, tenant },
          after: input.last_event_id,
          subject: origin.principal.subject,
          session: origin.session?.digest,
          tenant: await findTenant(origin, rights),
          block: origin.ip === "" ? undefined : addressKey(origin.ip),
          ...(await proofOf(origin, store)),
          standing,
          heartbeatSeconds: input.heartbeat_seconds,
        });
        return new Stream({ source, type: eventStream, write });
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

/** Returns the tenant that the caller is counted with; undefined for the whole instance. */
async function findTenant({ principal }: Origin, rights: Rights): Promise<string | undefined> {
  if (principal.isRoot || principal.roles.length > 0) return undefined;
  return Object.keys(principal.tenantRoles)[0] ?? (await rights.grants())[0]?.tenant;
}

/** How long what the caller showed is good, and what ends it sooner. */
async function proofOf(
  { principal, session, until }: Origin,
  { read }: Pick<Store, "read">,
): Promise<Pick<Reading, "shown" | "until">> {
  const { evidence, mechanism, subject } = principal;
  if (evidence?.kind === "certificate") {
    const shown = evidence.chain.map((der) => parseCertificate(Uint8Array.fromBase64(der)));
    const ends = shown.slice(0, 1).map(({ notAfter }) => notAfter);
    return { shown: shown.map(({ serial }) => serial), until: ends[0] };
  }
  if (mechanism !== "token") return { shown: [], until: session?.expiresAt ?? until };
  const token = await read.access.apiTokenById(subject.slice("token:".length));
  return { shown: [], until: token?.expiresAt };
}

/** The number of an event, in digits or as it is. */
function seqField() {
  const read = (given: string): number => {
    const seq = Number(given);
    if (!/^\d{1,16}$/.test(given) || !Number.isSafeInteger(seq)) {
      throw new WrongValue("must be the id of an event of this feed");
    }
    return seq;
  };
  const schema = { type: "string", pattern: "^[0-9]{1,16}$", examples: ["1234"] };
  return parsed(schema, read, String);
}

/**
 * Writes what is told. An event is written once, whoever reads it, and what many read together is
 * put together once.
 */
function writer(): (told: Told) => Uint8Array {
  const frames = new WeakMap<AuditEvent, Uint8Array>();
  const lists = new WeakMap<readonly AuditEvent[], Uint8Array>();
  const frameOf = (event: AuditEvent): Uint8Array =>
    remembered(frames, event, () =>
      utf8.encode(frame("audit", JSON.stringify(eventJson(event)), event.seq)),
    );
  return (told) => {
    switch (told.kind) {
      case "connected":
        // The id alone is no event, and tells where to go on (§9.2.6).
        return utf8.encode(
          `retry: 3000\n: connected\n\n${told.resumed ? "" : `id: ${told.lastSeq}\n\n`}`,
        );
      case "events":
        return remembered(lists, told.events, () => Buffer.concat(told.events.map(frameOf)));
      case "lag": {
        const lag = { dropped: told.dropped, last_seq: told.lastSeq };
        return utf8.encode(frame("lag", JSON.stringify(lag)));
      }
      case "heartbeat":
        return heartbeat;
      case "end":
        return utf8.encode(frame("end", JSON.stringify({ code: told.code })));
    }
  };
}

const frame = (event: string, text: string, id?: number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${text}\n\n`;

function remembered<K extends object>(
  known: WeakMap<K, Uint8Array>,
  key: K,
  write: () => Uint8Array,
): Uint8Array {
  const found = known.get(key) ?? write();
  known.set(key, found);
  return found;
}

const eventStream = "text/event-stream";
const utf8 = new TextEncoder();
const heartbeat = utf8.encode(": heartbeat\n\n");
