/** Blocks a key that is named by its fingerprint or by whatever has it. */

import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { TextField } from "#web/ui/fields.tsx";
import { FileField } from "#web/ui/file-field.tsx";
import { Field, useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { hrefOf } from "#web/address.ts";
import { namedKey } from "./named-key.ts";

/** What it did is said in the same window, since nothing is revoked by it. */
export function BlockDialog({ onClose }: { readonly onClose: () => void }) {
  const { send, busy, reply } = useSend("key.block");
  const [key, setKey] = useState("");
  const [reason, setReason] = useState("");
  const [fault, setFault] = useState<string>();
  const change = (text: string) => {
    setFault(undefined);
    setKey(text);
  };
  const submit = async () => {
    const named = await namedKey(new TextEncoder().encode(key));
    if (named.kind === "none") setFault(named.sentence);
    else await send({ ...named.members, reason });
  };
  const take = async (file: File) => {
    const named = await namedKey(new Uint8Array(await file.arrayBuffer()));
    if (named.kind === "none") setFault(named.sentence);
    else change(named.text);
  };
  if (reply?.kind === "answered") return <Blocked blocked={reply.answer} onClose={onClose} />;
  return (
    <Dialog title="Block a key" onClose={onClose}>
      <GuardedForm
        operation="key.block"
        onSend={submit}
        busy={busy}
        reply={reply}
        does="Block the key"
        look="danger"
        missing={missingOf(key, reason)}
        onCancel={onClose}
      >
        <p>
          No certificate is issued for the key any more, by no CA and for no tenant. Certificates
          that have it stay as they are.
        </p>
        <KeyFields text={key} fault={fault} onText={change} onFile={(file) => void take(file)} />
        <TextField
          label="Why"
          member="reason"
          reply={reply}
          hint="Stands in this list and in the audit chain."
          max={200}
          value={reason}
          onChange={setReason}
        />
      </GuardedForm>
    </Dialog>
  );
}

function missingOf(key: string, reason: string): string | undefined {
  if (key.trim() === "") return "Name the key first.";
  return reason.trim() === "" ? "Say why first." : undefined;
}

interface KeyFieldsProps {
  readonly text: string;
  readonly fault: string | undefined;
  readonly onText: (text: string) => void;
  readonly onFile: (file: File) => void;
}

function KeyFields({ text, fault, onText, onFile }: KeyFieldsProps) {
  return (
    <>
      <Field
        label="Key"
        fault={fault}
        hint="Its fingerprint, or a certificate, request or key in PEM. Of a private key only the fingerprint is sent."
      >
        {(control) => (
          <textarea
            {...control}
            class="mono"
            value={text}
            onInput={({ currentTarget }) => onText(currentTarget.value)}
          />
        )}
      </Field>
      <FileField label="Or its file" accept=".pem,.crt,.cer,.der,.csr,.key,.pub" onFile={onFile} />
    </>
  );
}

interface BlockedProps {
  readonly blocked: Answers["key.block"];
  readonly onClose: () => void;
}

function Blocked({ blocked, onClose }: BlockedProps) {
  const { matching_certificates: matching, public_key_fingerprint } = blocked;
  return (
    <Dialog title="The key is blocked" onClose={onClose}>
      {matching === 0 ? (
        <p>No certificate that is not revoked has it.</p>
      ) : (
        <p class="notice warn">
          <span>
            <span aria-hidden="true">◐ </span>
            {matching === 1
              ? "One certificate with it is not revoked."
              : `${matching} certificates with it are not revoked.`}{" "}
            <a
              href={hrefOf(["certificates"], {
                ca: "*",
                public_key_sha256: public_key_fingerprint,
              })}
            >
              Look at them
            </a>
          </span>
        </p>
      )}
      <div class="buttons">
        <button type="button" class="button primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
