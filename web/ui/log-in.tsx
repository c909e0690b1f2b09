/**
 * The ways to log in that the server offers: a password, a provider, or an API token kept in memory
 * and nowhere else.
 */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { addressOf, ask, type Refusal } from "#web/api.ts";
import type { Caller, OpenedSession } from "#web/login.ts";
import { Asked, Refused, replied } from "./asked.tsx";

type LoginWays = Answers["auth.config"];

interface LogInProps {
  /** Why one is here, when one was logged in before. */
  readonly notice: string | undefined;
  readonly onSession: (session: OpenedSession) => void;
  readonly onApiToken: (token: string, caller: Caller) => void;
}

/** Hands over a session the server has opened, or a token it has accepted. */
export function LogIn({ notice, onSession, onApiToken }: LogInProps) {
  return (
    <>
      <h1>Log in</h1>
      {notice !== undefined && <p role="status">{notice}</p>}
      <Asked name="auth.config" credential={undefined}>
        {(ways) => (
          <>
            <AtProvider ways={ways} />
            <ByPassword ways={ways} onSession={onSession} />
          </>
        )}
      </Asked>
      <details>
        <summary>Use an API token</summary>
        <ByApiToken onApiToken={onApiToken} />
      </details>
    </>
  );
}

/**
 * A link and no request of our own: the browser goes to the provider and comes back with a cookie.
 */
function AtProvider({ ways: { oidc_login_enabled, issuer_url } }: { readonly ways: LoginWays }) {
  if (!oidc_login_enabled) return null;
  const provider = issuer_url !== undefined && URL.canParse(issuer_url) && new URL(issuer_url).host;
  return (
    <p>
      <a class="button" href={addressOf("auth.login")}>
        Log in with {provider || "your provider"}
      </a>
    </p>
  );
}

type PasswordLogin = "auth.login_ldap" | "auth.login_password";

interface ByPasswordProps extends Pick<LogInProps, "onSession"> {
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
    if (reply.answered) onSession(reply.answer);
    else setRefusal(reply.refusal);
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

function ByApiToken({ onApiToken }: Pick<LogInProps, "onApiToken">) {
  const [token, setApiToken] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const submit = async () => {
    const credential = { kind: "token", token } as const;
    const reply = await replied(ask("auth.me", {}, credential, AbortSignal.timeout(10_000)));
    if (reply.answered) onApiToken(token, reply.answer);
    else setRefusal(reply.refusal);
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
        <button type="submit">Log in</button>
      </form>
      {refusal && <Refused refusal={refusal} />}
    </>
  );
}
