/** The secret of an API token that somebody has approved: for its maker, once. */

import { useState } from "preact/hooks";
import type { Answers, Questions } from "#api/answers.ts";
import { hrefOf } from "#web/address.ts";
import { ask, type Reply, replied } from "#web/api.ts";
import { type OnceShown, tellChange, useConsole } from "#web/console.ts";
import { WantsPasskey } from "#web/ui/action.tsx";
import { Outcome, useAside } from "#web/ui/asked.tsx";
import { plainText } from "#web/ui/plain.ts";
import { Time } from "#web/ui/time.tsx";

type Approval = Answers["approval.show"];

/** As its maker is shown it. */
export const secretOf = ({ id, name, secret }: Answers["token.create"]): OnceShown => ({
  title: "The secret, this once",
  parts: { Name: name, Secret: secret },
  use: `Authorization: Token ${secret.slice(0, 13)}…`,
  href: hrefOf(["people", "tokens", id]),
});

/** Made, and nobody has been shown its secret. */
export const secretWaits = ({ operation, status, collected_at }: Approval): boolean =>
  operation === "token.create" && status === "executed" && collected_at === undefined;

/** In the request: the way to it for its maker, and what became of it for everybody. */
export function ApiTokenSecret({ approval }: { readonly approval: Approval }) {
  const { caller } = useConsole();
  const { operation, status, collected_at, requested_by } = approval;
  if (operation !== "token.create" || status !== "executed") return null;
  if (!secretWaits(approval)) {
    return (
      <p class="quiet">
        Its secret was shown to its maker, once: <Time at={collected_at} />.
      </p>
    );
  }
  if (requested_by !== caller.sub) {
    return <p class="quiet">Its secret waits for its maker, and is shown to nobody else.</p>;
  }
  return <Collecting approval={approval} />;
}

function Collecting({ approval: { id, details } }: { readonly approval: Approval }) {
  const { credential, showOnce } = useConsole();
  const [reply, setReply] = useState<Reply<unknown>>();
  const [busy, setBusy] = useState(false);
  const collect = async () => {
    setBusy(true);
    // The details of such a request are all it was asked with.
    const members = details as Questions["token.create"];
    const asked = ask("token.create", members, credential, AbortSignal.timeout(30_000), id);
    const come = await replied(asked);
    setReply(come);
    setBusy(false);
    if (come.kind === "answered") showOnce(secretOf(come.answer));
    tellChange();
  };
  return (
    <div class="notice good">
      <p role="status">
        <span aria-hidden="true">● </span>
        The API token is made. Its secret waits for you, and can be shown once.
      </p>
      <WantsPasskey />
      <Outcome reply={reply} />
      <div class="buttons">
        <button type="button" class="button primary" disabled={busy} onClick={() => void collect()}>
          {busy ? "Working…" : "Show the secret, once"}
        </button>
      </div>
    </div>
  );
}

/** Leads whoever has asked for API tokens to the secrets that wait for them. */
export function WaitingSecrets() {
  const { reply } = useAside("approval.list", ownMade, ["token.*"]);
  const waiting = reply?.kind === "answered" ? reply.answer.items.filter(secretWaits) : [];
  if (waiting.length === 0) return null;
  return (
    <div class="notice good" role="status">
      {waiting.map(({ id, resource_name }) => (
        <p key={id}>
          <span aria-hidden="true">● </span>
          An API token that you asked for is made.{" "}
          <a href={hrefOf(["approvals", id])}>Fetch the secret of {plainText(resource_name)}</a>
        </p>
      ))}
    </div>
  );
}

const ownMade = { mine: true, class: "token.create", status: "executed", limit: 100 } as const;
