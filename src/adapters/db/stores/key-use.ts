/** What a CA key was used for, but for one certificate of its own and those of its responders. */

import { and, eq, ne } from "drizzle-orm";

import type { CaId, Serial } from "#core/ids.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

/** Queries whose rows are such uses: certificates, what came to none, what is being signed. */
export function usesBeyond({ db, t }: Connection, ca: CaId, own: Serial | undefined) {
  const { certificates: c, intents: i, openIntents: o } = t;
  // An open row without serial is of no CA here, and no serial is empty.
  const other = own ?? "";
  return [
    db
      .select({ serial: c.serial })
      .from(c)
      .where(and(eq(c.caId, ca), ne(c.kind, "responder"), ne(c.serial, other))),
    db
      .select({ serial: i.serial })
      .from(i)
      .where(and(eq(i.caId, ca), ne(i.purpose, responder), ne(i.serial, other))),
    db
      .select({ serial: o.serial })
      .from(o)
      .where(and(eq(o.caId, ca), ne(o.purpose, responder), ne(o.serial, other))),
  ];
}

const responder = "responder_certificate";
