/** One certificate: who signs, for which key, with which names, and what would come of it. */

import { useId } from "preact/hooks";
import { hrefWith, visit } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { useGuarded } from "#web/ui/action.tsx";
import { SendForm } from "#web/ui/form.tsx";
import { type Choice, ChoiceFields, Chosen, type Known } from "./choice.tsx";
import { Gates, gatesIn } from "./gates.tsx";
import { GivenRequest } from "./given-request.tsx";
import { type Typed, useIssuing } from "./issuing.ts";
import { KeyFields, noKeyForm } from "./key-fields.tsx";
import { Preview } from "./preview.tsx";
import { KeyDialog, TakesTwo } from "./takes-two.tsx";

interface SingleProps {
  readonly typed: Typed;
  readonly onTyped: (part: Partial<Typed>) => void;
}

export const nothingTyped: Typed = { form: noKeyForm, pasted: "" };

/** The form and its preview. */
export const Single = (props: SingleProps) => (
  <Chosen>{(choice, known) => <SingleForm choice={choice} known={known} {...props} />}</Chosen>
);

interface SingleFormProps extends SingleProps {
  readonly choice: Choice;
  readonly known: Known;
}

function SingleForm({ choice, known, typed, onTyped }: SingleFormProps) {
  const { form, pasted } = typed;
  const issuing = useIssuing(choice, typed);
  const { here, making, wanted, right, preview, issue, unready, reply } = issuing;
  const reason = right.allowed ? unready : right.reason;
  // Where nobody can approve it is refused, and the preview says so.
  const isGuarded = useGuarded("cert.issue");
  const parks = choice.profile.require_approval && isGuarded !== false;
  return (
    <div class="pair">
      <SendForm
        onSend={() => void issuing.send()}
        busy={issue.busy}
        reply={issue.reply}
        does={parks ? "Ask for approval" : "Issue"}
        missing={reason}
      >
        <ChoiceFields choice={choice} known={known} reply={reply} />
        <From here={here} algorithm={choice.profile.algorithm} />
        {here ? (
          <KeyFields
            form={form}
            onChange={(changed) => onTyped({ form: changed })}
            made={making.key}
            fault={making.fault}
            reply={reply}
          />
        ) : (
          <GivenRequest
            text={pasted}
            onChange={(text) => onTyped({ pasted: text })}
            reply={reply}
          />
        )}
        {parks && <TakesTwo made={here ? making.made : undefined} />}
        <Refusing reply={issue.reply} />
      </SendForm>
      <Preview
        reply={preview.reply}
        busy={preview.busy}
        missing={right.allowed ? missingFor(issuing) : right.reason}
      />
      <KeyDialog made={making.made} name={wanted?.commonName ?? ""} />
    </div>
  );
}

function missingFor({ here, wanted, shown }: ReturnType<typeof useIssuing>): string | undefined {
  if (shown !== undefined) return undefined;
  if (here && wanted !== undefined) return "The key is being made.";
  const what = here ? "Type a name" : "Paste a request";
  return `${what}, and what would be issued stands here with the word of every gate.`;
}

interface FromProps {
  readonly here: boolean;
  readonly algorithm: Choice["profile"]["algorithm"];
}

/** Where the key comes from; it stands in the address. */
function From({ here, algorithm }: FromProps) {
  const address = useAddress();
  const choose = (from: string | undefined) =>
    visit(hrefWith(address, { from }), { replace: true });
  const unmade = algorithm !== "classical";
  const reasonId = useId();
  return (
    <fieldset class="choices">
      <legend>Private key</legend>
      <label class="check">
        <input
          type="radio"
          name="from"
          checked={here}
          disabled={unmade}
          aria-describedby={unmade ? reasonId : undefined}
          onChange={() => choose(undefined)}
        />
        Make it in this browser
      </label>
      <label class="check">
        <input type="radio" name="from" checked={!here} onChange={() => choose("csr")} />
        It is made, and I have a request
      </label>
      {unmade && (
        <p id={reasonId} class="reason">
          Browsers make no ML-DSA keys.
        </p>
      )}
    </fieldset>
  );
}

function Refusing({ reply }: { readonly reply: Reply<unknown> | undefined }) {
  const gates = gatesIn(reply);
  if (gates.length === 0) return null;
  return (
    <div class="card">
      <h2>What the gates said</h2>
      <Gates gates={gates} caption="What the gates said" />
    </div>
  );
}
