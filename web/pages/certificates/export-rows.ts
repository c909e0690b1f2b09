/** Reads the rows of an export: page after page of a CA, and CA after CA of every page of them. */

import type { Answers } from "#api/answers.ts";
import type { QueryChange } from "#web/address.ts";
import { ask, type Credential, type Reply, replied } from "#web/api.ts";
import { caPages } from "#web/ui/ca-pages.ts";
import type { Authority } from "./authorities.ts";
import { csvHead, csvRow } from "./csv.ts";

/** How far it is. */
export interface Export {
  readonly rows: number;
  /** Of the CAs that were looked in; undefined until one has answered. */
  readonly total: number | undefined;
  readonly looked: number;
  readonly cas: number;
  /** The labels of the CAs whose certificates the caller may not read. */
  readonly withheld: readonly string[];
  /** The first refusal: of one that withholds, or of what has stopped it. */
  readonly refused: Reply<unknown> | undefined;
  readonly end: "saved" | "stopped" | undefined;
}

export const startedExport: Export = {
  rows: 0,
  total: undefined,
  looked: 0,
  cas: 1,
  withheld: [],
  refused: undefined,
  end: undefined,
};

export interface Exporting {
  readonly ca: Authority | undefined;
  readonly tenant: string | undefined;
  readonly members: QueryChange;
  readonly credential: Credential;
  readonly signal: AbortSignal;
}

/**
 * Reads until everything has been looked at, the file is full or something fails. Behind the last
 * row that fits, CAs are still asked how many they have, so that the total is true.
 */
export async function takeEach(asking: Exporting, begun: Export, told: (now: Export) => void) {
  const { ca: only, signal } = asking;
  const lines = [csvHead()];
  let now = begun;
  const tell = (change: Partial<Export>) => {
    now = { ...now, ...change };
    told(now);
  };
  tell({});
  for await (const listed of casOf(asking)) {
    if (listed.kind !== "answered") return stopped(listed);
    tell({ cas: only === undefined ? listed.answer.total : 1 });
    for (const ca of listed.answer.items) {
      const before = now.total ?? 0;
      for await (const reply of certificatesOf(ca, asking, () => rowsMax + 1 - lines.length)) {
        if (reply.kind === "answered") {
          const { items, total } = reply.answer;
          lines.push(...items.slice(0, rowsMax + 1 - lines.length).map(csvRow));
          tell({ rows: lines.length - 1, total: before + total });
        } else if (only === undefined && isWithheld(reply)) {
          const { withheld, refused = reply } = now;
          tell({ withheld: withheld.concat(ca.label), refused });
        } else return stopped(reply);
      }
      tell({ looked: now.looked + 1 });
    }
  }
  const nothing = now.total === undefined && now.withheld.length > 0;
  if (!signal.aborted) tell({ end: nothing ? "stopped" : "saved", total: now.total ?? 0 });
  return { lines, ended: now };

  function stopped(refused: Reply<unknown>) {
    tell({ refused, end: "stopped" });
    return { lines, ended: now };
  }
}

type Listed = Pick<Answers["ca.list"], "items" | "total">;

/** The one, or every page of all of them. */
async function* casOf(asking: Exporting): AsyncGenerator<Reply<Listed>, undefined> {
  const { ca, tenant, credential, signal } = asking;
  if (ca !== undefined) yield { kind: "answered", answer: { items: [ca], total: 1 } };
  else yield* caPages({ tenant }, credential, signal);
  return undefined;
}

/** Pages until there is no more or no room; at least one, which says how many there are. */
async function* certificatesOf(
  { id }: Authority,
  { members, credential, signal }: Exporting,
  room: () => number,
): AsyncGenerator<Reply<Answers["cert.list"]>, undefined> {
  for (let cursor: string | undefined, more = true; more; ) {
    const limit = Math.min(500, Math.max(1, room()));
    const asked = { id, limit, ...members, cursor };
    const reply = await replied(ask("cert.list", asked, credential, signal));
    if (signal.aborted) return undefined;
    yield reply;
    more = reply.kind === "answered" && reply.answer.has_more && room() > 0;
    if (reply.kind === "answered") cursor = reply.answer.next_cursor;
  }
  return undefined;
}

const isWithheld = (reply: Reply<unknown>): boolean =>
  reply.kind === "refused" && (reply.refusal.status === 403 || reply.refusal.status === 404);

export const rowsMax = 10_000;
