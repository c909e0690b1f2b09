/**
 * The ways to log in that the server offers: a password, a provider, or an API token kept in memory
 * and nowhere else.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { addressOf, ask, type Refusal, type Reply, replied } from "#web/api.ts";
import type { Caller, Login, OpenedSession } from "#web/login.ts";
import { rememberReturn } from "#web/remembered.ts";
import { Outcome, Refused } from "#web/ui/asked.tsx";

type LoginWays = Answers["auth.config"];

interface SignInProps {
  readonly login: Pick<Login, "opened" | "apiTokenGiven">;
  /** Over the page one was on, whose session has ended. */
  readonly again?: boolean;
}

/** Hands over a session the server has opened, or a token it has accepted. */
export function SignIn({ login, again = false }: SignInProps) {
  const [reply, setReply] = useState<Reply<LoginWays>>();
  useEffect(() => {
    if (!again) document.title = "Log in · pkid";
    const stop = new AbortController();
    void replied(ask("auth.config", {}, undefined, stop.signal)).then((come) => {
      if (!stop.signal.aborted) setReply(come);
    });
    return () => stop.abort();
  }, [again]);
  const ways = reply?.kind === "answered" ? reply.answer : undefined;
  const inside = (
    <>
      <Outcome reply={reply} />
      {ways && again && <AtProviderBeside ways={ways} onSession={login.opened} />}
      {ways && !again && <AtProvider ways={ways} />}
      {ways && <ByPassword ways={ways} onSession={login.opened} />}
      <details>
        <summary>Use an API token</summary>
        <ByApiToken onApiToken={login.apiTokenGiven} />
      </details>
    </>
  );
  if (again) return inside;
  return (
    <main class="sign-in">
      <p class="mark">pkid</p>
      <h1>Log in</h1>
      {inside}
    </main>
  );
}

/**
 * A link and no request of our own: the browser goes to the provider and comes back with a cookie,
 * to where one was.
 */
function AtProvider({ ways }: { readonly ways: LoginWays }) {
  if (!ways.oidc_login_enabled) return null;
  return (
    <p>
      <a
        class="button primary"
        href={addressOf("auth.login")}
        onClick={() => rememberReturn(location.pathname + location.search)}
      >
        Log in with {providerOf(ways)}
      </a>
    </p>
  );
}

interface AtProviderBesideProps {
  readonly ways: LoginWays;
  readonly onSession: (session: OpenedSession) => void;
}

/**
 * The same in a window of its own, for what was typed and the keys made here go with this one. The
 * provider cuts the windows apart, so only the server can tell that the session is there.
 */
function AtProviderBeside({ ways, onSession }: AtProviderBesideProps) {
  const [waiting, setWaiting] = useState(false);
  useEffect(() => {
    if (!waiting) return;
    const stop = new AbortController();
    const look = async () => {
      const reply = await replied(ask("auth.session", {}, undefined, stop.signal));
      if (stop.signal.aborted || reply.kind !== "answered") return;
      // It is handed over once: whoever does not go on with it is not asked about it again.
      stop.abort();
      setWaiting(false);
      onSession(reply.answer);
    };
    const timer = setInterval(() => void look(), lookAgainMs);
    // A browser slows the clock of a window that nobody sees.
    addEventListener("focus", look);
    return () => {
      clearInterval(timer);
      removeEventListener("focus", look);
      stop.abort();
    };
  }, [waiting, onSession]);
  if (!ways.oidc_login_enabled) return null;
  return (
    <>
      <p>
        <a
          class="button primary"
          href={addressOf("auth.login")}
          target="_blank"
          rel="noopener"
          onClick={() => setWaiting(true)}
        >
          Log in with {providerOf(ways)}
          <span class="unseen"> in a new window</span>
        </a>
      </p>
      {waiting && (
        <p class="quiet" role="status">
          Log in in the window that has opened, close it, and go on here.
        </p>
      )}
    </>
  );
}

/** Often enough to seem at once, and no more than a server takes from many that wait. */
const lookAgainMs = 2_000;

function providerOf({ issuer_url }: LoginWays): string {
  if (issuer_url === undefined || !URL.canParse(issuer_url)) return "your provider";
  return new URL(issuer_url).host || "your provider";
}

type PasswordLogin = "auth.login_ldap" | "auth.login_password";

interface ByPasswordProps {
  readonly onSession: (session: OpenedSession) => void;
  readonly ways: LoginWays;
}

/** Where a directory is asked, most people have their password there; root's is kept here. */
function ByPassword({ ways: { password_login, ldap_login }, onSession }: ByPasswordProps) {
  const [keeper, setKeeper] = useState<PasswordLogin>(
    ldap_login ? "auth.login_ldap" : "auth.login_password",
  );
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const submit = async () => {
    const asked = ask(keeper, { username, password }, undefined, AbortSignal.timeout(30_000));
    const reply = await replied(asked);
    if (reply.kind === "answered") onSession(reply.answer);
    else if (reply.kind === "refused") setRefusal(reply.refusal);
  };
  if (!password_login && !ldap_login) return null;
  return (
    <Form onSubmit={submit} refusal={refusal}>
      {password_login && ldap_login && (
        <label>
          Account
          <select
            value={keeper}
            onChange={({ currentTarget }) =>
              setKeeper(
                currentTarget.value === "auth.login_ldap"
                  ? "auth.login_ldap"
                  : "auth.login_password",
              )
            }
          >
            <option value="auth.login_ldap">Directory</option>
            <option value="auth.login_password">Built-in administrator</option>
          </select>
        </label>
      )}
      <label>
        User name
        <input
          autocomplete="username"
          required
          value={username}
          onInput={(event) => setUsername(event.currentTarget.value)}
        />
      </label>
      <label>
        Password
        <input
          type="password"
          autocomplete="current-password"
          required
          value={password}
          onInput={(event) => setPassword(event.currentTarget.value)}
        />
      </label>
    </Form>
  );
}

interface ByApiTokenProps {
  readonly onApiToken: (token: string, caller: Caller) => void;
}

function ByApiToken({ onApiToken }: ByApiTokenProps) {
  const [token, setApiToken] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const submit = async () => {
    // One that is only tried has nothing to end.
    const credential = { kind: "token", token, onEnd: () => undefined } as const;
    const reply = await replied(ask("auth.me", {}, credential, AbortSignal.timeout(10_000)));
    if (reply.kind === "answered") onApiToken(token, reply.answer);
    else if (reply.kind === "refused") setRefusal(reply.refusal);
  };
  return (
    <>
      <Form onSubmit={submit} refusal={refusal}>
        <label>
          API token
          <input
            type="password"
            autocomplete="off"
            required
            value={token}
            onInput={(event) => setApiToken(event.currentTarget.value.trim())}
          />
        </label>
      </Form>
      <p class="quiet">The token is forgotten when this tab is closed or reloaded.</p>
    </>
  );
}

interface FormProps {
  readonly onSubmit: () => Promise<void>;
  readonly refusal: Refusal | undefined;
  readonly children: ComponentChildren;
}

function Form({ onSubmit, refusal, children }: FormProps) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void onSubmit();
  };
  return (
    <>
      <form onSubmit={submit}>
        {children}
        <button type="submit" class="button primary">
          Log in
        </button>
      </form>
      {refusal && <Refused refusal={refusal} />}
    </>
  );
}
