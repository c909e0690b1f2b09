/** What ends or interrupts a certificate, each in a dialog that says what follows from it. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { hrefWith } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { Field, useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog, useDialog } from "#web/ui/layers.tsx";
import { plainText } from "#web/ui/plain.ts";
import { type Authority, type Certificate, nameOf } from "./authorities.ts";
import { RenewDialog } from "./renew.tsx";
import { whyNotReleased, whyNotRevoked, whyNotSuspended } from "./states.ts";

interface DialogsProps {
  readonly certificate: Certificate;
  readonly ca: Authority | undefined;
  /** Called when something was done. */
  readonly onChange: () => void;
}

/** The one that the address names, even where the certificate stands so that it cannot be done. */
export function CertificateDialog({ certificate, ca, onChange }: DialogsProps) {
  const { open, close } = useDialog();
  const done = () => {
    close();
    onChange();
  };
  const props = { certificate, ca, onClose: close, onDone: done };
  switch (open) {
    case "revoke":
      return <RevokeDialog {...props} />;
    case "suspend":
      return <SuspendDialog {...props} />;
    case "release":
      return <ReleaseDialog {...props} />;
    case "renew":
      return <RenewDialog certificate={certificate} ca={ca} onClose={close} />;
    default:
      return null;
  }
}

interface ChangeProps {
  readonly certificate: Certificate;
  /** Undefined until it is known. */
  readonly ca: Authority | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function RevokeDialog(props: ChangeProps) {
  const address = useAddress();
  const [reason, setReason] = useState("unspecified");
  const { superseded, status } = props.certificate;
  return (
    <ChangeDialog {...props} verb="revoke" members={{ reason }}>
      {(reply) => (
        <>
          <p>
            Whoever asks by OCSP learns of it at once, and the next CRL says it within a minute.{" "}
            {superseded ? newerKnown : noneNewer}
          </p>
          <p>
            <strong>This cannot be undone.</strong> The certificate stays revoked until it expires,
            with the reason given first.{" "}
            {status === "good" && (
              <a href={hrefWith(address, { dialog: "suspend" })}>
                Suspend it to take it back later.
              </a>
            )}
          </p>
          <Field label="Reason" member="reason" reply={reply} hint={reasonHint(reason)}>
            {(control) => (
              <select
                {...control}
                value={reason}
                onChange={({ currentTarget }) => setReason(currentTarget.value)}
              >
                {reasons.map(([word, label]) => (
                  <option key={word} value={word}>
                    {label}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </>
      )}
    </ChangeDialog>
  );
}

function SuspendDialog(props: ChangeProps) {
  return (
    <ChangeDialog {...props} verb="suspend">
      {() => (
        <>
          <p>
            OCSP and CRL say that it is revoked, with reason certificateHold, until it is released
            or revoked for good. What uses it stops working meanwhile.
          </p>
          <p>
            It can be released again. Clients that have cached an answer may take until that runs
            out to notice either.
          </p>
        </>
      )}
    </ChangeDialog>
  );
}

const ReleaseDialog = (props: ChangeProps) => (
  <ChangeDialog {...props} verb="release">
    {() => <p>OCSP says good again at once, and the next CRL no longer lists it.</p>}
  </ChangeDialog>
);

interface ChangeDialogProps extends ChangeProps {
  readonly verb: "revoke" | "suspend" | "release";
  /** What is said beside the certificate. */
  readonly members?: { readonly reason: string };
  readonly children: (reply: Reply<unknown> | undefined) => ComponentChildren;
}

/** What takes something away is never the default of a key. */
function ChangeDialog(props: ChangeDialogProps) {
  const { certificate, ca, verb, members = {}, onClose, onDone, children } = props;
  const { reply, busy, send } = useSend(`cert.${verb}`);
  const does = `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${plainText(nameOf(certificate))}`;
  const { ca_id: id, serial } = certificate;
  const change = async () => {
    if ((await send({ id, serial, ...members })) !== undefined) onDone();
  };
  return (
    <Dialog title={does} onClose={onClose}>
      <GuardedForm
        operation={`cert.${verb}`}
        where={{ caId: id, tenantId: ca?.tenant_id }}
        unless={whyNot[verb](certificate)}
        onSend={change}
        busy={busy}
        reply={reply}
        does={does}
        look={verb === "release" ? "primary" : "danger"}
        onCancel={onClose}
      >
        {children(reply)}
      </GuardedForm>
    </Dialog>
  );
}

const whyNot = {
  revoke: whyNotRevoked,
  suspend: whyNotSuspended,
  release: whyNotReleased,
} as const;

const newerKnown = "A newer certificate with the same names has been issued here.";
const noneNewer =
  "No newer certificate with the same names is known here: what uses this one stops working.";

/** Columns: the word of the interface, what people call it, when it is the right one. */
const reasons = [
  ["unspecified", "Not said", "Nothing is said about why."],
  [
    "keyCompromise",
    "Key compromised",
    "Somebody else has, or may have, the key: CRLs say it at once.",
  ],
  ["superseded", "Replaced", "A newer certificate has taken its place."],
  ["cessationOfOperation", "No longer used", "What it was for has ended."],
  ["affiliationChanged", "Subject changed", "The subject has another name or belongs elsewhere."],
  ["privilegeWithdrawn", "Privilege withdrawn", "Its holder may no longer have it."],
] as const;

const reasonHint = (word: string): string => reasons.find(([known]) => known === word)?.[2] ?? "";
