/** The frame around every page: search, what is live, where one can go, and who one is. */

import type { FunctionComponent } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { hrefOf } from "#web/address.ts";
import {
  type Console,
  ConsoleContext,
  type OnceShown,
  useBackAgain,
  useFeedState,
} from "#web/console.ts";
import { DecidableContext } from "#web/decidable.ts";
import type { PageProps } from "#web/page.ts";
import { type PageRow, pageOf, pages } from "#web/routes.tsx";
import { StaleReads } from "#web/stale.ts";
import { Waiting } from "#web/ui/asked.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Bell, useApprovals, waitingIn } from "./bell.tsx";
import { Footer } from "./footer.tsx";
import { useKeyboard } from "./keyboard.tsx";
import { LookSwitches } from "./look.tsx";
import { SearchBox } from "./search.tsx";
import { StaleNotice } from "./stale-notice.tsx";
import { OnceDialog, type ShownOnce } from "./shown-once.tsx";
import { TenantChoice } from "./tenant-choice.tsx";
import { noTenants, TenantsWatch } from "./tenants.tsx";

interface FrameProps extends Omit<Console, "tenants" | "moreTenants" | "stale" | "showOnce"> {
  readonly once: ShownOnce;
}

/** For a caller who is logged in. */
export function Frame({ caller, credential, feed, address, logOut, once }: FrameProps) {
  const [{ tenants, moreTenants }, setTenants] = useState(noTenants);
  const stale = useMemo(() => new StaleReads(), []);
  const { show, first: secret, kept } = once;
  // What asks has this function from where it asks, wherever one is when the secret comes.
  const showOnce = useCallback((shown: OnceShown) => show(shown, address), [show, address]);
  const known: Console = useMemo(
    () => ({
      caller,
      credential,
      feed,
      address,
      tenants,
      moreTenants,
      stale,
      showOnce,
      logOut,
    }),
    [caller, credential, feed, address, tenants, moreTenants, stale, showOnce, logOut],
  );
  return (
    <ConsoleContext.Provider value={known}>
      <TenantsWatch onKnown={setTenants} />
      <Around known={known} />
      {secret && <OnceDialog secret={secret} onKept={kept} />}
    </ConsoleContext.Provider>
  );
}

interface AroundProps {
  readonly known: Console;
}

/** What stands around the page that is open, and the page. */
function Around({ known }: AroundProps) {
  const { address } = known;
  const page = pageOf(address);
  const approvals = useApprovals();
  const waiting = waitingIn(approvals);
  return (
    <DecidableContext.Provider value={approvals}>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <TopBar known={known} waiting={waiting} />
      <div class="columns">
        <SideBar current={page} tenant={address.query.tenant} waiting={waiting} />
        <main id="main" tabIndex={-1}>
          <StaleNotice />
          {page === undefined ? <NoPage /> : <Loaded page={page} rest={address.path.slice(1)} />}
        </main>
      </div>
      <Footer page={page} />
    </DecidableContext.Provider>
  );
}

interface TopBarProps extends AroundProps {
  readonly waiting: string;
}

function TopBar({ known: { caller, tenants, address, logOut }, waiting }: TopBarProps) {
  const help = useKeyboard();
  return (
    <>
      <header class="top">
        <a class="mark" href={hrefOf([], { tenant: address.query.tenant })}>
          pkid
        </a>
        {tenants.length > 1 && <TenantChoice />}
        <SearchBox />
        <Live />
        <Bell waiting={waiting} />
        <LookSwitches />
        <button
          type="button"
          class="button plain wide"
          aria-label="Keyboard help"
          onClick={help.show}
        >
          ?
        </button>
        <span class="caller">{caller.name ?? caller.sub}</span>
        <button type="button" class="button plain" onClick={logOut}>
          Log out
        </button>
      </header>
      {help.dialog}
    </>
  );
}

function Live() {
  const state = useFeedState();
  const [sign, tone, words] = liveWords[state];
  return (
    <span class={`live ${tone}`} role="status">
      <span aria-hidden="true">{sign}</span> {words}
    </span>
  );
}

const liveWords = {
  connecting: ["◌", "quiet", "connecting"],
  live: ["●", "good", "live"],
  lost: ["○", "bad", "connection lost"],
  paused: ["◌", "quiet", "paused"],
  off: ["–", "quiet", "not live"],
} as const;

interface SideBarProps {
  readonly current: PageRow | undefined;
  readonly tenant: string | undefined;
  /** Requests that the caller may decide on. */
  readonly waiting: string;
}

function SideBar({ current, tenant, waiting }: SideBarProps) {
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    // In a narrow window it is a bar that shows a few pages at a time.
    const link = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (bar.current === null || link === null || link === undefined) return;
    bar.current.scrollLeft = link.offsetLeft - (bar.current.clientWidth - link.offsetWidth) / 2;
  }, [current]);
  return (
    <nav ref={bar} class="side" aria-label="Pages">
      {pages.map(({ segment, name }) => (
        <a
          key={segment}
          href={hrefOf(segment === "" ? [] : [segment], { tenant })}
          aria-current={current?.segment === segment ? "page" : undefined}
        >
          {name}
          {segment === "approvals" && waiting !== "0" && (
            <>
              {" "}
              <span class="count">{waiting}</span>
              <span class="unseen"> pending</span>
            </>
          )}
        </a>
      ))}
    </nav>
  );
}

interface LoadedProps {
  readonly page: PageRow;
  readonly rest: readonly string[];
}

/**
 * A page's file is asked for when the page is first opened, and again where it did not come: the
 * other pages, and what is typed on them, are there all the same.
 */
function Loaded({ page, rest }: LoadedProps) {
  const [drawn, setDrawn] = useState<{ page: PageRow; Page: FunctionComponent<PageProps> }>();
  const [failed, setFailed] = useState<PageRow>();
  const [round, setRound] = useState(0);
  const again = useCallback(() => setRound((count) => count + 1), []);
  // Before the frame is painted: a file that has come already is drawn with it.
  useLayoutEffect(() => {
    let current = true;
    page.load().then(
      (Page) => {
        if (!current) return;
        setFailed(undefined);
        setDrawn({ page, Page });
      },
      () => current && setFailed(page),
    );
    return () => {
      current = false;
    };
  }, [page, round]);
  useBackAgain(failed === page, again);
  if (failed === page) return <NotLoaded name={page.name} again={again} />;
  if (drawn?.page !== page) return <Waiting />;
  return <drawn.Page rest={rest} />;
}

interface NotLoadedProps {
  readonly name: string;
  readonly again: () => void;
}

/** After an upgrade the files of the page that is open are gone for good. */
const NotLoaded = ({ name, again }: NotLoadedProps) => (
  <>
    <Heading name={name} />
    <div class="notice warn" role="alert">
      <p>
        This page could not be loaded: the server does not answer, or pkid was upgraded. Loading the
        console anew takes with it what is typed and every key that was made here.
      </p>
      <div class="buttons">
        <button type="button" class="button" onClick={again}>
          Try again
        </button>
        <button type="button" class="button" onClick={() => location.reload()}>
          Load the console anew
        </button>
      </div>
    </div>
  </>
);

function NoPage() {
  return (
    <>
      <Heading name="There is no such page" />
      <p>
        <a href={hrefOf([])}>Go to the overview</a>
      </p>
    </>
  );
}
