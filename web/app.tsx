/** The frame of the console: who is logged in, where one can go, and the page the address means. */

import { useEffect, useState } from "preact/hooks";
import { CaPage } from "#web/pages/ca.tsx";
import { CasPage } from "#web/pages/cas.tsx";
import { EventsPage } from "#web/pages/events.tsx";
import { StatusPage } from "#web/pages/status.tsx";
import { LogIn } from "#web/ui/log-in.tsx";
import type { Caller } from "./answers.ts";
import { hashOf, parseRoute, type Route } from "./routes.ts";

/** The whole console. The token lives in this component and goes with the tab. */
export function App() {
  const route = useRoute();
  const [login, setLogin] = useState<{ token: string; caller: Caller }>();
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
        {login && (
          <span class="caller">
            {login.caller.name ?? login.caller.sub}{" "}
            <button type="button" onClick={() => setLogin(undefined)}>
              Log out
            </button>
          </span>
        )}
      </header>
      <main>
        {route.page !== "status" && login === undefined ? (
          <LogIn onLogIn={(token, caller) => setLogin({ token, caller })} />
        ) : (
          <Page route={route} token={login?.token} />
        )}
      </main>
    </>
  );
}

function Page({ route, token }: { route: Route; token: string | undefined }) {
  switch (route.page) {
    case "cas":
      return <CasPage token={token} />;
    case "ca":
      return <CaPage id={route.id} token={token} />;
    case "events":
      return <EventsPage token={token} />;
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
] as const;
