/** Whether whoever is being answered piece by piece may still be, and where. */

import type { Reach } from "#core/access/principal.ts";
import type { Capability } from "#core/access/roles.ts";
import type { Origin } from "#domain/actor.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { GrantSource } from "./grants.ts";
import { Document } from "./outcome.ts";
import type { PrincipalNow } from "./principal-now.ts";
import { Rights } from "./rights.ts";
import type { Sessions } from "./sessions.ts";

/**
 * Where the capability is held by now, nowhere for none; undefined once the session that asked has
 * ended or its token has run out, once whoever it proved would not come in any more, and where the
 * capability is held nowhere.
 */
export type Stays = (
  origin: Origin,
  capability: Capability | undefined,
) => Promise<Reach | undefined>;

/** Builds it. */
export function stays(deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly sessions: Pick<Sessions, "byDigest">;
  readonly grants: GrantSource;
  readonly now: PrincipalNow;
}): Stays {
  const { store, clock, sessions, grants: source, now } = deps;
  return async ({ principal: then, session, until }, capability) => {
    if (until !== undefined && clock.now() >= until) return undefined;
    if (session !== undefined && sessions.byDigest(session.digest) === undefined) return undefined;
    const principal = await now(then);
    if (principal === undefined) return undefined;
    if (capability === undefined) return { tenants: [], cas: [] };
    const rights = new Rights({ principal, store, source });
    return (await rights.anywhere(capability)) ? await rights.reach(capability) : undefined;
  };
}

/**
 * The same document, which breaks off where its receiver may no longer have it: asked before a
 * piece, once a second at most. What is whole already is left as it is.
 */
export function whileStaying(
  document: Document,
  { clock, may }: { readonly clock: Clock; readonly may: () => Promise<boolean> },
): Document {
  const { content, type, fileName, fleeting } = document;
  if (typeof content === "string" || content instanceof Uint8Array || Array.isArray(content)) {
    return document;
  }
  const pieces = content as AsyncGenerator<Uint8Array>; // As nothing else is left.
  return new Document({
    content: cutOff(pieces, clock, may),
    type,
    ...(fileName !== undefined && { fileName }),
    ...(fleeting && { fleeting }),
  });
}

async function* cutOff(
  pieces: AsyncGenerator<Uint8Array>,
  clock: Clock,
  may: () => Promise<boolean>,
): AsyncGenerator<Uint8Array> {
  let asked = clock.now();
  try {
    for await (const piece of pieces) {
      const now = clock.now();
      if (now - asked >= askedEveryMs || now < asked) {
        asked = now;
        if (!(await may())) throw new Error("whoever was being answered may no longer be");
      }
      yield piece;
    }
  } finally {
    await pieces.return(undefined);
  }
}

const askedEveryMs = 1000;
