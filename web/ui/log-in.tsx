/** Takes an API token and asks the server whose it is; the token is kept in memory and nowhere else. */

import { useState } from "preact/hooks";
import type { Caller } from "#web/answers.ts";
import { ask, type Refusal } from "#web/api.ts";
import { Refused, replied } from "./asked.tsx";

interface LogInProps {
  readonly onLogIn: (token: string, caller: Caller) => void;
}

/** A form that hands over a token the server has accepted. */
export function LogIn({ onLogIn }: LogInProps) {
  const [token, setToken] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const reply = await replied(ask("auth.me", {}, token, AbortSignal.timeout(10_000)));
    if (reply.answered) onLogIn(token, reply.answer);
    else setRefusal(reply.refusal);
  };
  return (
    <>
      <h1>Log in</h1>
      <form onSubmit={submit}>
        <label>
          API token
          <input
            type="password"
            autocomplete="off"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value.trim())}
          />
        </label>
        <button type="submit">Log in</button>
      </form>
      {refusal && <Refused refusal={refusal} />}
      <p class="quiet">The token is forgotten when this tab is closed or reloaded.</p>
    </>
  );
}
