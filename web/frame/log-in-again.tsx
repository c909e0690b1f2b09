/** The login over a page whose session has ended: its person goes on there, others begin anew. */

import { useState } from "preact/hooks";
import type { Refusal } from "#web/api.ts";
import { type Caller, endedSession, type Login, type OpenedSession } from "#web/login.ts";
import { Refused } from "#web/ui/asked.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { SignIn } from "./sign-in.tsx";

interface LogInAgainProps {
  readonly login: Pick<Login, "opened" | "apiTokenGiven">;
  /** Whose page it is. */
  readonly caller: Caller;
  readonly byApiToken: boolean;
  /** Asks before something is lost that nobody can bring back; true to go on. */
  readonly mayLose: () => boolean;
}

/** Asks whoever is somebody else before the page goes, and what only it has goes with it. */
export function LogInAgain({ login, caller, byApiToken, mayLose }: LogInAgainProps) {
  const [left, setLeft] = useState<Refusal>();
  const mayGoOn = ({ sub }: Caller) => sub === caller.sub || mayLose();
  const opened = (session: OpenedSession) => {
    setLeft(undefined);
    if (mayGoOn(session.user)) login.opened(session);
    else void endedSession(session).then(setLeft);
  };
  const apiTokenGiven = (token: string, other: Caller) => {
    if (mayGoOn(other)) login.apiTokenGiven(token, other);
  };
  return (
    <Dialog title="Log in again">
      <p>
        {byApiToken
          ? "The API token is not accepted any more. Another one begins anew."
          : "Your session has ended. What you typed is still here."}
      </p>
      <SignIn login={{ opened, apiTokenGiven }} again />
      {left && (
        <>
          <p>The session that you did not go on with lives on in this browser.</p>
          <Refused refusal={left} />
        </>
      )}
      <div class="buttons">
        <button type="button" class="button plain" onClick={leaveAll}>
          Leave without logging in
        </button>
      </div>
    </Dialog>
  );
}

/** For whoever is not the one whose session it was. */
function leaveAll(): void {
  if (confirm("What was typed here is lost for good. Leave?")) location.reload();
}
