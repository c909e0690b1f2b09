/** Retires a superseded key: whom it would hurt in numbers, why, and what is typed to force it. */

import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { revocationReasons } from "#core/x509/reasons.ts";
import { Asked } from "#web/ui/asked.tsx";
import { useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { Day } from "#web/ui/time.tsx";
import { CheckField, ChoiceField, TextField } from "#web/ui/fields.tsx";
import { type Ca, caHref, certificatesHref } from "./ca.ts";
import { counted, ofCas, useDependants } from "./dependants.ts";
import { explained } from "./refusals.ts";
import { oldestSuperseded, useLineage } from "./relatives.ts";
import { filled } from "./members.ts";
import { useTyped } from "./typed.tsx";

interface RetireDialogProps {
  readonly ca: Ca;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** The server retires the oldest superseded key of the lineage, so that is the one it names. */
export function RetireDialog({ ca, onClose, onDone }: RetireDialogProps) {
  const old = oldestSuperseded(useLineage(ca));
  const [retired, setRetired] = useState<Answers["ca.retire"]>();
  if (retired !== undefined) {
    return (
      <Dialog title={`${retired.retired_ca.label} is retired`} onClose={onClose}>
        <Retired answer={retired} />
      </Dialog>
    );
  }
  if (old === undefined) {
    return (
      <Dialog title="Retire the old key" onClose={onClose}>
        <p>No key of {ca.label} is superseded, so there is none to retire.</p>
      </Dialog>
    );
  }
  return (
    <Dialog title={`Retire ${old.label}`} onClose={onClose}>
      <Asked name="ca.rotation" members={{ id: old.id }}>
        {(rotation) => (
          <Retiring
            old={old}
            rotation={rotation}
            onClose={onClose}
            onRetired={(answer) => {
              setRetired(answer);
              onDone();
            }}
          />
        )}
      </Asked>
    </Dialog>
  );
}

interface RetiringProps {
  readonly old: Ca;
  readonly rotation: Answers["ca.rotation"];
  readonly onClose: () => void;
  readonly onRetired: (answer: Answers["ca.retire"]) => void;
}

function Retiring({ old, rotation, onClose, onRetired }: RetiringProps) {
  const sending = useSend("ca.retire");
  const [typed, change] = useTyped({ reason: "cessationOfOperation", force: false, confirmed: "" });
  const reply = explained<Answers["ca.retire"]>(sending.reply);
  const { outstanding_leaves: outstanding } = rotation;
  const forced = typed.force && typed.confirmed === old.label;
  const send = async () => {
    const members = { id: old.id, reason: typed.reason, force: forced || undefined };
    const done = await sending.send(filled(members));
    if (done !== undefined) onRetired(done);
  };
  return (
    <GuardedForm
      operation="ca.retire"
      where={{ caId: old.id, tenantId: old.tenant_id }}
      missing={outstanding > 0 && !forced ? unforced(typed.force, old.label) : undefined}
      onSend={send}
      busy={sending.busy}
      reply={reply}
      does={`Retire ${old.label}`}
      look="danger"
      onCancel={onClose}
    >
      <Consequence old={old} rotation={rotation} />
      <ChoiceField
        label="Reason"
        member="reason"
        reply={reply}
        value={typed.reason}
        onChange={(reason) => change({ reason })}
        choices={reasons.map((value) => ({ value, label: value }))}
        hint="Stands on the revocation list of the issuer."
      />
      {outstanding > 0 && (
        <>
          <CheckField
            label={`Retire it although ${counted(outstanding, "certificate")} would fail`}
            checked={typed.force}
            onChange={(force) => change({ force })}
          />
          {typed.force && (
            <TextField
              label={`Type ${old.label} to confirm`}
              member="force"
              reply={reply}
              value={typed.confirmed}
              onChange={(confirmed) => change({ confirmed })}
            />
          )}
        </>
      )}
    </GuardedForm>
  );
}

const unforced = (force: boolean, label: string): string =>
  force ? `Type ${label} first.` : "Say first that it is retired all the same.";

function Consequence({
  old,
  rotation,
}: {
  readonly old: Ca;
  readonly rotation: Answers["ca.rotation"];
}) {
  const { outstanding_leaves: outstanding, retire_after } = rotation;
  const { cas = 0 } = useDependants([old]).get(old.id) ?? {};
  return (
    <div class={`notice ${outstanding > 0 ? "bad" : "warn"}`}>
      {outstanding > 0 ? (
        <p>
          <strong>{counted(outstanding, "certificate")}</strong>
          {ofCas(cas)} would lose the path. The last one is valid until <Day at={retire_after} />.{" "}
          <a href={certificatesHref(old.id, { status: "good" })}>See them</a>
        </p>
      ) : (
        <p>No valid certificate depends on it.</p>
      )}
      <p>
        Its certificate is revoked under its issuer, whose list is published at once. That cannot be
        undone.
      </p>
    </div>
  );
}

const Retired = ({ answer }: { readonly answer: Answers["ca.retire"] }) => (
  <>
    <div class="notice good" role="status">
      <p>
        <span aria-hidden="true">✓ </span>
        Its certificate is revoked, and stands on the issuer's list number {answer.crl_number}.
        {answer.outstanding_leaves > 0 &&
          ` ${counted(answer.outstanding_leaves, "certificate")} lost the path.`}
      </p>
    </div>
    <div class="buttons">
      <a class="button primary" href={caHref(answer.retired_ca.id, { tab: "rollover" })}>
        Open {answer.retired_ca.label}
      </a>
    </div>
  </>
);

/** A certificate of a CA is not put on hold. */
const reasons = Object.keys(revocationReasons).filter((reason) => reason !== "certificateHold");
