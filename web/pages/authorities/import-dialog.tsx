/** The second half of a CA below an external root: its certificate comes in, every check shown. */

import type { Answers } from "#api/answers.ts";
import type { Reply } from "#web/api.ts";
import { useSend } from "#web/ui/form.tsx";
import { isWithheld, sendable } from "#web/ui/given.ts";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { Status } from "#web/ui/status.tsx";
import type { Ca } from "./ca.ts";
import { Made } from "./made.tsx";
import { explained, failedChecks } from "./refusals.ts";
import { filled } from "./members.ts";
import { neededIn, PemField, useTyped } from "./typed.tsx";

interface ImportDialogProps {
  readonly ca: Ca;
  readonly onClose: () => void;
  readonly onMade: () => void;
}

/** For a CA that waits, or for one whose certificate is replaced. */
export function ImportDialog({ ca, onClose, onMade }: ImportDialogProps) {
  const sending = useSend("ca.import_cert");
  const [typed, change] = useTyped(nothingTyped);
  const reply = explained<Answers["ca.import_cert"]>(sending.reply);
  const replace = ca.status === "active";
  const send = async () => {
    const members = {
      certificate_pem: sendable(typed.certificate, "certificate"),
      chain_pem: sendable(typed.chain, "certificates"),
    };
    const made = await sending.send(
      filled({ id: ca.id, ...members, replace: replace || undefined }),
    );
    if (made !== undefined) onMade();
  };
  const title = replace ? `Replace the certificate of ${ca.label}` : `Certificate for ${ca.label}`;
  if (sending.reply?.kind === "answered") {
    const { warnings } = sending.reply.answer;
    return (
      <Dialog title={title} onClose={onClose} wide>
        <Made ca={ca} warnings={warnings.map((word) => warningWords[word])}>
          {ca.label} has its certificate. Every check is passed; it can sign from now on.
        </Made>
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose} wide>
      <GuardedForm
        operation="ca.import_cert"
        where={{ caId: ca.id, tenantId: ca.tenant_id }}
        onSend={send}
        missing={
          isWithheld(typed.certificate, "certificate") || isWithheld(typed.chain, "certificates")
            ? "Mend first what is marked."
            : undefined
        }
        busy={sending.busy}
        reply={reply}
        does={replace ? "Replace the certificate" : "Take the certificate"}
        onCancel={onClose}
      >
        <PemFields typed={typed} change={change} reply={reply} replace={replace} />
        <Checks failed={failedChecks(reply)} replace={replace} />
      </GuardedForm>
    </Dialog>
  );
}

interface PemFieldsProps {
  readonly typed: typeof nothingTyped;
  readonly change: (change: Partial<typeof nothingTyped>) => void;
  readonly reply: Reply<unknown> | undefined;
  readonly replace: boolean;
}

const PemFields = ({ typed, change, reply, replace }: PemFieldsProps) => (
  <>
    {replace && (
      <p>Name and key stay. What it has issued is valid under the new certificate too.</p>
    )}
    <PemField
      label="Certificate"
      wanted="certificate"
      member="certificate_pem"
      reply={reply}
      value={typed.certificate}
      needed={neededIn(typed.certificate, "Give the certificate.")}
      onChange={(certificate) => change({ certificate })}
      hint="What the other side made of the request, in PEM; a file may be DER."
    />
    <PemField
      label="Chain"
      wanted="certificates"
      member="chain_pem"
      reply={reply}
      value={typed.chain}
      onChange={(chain) => change({ chain })}
      hint={
        replace
          ? "Those above it up to the root, in PEM, in any order; without it the one that is known."
          : "Those above it up to the root, in PEM, in any order."
      }
    />
  </>
);

interface ChecksProps {
  /** Undefined until something was judged and refused. */
  readonly failed: readonly string[] | undefined;
  readonly replace: boolean;
}

/** What is looked at, before and after: all of it is judged together. */
function Checks({ failed, replace }: ChecksProps) {
  const checks = Object.entries(checkWords).filter(
    ([check]) => replace || !ofReplacements.has(check),
  );
  return (
    <section aria-label="Checks">
      <h3>{failed === undefined ? "What will be checked" : "What was checked"}</h3>
      <ul class="bare">
        {checks.map(([check, words]) => (
          <li key={check}>
            {failed === undefined ? (
              <span aria-hidden="true">· </span>
            ) : (
              <Status word={failed.includes(check) ? "failed" : "pass"} />
            )}{" "}
            {words}
          </li>
        ))}
      </ul>
    </section>
  );
}

const ofReplacements: ReadonlySet<string> = new Set(["subject", "subject_key_id"]);

/** The checks of an import, in the order of the server. */
const checkWords: Readonly<Record<string, string>> = {
  public_key: "Its key is the one that is held here.",
  self_signed: "It is not signed by itself.",
  basic_constraints: "It is a certificate of a CA.",
  key_cert_sign: "Its key usage, where it has one, lets it sign certificates.",
  validity: "It is valid now.",
  chain: "The chain leads from it upwards, each signed by the next, and allows it.",
  subject: "A replacement has the subject of the one before.",
  subject_key_id: "A replacement has the key identifier of the one before.",
};

const nothingTyped = { certificate: "", chain: "" };

const warningWords: Readonly<Record<Answers["ca.import_cert"]["warnings"][number], string>> = {
  key_usage_absent: "It has no key usage.",
  crl_sign_absent: "Its key usage lacks cRLSign: strict clients do not take its CRLs.",
  digital_signature_absent:
    "Its key usage lacks digitalSignature: it signs no OCSP answers itself.",
  subject_changed: "The other side has changed the subject.",
  path_length_differs: "Its path length is not the one that was asked for.",
  chain_absent: "No chain was given: clients must have those above it already.",
  chain_without_root: "The chain ends below the root.",
};
