/** Gives a CA a new key under its name, after showing in numbers what that means. */

import type { Answers } from "#api/answers.ts";
import type { Reply } from "#web/api.ts";
import { isPostQuantum } from "#core/x509/algorithms.ts";
import { save } from "#web/ui/download.tsx";
import { useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { Day } from "#web/ui/time.tsx";
import { ChoiceField, TextField } from "#web/ui/fields.tsx";
import { type Ca, notRotatableReason } from "./ca.ts";
import { counted, ofCas, useDependants } from "./dependants.ts";
import { keyTypeChoices } from "./key-choices.ts";
import { Made } from "./made.tsx";
import { useProvider } from "./provider.ts";
import { explained } from "./refusals.ts";
import { useLineage } from "./relatives.ts";
import { LineagePicture } from "./rollover-tab.tsx";
import { countOf, filled } from "./members.ts";
import { useTyped } from "./typed.tsx";

interface RotateDialogProps {
  readonly ca: Ca;
  readonly onClose: () => void;
  readonly onMade: () => void;
}

/** The active key of the lineage is the one that is exchanged, whichever is named. */
export function RotateDialog({ ca, onClose, onMade }: RotateDialogProps) {
  const sending = useSend("ca.rotate");
  const [typed, change] = useTyped(nothingTyped);
  const lineage = useLineage(ca);
  const old = lineage.findLast(({ status }) => status === "active") ?? ca;
  const reply = explained<Answers["ca.rotate"]>(sending.reply);
  const send = async () => {
    const made = await sending.send(
      filled({
        id: old.id,
        new_label: typed.label.trim(),
        key_type: typed.keyType,
        validity_days: countOf(typed.validityDays),
      }),
    );
    if (made !== undefined) onMade();
  };
  const title = `Rotate the key of ${old.label}`;
  if (sending.reply?.kind === "answered") {
    return (
      <Dialog title={title} onClose={onClose} wide>
        <Rotated answer={sending.reply.answer} />
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose} wide>
      <Consequence old={old} />
      <LineagePicture
        ca={old}
        lineage={lineage}
        planned={{
          id: "planned",
          label: typed.label.trim() || nextLabel(lineage),
          key: typed.keyType || old.key_type,
          state: "active",
          until: undefined,
          below: "nothing yet",
          planned: true,
        }}
      />
      <GuardedForm
        operation="ca.rotate"
        where={{ caId: ca.id, tenantId: ca.tenant_id }}
        unless={notRotatableReason(ca)}
        onSend={send}
        busy={sending.busy}
        reply={reply}
        does={`Give ${old.label} a new key`}
        look="danger"
        onCancel={onClose}
      >
        <RotateFields old={old} lineage={lineage} typed={typed} change={change} reply={reply} />
      </GuardedForm>
    </Dialog>
  );
}

/** In numbers, before anything is sent. */
function Consequence({ old }: { readonly old: Ca }) {
  const { certificates, cas = 0 } = useDependants([old]).get(old.id) ?? {};
  return (
    <ul class="bare">
      <li>
        <strong>{certificates === undefined ? "…" : counted(certificates, "certificate")}</strong>
        {ofCas(cas)} {certificates === 1 ? "chains" : "chain"} to the key of {old.label}. What is
        valid stays valid and keeps its path, until it has expired or is replaced.
      </li>
      <li>
        From then on the new key signs everything that is issued, under the same subject;{" "}
        {old.label} issues nothing any more. That cannot be undone.
      </li>
      <li>
        The old key goes on signing its own revocation lists until it is retired, which is a step of
        its own.
      </li>
    </ul>
  );
}

interface RotateFieldsProps {
  readonly old: Ca;
  readonly lineage: readonly Ca[];
  readonly typed: typeof nothingTyped;
  readonly change: (change: Partial<typeof nothingTyped>) => void;
  readonly reply: Reply<unknown> | undefined;
}

function RotateFields({ old, lineage, typed, change, reply }: RotateFieldsProps) {
  const provider = useProvider();
  const algorithm = isPostQuantum(old.key_type) ? "pqc" : "classical";
  const both = old.alt_key_type !== undefined;
  const others = keyTypeChoices("classical", { root: false, provider }).concat(
    both ? [] : keyTypeChoices("pqc", { root: false, provider }),
  );
  return (
    <div class="pairs">
      <ChoiceField
        label="Key type"
        member="key_type"
        reply={reply}
        value={typed.keyType}
        onChange={(keyType) => change({ keyType })}
        choices={[{ value: "", label: `as before (${old.key_type})` }].concat(others)}
        hint={
          both ? `The second key stays ${old.alt_key_type}.` : algorithm === "pqc" ? inSoftware : ""
        }
      />
      <TextField
        label="Label of the new one"
        member="new_label"
        reply={labelMarked(reply)}
        value={typed.label}
        onChange={(label) => change({ label })}
        placeholder={nextLabel(lineage)}
      />
      <TextField
        label="Valid for (days)"
        member="validity_days"
        reply={reply}
        value={typed.validityDays}
        onChange={(validityDays) => change({ validityDays })}
        placeholder="as long as before"
      />
    </div>
  );
}

function Rotated({ answer }: { readonly answer: Answers["ca.rotate"] }) {
  const { old_ca, new_ca, combined_chain_pem, retire_after } = answer;
  const bundle = new Blob([combined_chain_pem], { type: "application/x-pem-file" });
  return (
    <Made ca={new_ca}>
      {new_ca.label} signs from now on; {old_ca.label} is superseded.{" "}
      {retire_after === undefined ? (
        "Nothing depends on the old key: it can be retired."
      ) : (
        <>
          The last certificate of the old key expires on <Day at={retire_after} />.
        </>
      )}{" "}
      <button
        type="button"
        class="button"
        onClick={() => save(`${new_ca.label}-bundle.pem`, bundle)}
      >
        Download the bundle of both
      </button>
    </Made>
  );
}

/** A label that is taken is `label` in the refusal, whatever member named it. */
function labelMarked(reply: Reply<unknown> | undefined): Reply<unknown> | undefined {
  if (reply?.kind !== "refused" || reply.refusal.facts.field !== "label") return reply;
  const { refusal } = reply;
  return {
    kind: "refused",
    refusal: { ...refusal, facts: { ...refusal.facts, field: "new_label" } },
  };
}

/** What the server gives by itself, unless that is taken. */
const nextLabel = (lineage: readonly Ca[]): string =>
  `${lineage[0]?.label ?? ""}-r${lineage.length + 1}`;

const inSoftware = "Post-quantum keys are held in software, sealed.";
const nothingTyped = { label: "", keyType: "", validityDays: "" };
