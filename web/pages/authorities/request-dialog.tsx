/** The first half of a CA below an external root: its key, and the request for the other side. */

import { Copy } from "#web/ui/copy.tsx";
import type { Reply } from "#web/api.ts";
import { save } from "#web/ui/download.tsx";
import { useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import type { Answers } from "#api/answers.ts";
import { ChoiceField, TextField } from "#web/ui/fields.tsx";
import { caHref } from "./ca.ts";
import { noSubject, subjectMember, type TypedSubject } from "./ca-form.ts";
import { keyPlaceWords, keyTypeChoices } from "./key-choices.ts";
import { NameFields, useFirstTenant, useMissingTenant } from "./name-fields.tsx";
import { useProvider } from "./provider.ts";
import { explained } from "./refusals.ts";
import { countOf, filled } from "./members.ts";
import { useTyped } from "./typed.tsx";
import { Pem } from "./pem.tsx";

interface RequestDialogProps {
  readonly onClose: () => void;
  readonly onMade: () => void;
}

/** Asks for it, and shows the request to carry away. */
export function RequestDialog({ onClose, onMade }: RequestDialogProps) {
  const sending = useSend("ca.csr");
  const first = useFirstTenant();
  const missing = useMissingTenant();
  const [form, change] = useTyped<TypedRequest>(nothingTyped);
  const typed = { ...form, tenant: form.tenant || first };
  const reply = explained<Answers["ca.csr"]>(sending.reply);
  const send = async () => {
    const members = filled({
      label: typed.label.trim(),
      key_type: typed.keyType,
      max_path_len: countOf(typed.pathLength),
      tenant_id: typed.tenant,
    });
    const made = await sending.send({ ...members, subject: subjectMember(typed) });
    if (made !== undefined) onMade();
  };
  return (
    <Dialog title="Request a certificate from an external root" onClose={onClose} wide>
      {sending.reply?.kind === "answered" ? (
        <Requested answer={sending.reply.answer} />
      ) : (
        <GuardedForm
          operation="ca.csr"
          where={{ tenantId: typed.tenant || undefined }}
          missing={missing}
          onSend={send}
          busy={sending.busy}
          reply={reply}
          does="Make the key and the request"
          onCancel={onClose}
        >
          <p>
            The key is made here and stays here. The other side certifies the request; the CA waits
            until its certificate is brought back.
          </p>
          <RequestFields typed={typed} change={change} reply={reply} />
        </GuardedForm>
      )}
    </Dialog>
  );
}

interface RequestFieldsProps {
  readonly typed: TypedRequest;
  readonly change: (change: Partial<TypedRequest>) => void;
  readonly reply: Reply<unknown> | undefined;
}

function RequestFields({ typed, change, reply }: RequestFieldsProps) {
  const provider = useProvider();
  return (
    <>
      <NameFields typed={typed} change={change} reply={reply} choosesTenant />
      <div class="pairs">
        <ChoiceField
          label="Key type"
          member="key_type"
          reply={reply}
          value={typed.keyType}
          onChange={(keyType) => change({ keyType })}
          choices={keyTypeChoices("classical", { root: true, provider })}
          hint={keyPlaceWords("classical", provider)}
        />
        <TextField
          label="CAs below it at most"
          member="max_path_len"
          reply={reply}
          value={typed.pathLength}
          onChange={(pathLength) => change({ pathLength })}
          placeholder="no limit"
          hint="Asked for; the other side decides."
        />
      </div>
    </>
  );
}

function Requested({ answer: { ca, csr_pem } }: { readonly answer: Answers["ca.csr"] }) {
  return (
    <>
      <div class="notice good" role="status">
        <p>
          <span aria-hidden="true">✓ </span>
          {ca.label} has its key. Give the request to the other side, and bring back the
          certificate.
        </p>
      </div>
      <RequestText label={ca.label} pem={csr_pem} />
      <div class="buttons">
        <a class="button primary" href={caHref(ca.id)}>
          Open {ca.label}
        </a>
      </div>
    </>
  );
}

/** A request to copy or to save. */
export const RequestText = ({ label, pem }: { readonly label: string; readonly pem: string }) => (
  <>
    <Pem name="Request" text={pem} />
    <div class="buttons">
      <Copy text={pem} name="request">
        Copy the request
      </Copy>
      <button
        type="button"
        class="button"
        onClick={() =>
          save(`${label}.csr.pem`, new Blob([pem], { type: "application/x-pem-file" }))
        }
      >
        Download the request
      </button>
    </div>
  </>
);

interface TypedRequest extends TypedSubject {
  readonly label: string;
  readonly keyType: string;
  readonly pathLength: string;
  readonly tenant: string;
}

const nothingTyped: TypedRequest = {
  ...noSubject,
  label: "",
  keyType: "ecdsa-p384",
  pathLength: "",
  tenant: "",
};
