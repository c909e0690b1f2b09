/** The console: who is logged in, the frame around the pages, and what lies over them. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { followLinks, useLocation, visit } from "./address.ts";
import type { Refusal } from "./api.ts";
import { Frame } from "#web/frame/frame.tsx";
import { LogInAgain } from "#web/frame/log-in-again.tsx";
import { useShownOnce } from "#web/frame/shown-once.tsx";
import { SignIn } from "#web/frame/sign-in.tsx";
import { StepUpDialog, useConfirmation } from "#web/ui/step-up.tsx";
import { Refused } from "#web/ui/asked.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { Feed } from "./feed.ts";
import { Keyring, KeyringContext, mayLose, useLeaveWarning } from "./keyring.ts";
import { type Login, type Look, useLogin } from "./login.ts";
import { takeReturn } from "./remembered.ts";
import { followLine, pauseUnseen } from "./unseen.ts";

interface AppProps {
  readonly look: Look;
}

/** The whole console. What proves who one is lives in this component and goes with the tab. */
export function App({ look }: AppProps) {
  const { asking, confirm } = useConfirmation();
  const login = useLogin(confirm, look);
  const { state } = login;
  useEffect(() => {
    document.addEventListener("click", followLinks);
    return () => document.removeEventListener("click", followLinks);
  }, []);
  useEffect(() => {
    // Whoever is out confirms nothing any more, and the next one was not asked.
    if (state.kind !== "in") asking?.settle(false);
  }, [state.kind, asking]);
  if (state.kind === "unknown") return <Beginning login={login} refusal={state.refusal} />;
  if (state.kind === "out") return <SignIn login={login} />;
  return (
    <>
      {/* Whoever comes back goes on with what was typed; somebody else begins anew. */}
      <Inside key={state.caller.sub} login={login} />
      {state.kind === "in" && login.kept && <StillIn login={login} refusal={login.kept} />}
      {asking && <StepUpDialog asking={asking} credential={state.credential} />}
    </>
  );
}

interface BeginningProps {
  readonly login: Login;
  readonly refusal: Refusal | undefined;
}

/** Before it is known whether there is a session, and why that takes so long. */
function Beginning({ login: { askAgain }, refusal }: BeginningProps) {
  if (refusal === undefined) return <p class="quiet alone">Asking…</p>;
  return (
    <main class="sign-in">
      <p class="mark">pkid</p>
      <h1>One moment</h1>
      <Refused refusal={refusal} />
      <p>Whether you are logged in is not known yet. It is asked again by itself.</p>
      <button type="button" class="button primary" onClick={askAgain}>
        Ask again
      </button>
    </main>
  );
}

interface StillInProps {
  readonly login: Login;
  readonly refusal: Refusal;
}

/** Nobody walks away from a session that they believe to be ended. */
function StillIn({ login: { logOut, stay }, refusal }: StillInProps) {
  return (
    <Dialog title="You are still logged in" onClose={stay}>
      <Refused refusal={refusal} />
      <p>Your session lives on in this browser until it is ended.</p>
      <div class="buttons">
        <button type="button" class="button plain" onClick={stay}>
          Stay
        </button>
        <button type="button" class="button primary" onClick={logOut}>
          Log out
        </button>
      </div>
    </Dialog>
  );
}

/** One person's, with the keys and secrets that only this tab has. */
function Inside({ login }: { readonly login: Login }) {
  const { state, logOut } = login;
  const address = useLocation();
  const keyring = useMemo(() => new Keyring(), []);
  const once = useShownOnce();
  useLeaveWarning(keyring);
  if (state.kind !== "in" && state.kind !== "lost") return null;
  const { caller, credential } = state;
  // Whoever logs in again is told what happened meanwhile.
  const before = useRef<Feed | undefined>(undefined);
  const feed = useMemo(() => new Feed(credential, before.current?.lastId), [credential]);
  before.current = feed;
  useEffect(() => () => feed.close(), [feed]);
  useEffect(() => pauseUnseen(feed), [feed]);
  useEffect(() => followLine(feed), [feed]);
  useEffect(() => {
    const back = takeReturn();
    if (back !== undefined) visit(back, { replace: true });
  }, []);
  return (
    <>
      <div inert={state.kind === "lost"}>
        <KeyringContext.Provider value={keyring}>
          <Frame
            caller={caller}
            credential={credential}
            feed={feed}
            address={address}
            once={once}
            logOut={() => mayLose(keyring, once.waiting, outQuestion) && logOut()}
          />
        </KeyringContext.Provider>
      </div>
      {state.kind === "lost" && (
        <LogInAgain
          login={login}
          caller={caller}
          byApiToken={credential.kind === "token"}
          mayLose={() => mayLose(keyring, once.waiting, otherQuestion)}
        />
      )}
    </>
  );
}

const outQuestion = "Log out and lose this for good?";
const otherQuestion = "You log in as somebody else, and this is lost for good. Go on?";
