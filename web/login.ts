/** Who is logged in, from the first look at the cookie to the end of the session. */

import { useCallback, useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { ask, type Credential, type Refusal, type Reply, replied } from "./api.ts";
import { serverNow } from "./server-clock.ts";

export type Caller = Answers["auth.me"];
/** What a login and a live session both tell. */
export type OpenedSession = Answers["auth.login_password"];

/**
 * `unknown` until the server has said whether the browser has a session, with what it said instead;
 * `lost` keeps who it was, so that what was typed stays until the same person is back.
 */
export type LoginState =
  | { readonly kind: "unknown"; readonly refusal?: Refusal }
  | { readonly kind: "out" }
  | {
      readonly kind: "in";
      readonly caller: Caller;
      readonly credential: Credential;
      /** End of the session, in milliseconds; undefined for an API token. */
      readonly endsAt?: number;
    }
  | { readonly kind: "lost"; readonly caller: Caller; readonly credential: Credential };

export interface Login {
  readonly state: LoginState;
  readonly opened: (session: OpenedSession) => void;
  readonly apiTokenGiven: (token: string, caller: Caller) => void;
  readonly logOut: () => void;
  /** Asks at once whether there is a session, where the server did not say. */
  readonly askAgain: () => void;
  /** Why somebody who wanted out is still in: the session lives on. */
  readonly kept: Refusal | undefined;
  readonly stay: () => void;
}

/** What the server says of the session of this browser. */
export type Look = Promise<Reply<OpenedSession>>;

/** Asks whether the browser has a session; the cookie says it, and nobody else can. */
export const lookForSession = (signal: AbortSignal = new AbortController().signal): Look =>
  replied(ask("auth.session", {}, undefined, signal));

/**
 * `confirm` is asked by what needs a passkey; `first` was asked before anything was drawn. Asks
 * whether the browser has a session until the server says so, and notices when it ends.
 */
export function useLogin(confirm: (operation: string) => Promise<boolean>, first: Look): Login {
  const [state, setState] = useState<LoginState>({ kind: "unknown" });
  const [kept, setKept] = useState<Refusal>();
  const opened = useCallback(
    ({ user, csrf_token, expires_at }: OpenedSession) => {
      const credential: Credential = {
        kind: "session",
        csrfToken: csrf_token,
        onEnd: () => setState(endLogin(credential)),
        confirm,
      };
      setState({ kind: "in", caller: user, credential, endsAt: Date.parse(expires_at) });
    },
    [confirm],
  );
  const unknown = useCallback((refusal: Refusal) => setState({ kind: "unknown", refusal }), []);
  const out = useCallback(() => setState({ kind: "out" }), []);
  const askAgain = useFirstLook({ opened, out, unknown, isOver: state.kind !== "unknown", first });
  useEffect(() => {
    if (state.kind !== "in" || state.endsAt === undefined) return;
    const { credential, endsAt } = state;
    const timer = setTimeout(credential.onEnd, Math.min(endsAt - serverNow(), longestTimer));
    return () => clearTimeout(timer);
  }, [state]);
  const apiTokenGiven = (token: string, caller: Caller) => {
    const onEnd = () => setState(endLogin(credential));
    const credential: Credential = { kind: "token", token, onEnd };
    setState({ kind: "in", caller, credential });
  };
  const logOut = () =>
    void leave(state).then((refusal) => {
      setKept(refusal);
      if (refusal === undefined) setState({ kind: "out" });
    });
  return { state, opened, apiTokenGiven, logOut, askAgain, kept, stay: () => setKept(undefined) };
}

/**
 * Returns the change of state at the end of a credential. A refusal of an old credential may arrive
 * after the next login and does not end that one.
 */
const endLogin =
  (ended: Credential) =>
  (state: LoginState): LoginState =>
    state.kind === "in" && state.credential === ended
      ? { kind: "lost", caller: state.caller, credential: ended }
      : state;

interface FirstLook {
  readonly opened: (session: OpenedSession) => void;
  readonly out: () => void;
  readonly unknown: (refusal: Refusal) => void;
  readonly isOver: boolean;
  readonly first: Look;
}

/**
 * Asks whether the browser has a session. A server that cannot say so, being busy or away, has
 * ended none: it is asked again until it says yes or no. Gives what asks at once.
 */
function useFirstLook({ opened, out, unknown, isOver, first }: FirstLook): () => void {
  const [round, setRound] = useState(0);
  const next = useCallback(() => setRound((count) => count + 1), []);
  // Not after the first frame: there is nothing worth showing in it.
  useLayoutEffect(() => {
    if (isOver) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    void (round === 0 ? first : lookForSession(stop.signal)).then((reply) => {
      if (stop.signal.aborted) return;
      if (reply.kind === "answered") return opened(reply.answer);
      if (reply.kind !== "refused" || reply.refusal.status === 401) return out();
      unknown(reply.refusal);
      timer = setTimeout(next, againIn(reply.refusal));
    });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [opened, out, unknown, isOver, first, round, next]);
  return next;
}

/** When the server wants to be asked again, in milliseconds, or soon where it says nothing. */
const againIn = ({ facts: { retry_after } }: Refusal): number =>
  typeof retry_after === "number" ? Math.min(Math.max(retry_after, 1), 60) * 1000 : 5_000;

/**
 * A token is only forgotten; a session is ended on the server, or it would live on. Gives why that
 * came to nothing; a session that is gone already is ended.
 */
async function leave(state: LoginState): Promise<Refusal | undefined> {
  if (state.kind !== "in" || state.credential.kind === "token") return undefined;
  return ended(state.credential);
}

/** Ends one that was opened and is not gone on with. */
export const endedSession = ({ csrf_token }: OpenedSession): Promise<Refusal | undefined> =>
  ended({
    kind: "session",
    csrfToken: csrf_token,
    onEnd: () => undefined,
    confirm: async () => false,
  });

async function ended(credential: Credential): Promise<Refusal | undefined> {
  const asked = ask("auth.logout", {}, credential, AbortSignal.timeout(10_000));
  const reply = await replied(asked);
  return reply.kind === "refused" && reply.refusal.status !== 401 ? reply.refusal : undefined;
}

/** A longer timer of a browser ends at once. */
const longestTimer = 2_147_483_647;
