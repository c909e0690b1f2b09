/** Sessions of everybody, for the admin who ends one, in JSON. */

import { flag, oneOf, optional, shape, text, type ValueOf, words } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { Logins } from "#domain/access/logins.ts";
import { loginMethods, type Session } from "#domain/actor.ts";
import type { Sessions } from "#domain/access/sessions.ts";
import type { OperationName } from "#operations";
import { listOf, pageFields, pageOf } from "./pages.ts";
import { simpleChange, time } from "./shapes.ts";
import { roleShapes } from "./user.ts";

export interface SessionHandlerDeps {
  readonly sessions: Sessions;
  readonly logins: Logins;
}

/** Handlers for `session.*`. */
export function sessionHandlers({ sessions, logins }: SessionHandlerDeps) {
  return {
    "session.list": operation({
      summary: "Live sessions of this process, newest first.",
      target: thePlatform,
      input: pageFields,
      output: listOf(sessionShape),
      run: async (call) => {
        const own = call.origin.session?.digest;
        return await pageOf("session.list", call, {}, sessionJson(own), async (limit, after) =>
          sessions.page(limit, after),
        );
      },
    }),
    "session.end": operation({
      summary: "End a session at once.",
      target: thePlatform,
      input: { id: text({ max: 64 }) },
      output: simpleChange("ended"),
      run: async (call) => {
        await logins.end(call.input.id, call.origin);
        return { status: "ended" as const };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const sessionShape = shape({
  id: words(),
  user_sub: words(),
  name: optional(words()),
  method: oneOf(loginMethods),
  ...roleShapes,
  ip: words(),
  user_agent: words(),
  created_at: time,
  last_seen_at: time,
  expires_at: time,
  step_up_until: optional(time),
  current: flag(),
});

const sessionJson =
  (own: string | undefined) =>
  (session: Session): ValueOf<typeof sessionShape> => {
    const { principal, stepUpUntil } = session;
    return {
      id: session.digest,
      user_sub: principal.subject,
      ...(principal.name === undefined ? {} : { name: principal.name }),
      method: session.method,
      roles: principal.roles,
      tenant_roles: principal.tenantRoles,
      ip: session.ip,
      user_agent: session.userAgent,
      created_at: timestamp(session.createdAt),
      last_seen_at: timestamp(session.lastSeenAt),
      expires_at: timestamp(session.expiresAt),
      ...(stepUpUntil === undefined ? {} : { step_up_until: timestamp(stepUpUntil) }),
      current: session.digest === own,
    };
  };
