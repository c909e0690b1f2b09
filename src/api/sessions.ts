/** Sessions of everybody, for the admin who ends one, in JSON. */

import { text } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Handler, handler, ok } from "#domain/access/call.ts";
import type { Logins } from "#domain/access/logins.ts";
import type { Session } from "#domain/actor.ts";
import type { Sessions } from "#domain/access/sessions.ts";
import type { OperationName } from "#operations";
import { pageFields, pageOf } from "./pages.ts";

export interface SessionHandlerDeps {
  readonly sessions: Sessions;
  readonly logins: Logins;
}

/** Handlers for `session.*`. */
export function sessionHandlers({ sessions, logins }: SessionHandlerDeps) {
  return {
    "session.list": handler({
      summary: "Live sessions of this process, newest first.",
      query: pageFields,
      run: async (call) => {
        const own = call.origin.session?.digest;
        return ok(
          await pageOf("session.list", call, {}, sessionJson(own), async (limit, after) =>
            sessions.page(limit, after),
          ),
        );
      },
    }),
    "session.end": handler({
      summary: "End a session at once.",
      path: { id: text({ max: 64 }) },
      run: async (call) => {
        await logins.end(call.path.id, call.origin);
        return ok({ status: "ended" });
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

const sessionJson = (own: string | undefined) => (session: Session) => {
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
