/** The frame of the console: who is logged in, where one can go, and the page the address means. */

import { useEffect, useState } from "preact/hooks";
import { CaPage } from "#web/pages/ca.tsx";
import { CasPage } from "#web/pages/cas.tsx";
import { EventsPage } from "#web/pages/events.tsx";
import { PasskeysPage } from "#web/pages/passkeys.tsx";
import { SessionsPage } from "#web/pages/sessions.tsx";
import { StatusPage } from "#web/pages/status.tsx";
import { LogIn } from "#web/ui/log-in.tsx";
import { StepUpDialog, useConfirmation } from "#web/ui/step-up.tsx";
import type { Credential } from "./api.ts";
import { useLogin } from "./login.ts";
import { hashOf, parseRoute, type Route } from "./routes.ts";

/** The whole console. What proves who one is lives in this component and goes with the tab. */
export function App() {
  const route = useRoute();
  const { asking, confirm } = useConfirmation();
  const { state, opened, apiTokenGiven, logOut } = useLogin(confirm);
  useEffect(() => {
    // Whoever is out confirms nothing any more, and the next one was not asked.
    if (state.kind === "out") asking?.settle(false);
  }, [state.kind, asking]);
  return (
    <>
      <header>
        <strong>pkid</strong>
        <nav aria-label="Pages">
          {places.map(({ page, name }) => (
            <a
              key={page}
              href={hashOf({ page })}
              aria-current={route.page === page ? "page" : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        {state.kind === "in" && (
          <span class="caller">
            {state.caller.name ?? state.caller.sub}{" "}
            <button type="button" onClick={logOut}>
              Log out
            </button>
          </span>
        )}
      </header>
      {asking && state.kind === "in" && (
        <StepUpDialog asking={asking} credential={state.credential} />
      )}
      <main>
        {route.page === "status" ? (
          <StatusPage />
        ) : state.kind === "in" ? (
          <Page route={route} credential={state.credential} />
        ) : state.kind === "out" ? (
          <LogIn notice={state.notice} onSession={opened} onApiToken={apiTokenGiven} />
        ) : (
          <p class="quiet">Asking…</p>
        )}
      </main>
    </>
  );
}

function Page({ route, credential }: { route: Route; credential: Credential }) {
  switch (route.page) {
    case "cas":
      return <CasPage credential={credential} />;
    case "ca":
      return <CaPage id={route.id} credential={credential} />;
    case "events":
      return <EventsPage credential={credential} />;
    case "sessions":
      return <SessionsPage credential={credential} />;
    case "passkeys":
      return <PasskeysPage credential={credential} />;
    case "status":
      return <StatusPage />;
  }
}

function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return parseRoute(hash);
}

const places = [
  { page: "status", name: "Status" },
  { page: "cas", name: "Certificate authorities" },
  { page: "events", name: "Audit events" },
  { page: "sessions", name: "Sessions" },
  { page: "passkeys", name: "Passkeys" },
] as const;
