/** Who is logged in now, and the way to end a session. */

import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { ask, type Credential, type Refusal } from "#web/api.ts";
import { Pages, Refused, replied } from "#web/ui/asked.tsx";
import { type Column, Table, Time } from "#web/ui/table.tsx";

type LiveSession = Answers["session.list"]["items"][number];

/** Needs the capability `session:manage` everywhere. */
export function SessionsPage({ credential }: { readonly credential: Credential }) {
  // Another number makes another list, which asks again.
  const [round, setRound] = useState(0);
  const [refusal, setRefusal] = useState<Refusal>();
  const end = async (id: string) => {
    const asked = ask("session.end", { id }, credential, AbortSignal.timeout(10_000));
    const reply = await replied(asked);
    setRefusal(reply.answered ? undefined : reply.refusal);
    setRound((before) => before + 1);
  };
  return (
    <>
      <h1>Sessions</h1>
      {refusal && <Refused refusal={refusal} />}
      <Pages key={round} name="session.list" credential={credential}>
        {({ items }) => (
          <Table
            caption="Of this server process, newest first."
            empty="Nobody is logged in."
            columns={columnsOf(end)}
            rows={items}
            keyOf={({ id }) => id}
          />
        )}
      </Pages>
    </>
  );
}

const columnsOf = (end: (id: string) => Promise<void>): readonly Column<LiveSession>[] => [
  { name: "Who", cell: ({ user_sub, name }) => name ?? user_sub },
  { name: "By", cell: ({ method }) => method },
  { name: "Address", cell: ({ ip }) => <span class="mono">{ip}</span> },
  { name: "Since", cell: ({ created_at }) => <Time at={created_at} /> },
  { name: "Last seen", cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
  { name: "Until", cell: ({ expires_at }) => <Time at={expires_at} /> },
  {
    name: "End",
    cell: ({ id, current }) => (
      <button
        type="button"
        disabled={current}
        title={current ? "This is your own session: log out instead." : undefined}
        onClick={() => void end(id)}
      >
        End
      </button>
    ),
  },
];
