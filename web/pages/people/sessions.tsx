/** Who is logged in now, and the way to end a session. */

import { useState } from "preact/hooks";
import { hrefOf, hrefWith } from "#web/address.ts";
import { useConsole } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { useDialog } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Distance, Time } from "#web/ui/time.tsx";

type LiveSession = RowOf<"session.list">;

/** Needs the capability `session:manage` everywhere. */
export function SessionsPart() {
  // Another number makes another list, which asks again.
  const [round, setRound] = useState(0);
  const { open, close } = useDialog();
  return (
    <>
      <Heading name="Sessions" />
      <List
        key={round}
        name="session.list"
        members={{}}
        caption="Sessions of this server process, newest first"
        columns={columns}
        keyOf={({ id }) => id}
        live={["auth.login", "auth.logout"]}
        empty={
          <>
            <p>No person is logged in; API tokens and certificates open no session.</p>
            <a class="button" href={hrefOf(["events"], { action: "auth.login" })}>
              Who logged in before
            </a>
            <Copy text="pkid sessions list" name="command" />
          </>
        }
      />
      <p class="quiet small">Sessions live in the process that opened them; a restart ends all.</p>
      {open?.startsWith("end-") && (
        <Confirm
          operation="session.end"
          members={{ id: open.slice(4) }}
          title="End this session"
          does="End the session"
          onClose={close}
          onDone={() => {
            setRound((count) => count + 1);
            close();
          }}
        >
          <p>Its browser is logged out at once; whoever sits there can log in again.</p>
        </Confirm>
      )}
    </>
  );
}

const columns: readonly Column<LiveSession>[] = [
  {
    name: "Who",
    cell: ({ user_sub, name, current }) => `${name ?? user_sub}${current ? " (you)" : ""}`,
  },
  { name: "By", cell: ({ method }) => method },
  { name: "Address", cell: ({ ip }) => <span class="mono">{ip}</span> },
  {
    name: "Browser",
    wide: true,
    cell: ({ user_agent }) => <span title={user_agent}>{browserOf(user_agent)}</span>,
  },
  { name: "Since", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { name: "Last seen", wide: true, cell: ({ last_seen_at }) => <Distance at={last_seen_at} /> },
  { name: "Until", wide: true, cell: ({ expires_at }) => <Distance at={expires_at} /> },
  { name: "End", cell: (session) => <End session={session} /> },
];

/** The product that a browser is known by and its system; what is neither is shown as it came. */
function browserOf(userAgent: string): string {
  const product = products.find((name) => userAgent.includes(`${name}/`));
  if (product === undefined) return userAgent;
  const version = userAgent.split(`${product}/`)[1]?.match(/^\d+/)?.[0] ?? "";
  const system = systems.find((name) => userAgent.includes(name)) ?? "";
  const known = product === "Version" ? "Safari" : product === "Edg" ? "Edge" : product;
  return `${known} ${version} ${system}`.trim();
}

/** Each names those behind it as well, to be taken for them. */
const products = ["Edg", "OPR", "Firefox", "Chrome", "Version"] as const;
/** A telephone of one says that it is like another. */
const systems = ["Android", "iPhone", "iPad", "Windows", "Macintosh", "Linux"] as const;

/** One's own is ended by logging out, which also forgets it in the browser. */
function End({ session: { id, current } }: { readonly session: LiveSession }) {
  const { address, logOut } = useConsole();
  if (current) {
    return (
      <button type="button" class="button" onClick={logOut}>
        Log out here
      </button>
    );
  }
  return (
    <Action
      operation="session.end"
      href={hrefWith(address, { dialog: `end-${id}` })}
      look="outlined"
    >
      End
    </Action>
  );
}
