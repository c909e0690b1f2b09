/** Makes a root, or a CA below one: what it is called, its key, its life, what it may certify. */

import type { Reply } from "#web/api.ts";
import { useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { ChoiceField, TextField } from "#web/ui/fields.tsx";
import type { Ca } from "./ca.ts";
import { caMembers, emptyCa, type TypedCa } from "./ca-form.ts";
import {
  algorithmChoices,
  alternativeChoices,
  firstKeyType,
  keyPlaceWords,
  keyTypeChoices,
} from "./key-choices.ts";
import { LimitFields } from "./limit-fields.tsx";
import { Made } from "./made.tsx";
import { NameFields, useFirstTenant, useMissingTenant } from "./name-fields.tsx";
import { Preview } from "./preview.tsx";
import { useProvider } from "./provider.ts";
import { explained } from "./refusals.ts";
import { filled, linesOf } from "./members.ts";
import { useTyped } from "./typed.tsx";

interface CreateDialogProps {
  /** Undefined: a root. */
  readonly parent: Ca | undefined;
  readonly onClose: () => void;
  readonly onMade: () => void;
}

/** The whole of it. */
export function CreateDialog({ parent, onClose, onMade }: CreateDialogProps) {
  const root = useSend("ca.init_root");
  const intermediate = useSend("ca.issue_intermediate");
  const sending = parent === undefined ? root : intermediate;
  const first = useFirstTenant();
  const missing = useMissingTenant();
  const [form, change] = useTyped<TypedCa>(emptyCa);
  const typed = { ...form, tenant: form.tenant || first };
  const reply = explained<Ca>(sending.reply);
  const operation = parent === undefined ? "ca.init_root" : "ca.issue_intermediate";
  const tenantId = parent?.tenant_id ?? (typed.tenant || undefined);
  const send = async () => {
    const members = caMembers(typed);
    const made =
      parent === undefined
        ? await root.send({ ...members, ...filled({ tenant_id: typed.tenant }) })
        : await intermediate.send({
            ...members,
            ...filled({ id: parent.id, ext_key_usages: linesOf(typed.purposes) }),
          });
    if (made !== undefined) onMade();
  };
  const title = parent === undefined ? "Create a root" : `Issue a CA below ${parent.label}`;
  if (sending.reply?.kind === "answered") {
    const { answer } = sending.reply;
    return (
      <Dialog title={title} onClose={onClose} wide>
        <Made ca={answer} warnings={answer.warnings}>
          {answer.label} is made. It can sign from now on.
        </Made>
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose} wide>
      <div class="split">
        <GuardedForm
          operation={operation}
          where={{ tenantId, caId: parent?.id }}
          missing={parent === undefined ? missing : undefined}
          onSend={send}
          busy={sending.busy}
          reply={reply}
          does={parent === undefined ? "Create the root" : "Issue the CA"}
          onCancel={onClose}
        >
          <Parts typed={typed} change={change} reply={reply} parent={parent} />
        </GuardedForm>
        <Preview typed={typed} parent={parent} />
      </div>
    </Dialog>
  );
}

interface PartProps {
  readonly typed: TypedCa;
  readonly change: (change: Partial<TypedCa>) => void;
  readonly reply: Reply<unknown> | undefined;
}

interface BelowProps extends PartProps {
  /** Undefined: a root. */
  readonly parent: Ca | undefined;
}

/** In the order in which one thinks of them. */
const Parts = ({ typed, change, reply, parent }: BelowProps) => (
  <>
    <fieldset>
      <legend>1. Name</legend>
      <NameFields
        typed={typed}
        change={change}
        reply={reply}
        choosesTenant={parent === undefined}
      />
    </fieldset>
    <KeyFields typed={typed} change={change} reply={reply} parent={parent} />
    <LifeFields typed={typed} change={change} reply={reply} parent={parent} />
    <fieldset>
      <legend>4. What it may certify</legend>
      <LimitFields typed={typed} change={change} reply={reply} root={parent === undefined} />
    </fieldset>
  </>
);

function KeyFields({ typed, change, reply, parent }: BelowProps) {
  const provider = useProvider();
  const { algorithm } = typed;
  return (
    <fieldset>
      <legend>2. Key</legend>
      <div class="pairs">
        <ChoiceField
          label="Algorithm"
          member="algorithm"
          reply={reply}
          value={algorithm}
          onChange={(word) => {
            // Of the choices below.
            const next = word as TypedCa["algorithm"];
            change({ algorithm: next, keyType: firstKeyType(next) });
          }}
          choices={algorithmChoices(parent)}
        />
        <ChoiceField
          label="Key type"
          member="key_type"
          reply={reply}
          value={typed.keyType}
          // Of the choices below.
          onChange={(word) => change({ keyType: word as TypedCa["keyType"] })}
          choices={keyTypeChoices(algorithm, { root: parent === undefined, provider })}
        />
        {algorithm === "hybrid" && (
          <ChoiceField
            label="Second key"
            member="alt_key_type"
            reply={reply}
            value={typed.alternative}
            // Of the choices below.
            onChange={(word) => change({ alternative: word as TypedCa["alternative"] })}
            choices={alternativeChoices()}
          />
        )}
      </div>
      <p class="quiet small">{keyPlaceWords(algorithm, provider)}</p>
    </fieldset>
  );
}

function LifeFields({ typed, change, reply, parent }: BelowProps) {
  return (
    <fieldset>
      <legend>3. Life and depth</legend>
      <div class="pairs">
        <TextField
          label="Valid for (days)"
          member="validity_days"
          reply={reply}
          value={typed.validityDays}
          onChange={(validityDays) => change({ validityDays })}
          placeholder={parent === undefined ? "3650" : "1825"}
          hint={parent === undefined ? undefined : `At most until ${parent.label} ends.`}
        />
        <TextField
          label="CAs below it at most"
          member="max_path_len"
          reply={reply}
          value={typed.pathLength}
          onChange={(pathLength) => change({ pathLength })}
          placeholder={placeholderOf(parent)}
          hint="Path length: 0 signs no CA, empty sets no limit of its own."
        />
      </div>
    </fieldset>
  );
}

function placeholderOf(parent: Ca | undefined): string {
  const most = parent?.max_path_len;
  return most === undefined ? "no limit" : String(Math.max(0, most - 1));
}
