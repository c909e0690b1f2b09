/** Certifies the identity of a certificate again, with the key it has or with that of a request. */

import { useState } from "preact/hooks";
import { hrefOf, visit } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { Gates } from "#web/ui/action.tsx";
import { useAside } from "#web/ui/asked.tsx";
import { Field, useSend } from "#web/ui/form.tsx";
import { isWithheld, sendable, useGiven } from "#web/ui/given.ts";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { plainText } from "#web/ui/plain.ts";
import { type Authority, type Certificate, nameOf } from "./authorities.ts";
import { listQuery } from "./inventory.tsx";
import { whyNotRenewed } from "./states.ts";
import { TypedField } from "./typed.tsx";

interface RenewProps {
  readonly certificate: Certificate;
  /** Undefined until it is known. */
  readonly ca: Authority | undefined;
  readonly onClose: () => void;
}

/** Leads to the new certificate, or to the request that waits for another person. */
export function RenewDialog({ certificate, ca, onClose }: RenewProps) {
  const { query } = useAddress();
  const [csr, setCsr] = useState("");
  const [days, setDays] = useState("");
  const { reply, busy, send } = useSend("cert.renew");
  const { ca_id: id, serial } = certificate;
  const renew = async () => {
    const request = sendable(csr, "request") || undefined;
    const asked = { csr: request, validity_days: numberIn(days) };
    const issued = await send({ id, serial, ...asked });
    if (issued === undefined) return;
    visit(hrefOf(["certificates", issued.ca_id, issued.serial], listQuery(query)));
  };
  return (
    <Dialog title={`Renew ${plainText(nameOf(certificate))}`} onClose={onClose}>
      <GuardedForm
        operation="cert.renew"
        where={{ caId: id, tenantId: ca?.tenant_id }}
        unless={whyNotRenewed(certificate, ca)}
        missing={isWithheld(csr, "request") ? "Mend first what is marked." : undefined}
        onSend={renew}
        busy={busy}
        reply={reply}
        does="Renew"
        onCancel={onClose}
        gates={<TakesTwo profile={certificate.profile} />}
      >
        <p>
          The new certificate has the same subject, names and profile, and a serial of its own. This
          one stays valid until it expires or is revoked.
        </p>
        <RequestField csr={csr} setCsr={setCsr} reply={reply} />
        <TypedField
          label="Days it is valid"
          member="validity_days"
          reply={reply}
          hint="As the profile says where it is left empty."
          numeric
          value={days}
          onValue={setDays}
        />
      </GuardedForm>
    </Dialog>
  );
}

/** Where renewals are guarded, only those of a profile that wants approval wait for it. */
function TakesTwo({ profile }: { readonly profile: string }) {
  const { reply } = useAside("profile.list", {});
  if (reply?.kind !== "answered") return null;
  const parks = reply.answer.items.some((one) => one.name === profile && one.require_approval);
  return parks ? <Gates operation="cert.renew" /> : null;
}

interface RequestFieldProps {
  readonly csr: string;
  readonly setCsr: (csr: string) => void;
  readonly reply: Reply<unknown> | undefined;
}

/** Pasted, or from a file. */
function RequestField({ csr, setCsr, reply }: RequestFieldProps) {
  const { fault, type, take } = useGiven(csr, "request", setCsr);
  return (
    <>
      <Field
        label="Request with a new key (CSR), if any"
        member="csr"
        reply={reply}
        fault={fault}
        hint="Without one the same key is certified again. Only its key is taken; other names in it are refused."
      >
        {(control) => (
          <textarea
            {...control}
            spellcheck={false}
            placeholder="-----BEGIN CERTIFICATE REQUEST-----"
            value={csr}
            onInput={({ currentTarget }) => type(currentTarget.value)}
          />
        )}
      </Field>
      <input
        type="file"
        aria-label="Take the request from a file"
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          if (file !== undefined) take(file);
        }}
      />
    </>
  );
}

/** A number as the interface wants it; whatever else was typed goes as it is, and is refused. */
function numberIn(typed: string): number | string | undefined {
  const text = typed.trim();
  if (text === "") return undefined;
  return /^\d+$/.test(text) ? Number(text) : text;
}
