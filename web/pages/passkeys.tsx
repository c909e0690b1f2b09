/** The passkeys of the person: to look at, to add one, to remove one. */

import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { ask, type Credential, type Refusal } from "#web/api.ts";
import { registerPasskey } from "#web/passkeys.ts";
import { Asked, Refused, replied } from "#web/ui/asked.tsx";
import { type Column, Table, Time } from "#web/ui/table.tsx";

type Passkey = Answers["webauthn.list"]["items"][number];

/** For people in a session; an API token has no passkeys. */
export function PasskeysPage({ credential }: { readonly credential: Credential }) {
  // Another number makes another list, which asks again.
  const [round, setRound] = useState(0);
  const [name, setName] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const done = (refused: Refusal | undefined) => {
    setRefusal(refused);
    setRound((before) => before + 1);
  };
  const add = async () => {
    const refused = await registerPasskey(name, credential);
    if (refused === undefined) setName("");
    done(refused);
  };
  const remove = async (id: string) => {
    const signal = AbortSignal.timeout(10_000);
    const reply = await replied(ask("webauthn.remove", { id }, credential, signal));
    done(reply.answered ? undefined : reply.refusal);
  };
  return (
    <>
      <h1>Passkeys</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <label>
          Name{" "}
          <input
            required
            maxLength={64}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>{" "}
        <button type="submit">Add a passkey</button>
      </form>
      {refusal && <Refused refusal={refusal} />}
      <Asked key={round} name="webauthn.list" credential={credential}>
        {({ items }) => (
          <Table
            caption="With these you confirm what the server asks you to confirm."
            empty="You have no passkey."
            columns={columnsOf(remove)}
            rows={items}
            keyOf={({ id }) => id}
          />
        )}
      </Asked>
    </>
  );
}

const columnsOf = (remove: (id: string) => Promise<void>): readonly Column<Passkey>[] => [
  { name: "Name", cell: ({ name }) => name },
  { name: "Added", cell: ({ created_at }) => <Time at={created_at} /> },
  {
    name: "Last used",
    cell: ({ last_used_at }) => (last_used_at === undefined ? "never" : <Time at={last_used_at} />),
  },
  {
    name: "Remove",
    cell: ({ id }) => (
      <button type="button" onClick={() => void remove(id)}>
        Remove
      </button>
    ),
  },
];
