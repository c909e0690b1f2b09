/** The passkeys of the person: to look at, to add one, to remove one. */

import { useState } from "preact/hooks";
import { hrefOf, hrefWith } from "#web/address.ts";
import type { Refusal } from "#web/api.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { registerPasskey } from "#web/passkeys.ts";
import { Asked, Refused, Withheld } from "#web/ui/asked.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Field } from "#web/ui/form.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { useDialog } from "#web/ui/layers.tsx";
import { type Column, type RowOf, Table } from "#web/ui/list.tsx";
import { Distance, Time } from "#web/ui/time.tsx";

/** For people in a session, where passkeys are switched on. */
export function PasskeysPart() {
  const { credential } = useConsole();
  return (
    <>
      <Heading name="Passkeys" />
      <p class="quiet">With these you confirm what the server asks you to confirm.</p>
      {credential.kind === "token" ? (
        <Withheld>
          You use an API token, which has no passkeys: they belong to people who log in themselves.
        </Withheld>
      ) : (
        <Asked name="auth.config">
          {({ webauthn_enabled }) => (webauthn_enabled ? <Passkeys /> : <SwitchedOff />)}
        </Asked>
      )}
    </>
  );
}

const SwitchedOff = () => (
  <>
    <Withheld>
      Passkeys are switched off here: <code>auth.webauthn.enabled</code> in the configuration
      switches them on.
    </Withheld>
    <div class="empty">
      <a
        class="button plain"
        href={hrefOf(["operations", "settings"], { defaults: true, q: "auth.webauthn" })}
      >
        See how they are configured
      </a>
      <Copy text="pkid config reference" name="command" />
    </div>
  </>
);

function Passkeys() {
  // Another number makes another list, which asks again.
  const [round, setRound] = useState(0);
  const { open, close } = useDialog();
  const again = () => setRound((before) => before + 1);
  return (
    <>
      <Asked key={round} name="webauthn.list">
        {({ items }) =>
          items.length === 0 ? (
            <div class="empty">
              <p>You have no passkey. Add one to be able to do what needs one.</p>
            </div>
          ) : (
            <div class="list scroll">
              <Table
                caption="Your passkeys"
                columns={columns}
                rows={items}
                keyOf={({ id }) => id}
              />
            </div>
          )
        }
      </Asked>
      <NewPasskey onAdded={again} />
      {open?.startsWith("remove-") && (
        <Confirm
          operation="webauthn.remove"
          members={{ id: open.slice(7) }}
          title="Remove this passkey"
          does="Remove the passkey"
          onClose={close}
          onDone={() => {
            again();
            close();
          }}
        >
          <p>It confirms nothing here any more. The authenticator itself keeps it.</p>
        </Confirm>
      )}
    </>
  );
}

function NewPasskey({ onAdded }: { readonly onAdded: () => void }) {
  const { credential } = useConsole();
  const [name, setName] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const add = async () => {
    const refused = await registerPasskey(name, credential);
    setRefusal(refused);
    if (refused === undefined) setName("");
    onAdded();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <Field
        label="Name of a new passkey"
        member="name"
        reply={refusal && { kind: "refused", refusal }}
        hint="Which key or machine it is."
      >
        {(control) => (
          <input
            {...control}
            type="text"
            required
            maxLength={64}
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        )}
      </Field>
      {refusal && <Refused refusal={refusal} />}
      <div class="buttons">
        <button type="submit" class="button primary">
          Add a passkey
        </button>
      </div>
    </form>
  );
}

const columns: readonly Column<RowOf<"webauthn.list">>[] = [
  { name: "Name", cell: ({ name }) => name },
  { name: "Added", cell: ({ created_at }) => <Time at={created_at} /> },
  {
    name: "Last used",
    cell: ({ last_used_at }) =>
      last_used_at === undefined ? "never" : <Distance at={last_used_at} />,
  },
  { name: "Remove", cell: ({ id }) => <Remove id={id} /> },
];

function Remove({ id }: { readonly id: string }) {
  const address = useAddress();
  return (
    <a class="button" href={hrefWith(address, { dialog: `remove-${id}` })}>
      Remove
    </a>
  );
}
