/** Logging in with a password, logging out, and what a browser asks about its session. */

import { refuse } from "#core/problems.ts";
import {
  type Field,
  flag,
  oneOf,
  optional,
  readBody,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import type { DirectoryLogins } from "#domain/access/directory.ts";
import type { Logins, Opened, Visitor } from "#domain/access/logins.ts";
import { loginMethods, type Session } from "#domain/actor.ts";
import type { Sessions } from "#domain/access/sessions.ts";
import type { Clock } from "#domain/ports.ts";
import { jsonResponse } from "#http/answer.ts";
import { readJson } from "#http/body.ts";
import type { Cookies } from "#http/cookies.ts";
import { requireCsrfToken } from "#http/csrf.ts";
import { described, type PublicHandler, type PublicRequest } from "#http/public.ts";
import type { OperationName } from "#operations";
import { simpleChange, time } from "./shapes.ts";
import { userInfo, userShape } from "./user.ts";

export interface LoginHandlerDeps {
  readonly clock: Clock;
  readonly logins: Logins;
  /** Undefined while no directory is asked. */
  readonly directoryLogins: DirectoryLogins | undefined;
  readonly sessions: Sessions;
  readonly cookies: Cookies;
  readonly config: LoginConfig;
}

/** Which ways of logging in are switched on. */
export const loginConfigShape = shape({
  oidc_enabled: flag(),
  oidc_login_enabled: flag(),
  password_login: flag(),
  ldap_login: flag(),
  webauthn_enabled: flag(),
  issuer_url: optional(words()),
  client_id: optional(words()),
});
export type LoginConfig = ValueOf<typeof loginConfigShape>;

/** Handlers of what a person does before and after everything else. */
export function loginHandlers(deps: LoginHandlerDeps) {
  return {
    "auth.login_password": described((request) => passwordLogin(deps, request), {
      summary: "Open a session with root's password.",
      body: credentials,
      output: openedShape,
    }),
    "auth.login_ldap": described((request) => directoryLogin(deps, request), {
      summary: "Open a session with a name and password of the directory.",
      body: credentials,
      output: openedShape,
    }),
    "auth.logout": described((request) => logout(deps, request), {
      summary: "End the session and clear its cookies.",
      output: loggedOutShape,
    }),
    "auth.session": described(
      ({ request }) => jsonResponse(sessionJson(deps, liveSession(deps, request))),
      {
        summary: "Who the session's cookie stands for, and its CSRF token.",
        output: sessionShape,
      },
    ),
  } satisfies Partial<Record<OperationName, PublicHandler>>;
}

async function passwordLogin(deps: LoginHandlerDeps, asked: PublicRequest): Promise<Response> {
  const { username, password } = await readCredentials(asked);
  return welcomed(deps, await deps.logins.password(username, password, visitorOf(asked)));
}

async function directoryLogin(deps: LoginHandlerDeps, asked: PublicRequest): Promise<Response> {
  const { directoryLogins } = deps;
  if (directoryLogins === undefined) throw refuse("feature_disabled", { feature: "auth.ldap" });
  const { username, password } = await readCredentials(asked);
  return welcomed(deps, await directoryLogins.open(username, password, visitorOf(asked)));
}

async function readCredentials({ request }: PublicRequest) {
  const json = await readJson(request, bodyBytesMax);
  if (json === undefined) throw refuse("malformed_json");
  return readBody(credentials, json);
}

const openedShape = shape({ user: userShape, csrf_token: words(), expires_at: time });

/** The answer to a login over JSON: who one is, and the cookies of the session. */
export function welcomed(
  { cookies, clock }: Pick<LoginHandlerDeps, "cookies" | "clock">,
  { id, session }: Opened,
): Response {
  const { principal, csrfToken, expiresAt } = session;
  const body: ValueOf<typeof openedShape> = {
    user: userInfo(principal),
    csrf_token: csrfToken,
    expires_at: timestamp(expiresAt),
  };
  const seconds = Math.floor((expiresAt - clock.now()) / 1000);
  return jsonResponse(body, cookies.opened(id, csrfToken, seconds));
}

/** Where a login comes from, for the session and for events. */
export const visitorOf = ({ request, ip, requestId }: PublicRequest): Visitor => ({
  ip,
  requestId,
  userAgent: request.headers.get("user-agent") ?? "",
});

const loggedOutShape = simpleChange("logged_out");

/** Without a live session there is nothing to protect, and the cookies go all the same. */
async function logout(deps: LoginHandlerDeps, asked: PublicRequest): Promise<Response> {
  const { request, ip, requestId } = asked;
  const session = presented(deps, request);
  if (session !== undefined) {
    requireCsrfToken(request, session.csrfToken);
    await deps.logins.logout(session, { ip, requestId });
  }
  const body: ValueOf<typeof loggedOutShape> = { status: "logged_out" };
  return jsonResponse(body, deps.cookies.closed());
}

const sessionShape = shape({
  user: userShape,
  csrf_token: words(),
  method: oneOf(loginMethods),
  step_up: flag(),
  step_up_until: optional(time),
  webauthn: flag(),
  expires_at: time,
});

function sessionJson(
  { config, clock }: LoginHandlerDeps,
  session: Session,
): ValueOf<typeof sessionShape> {
  const { principal, csrfToken, method, stepUpUntil, expiresAt } = session;
  const stepUp = stepUpUntil !== undefined && stepUpUntil > clock.now();
  return {
    user: userInfo(principal),
    csrf_token: csrfToken,
    method,
    step_up: stepUp,
    ...(stepUp ? { step_up_until: timestamp(stepUpUntil) } : {}),
    webauthn: config.webauthn_enabled,
    expires_at: timestamp(expiresAt),
  };
}

function liveSession(deps: LoginHandlerDeps, request: Request): Session {
  const session = presented(deps, request);
  if (session === undefined) throw refuse("no_session");
  return session;
}

function presented({ cookies, sessions }: LoginHandlerDeps, request: Request) {
  const id = cookies.session(request.headers);
  return id === undefined ? undefined : sessions.find(id);
}

/** A password is any text at all; it is hashed, and kept nowhere. */
const word = (max: number): Field<string> => text({ max });
const credentials = { username: word(256), password: word(1024) };
const bodyBytesMax = 16_384;
