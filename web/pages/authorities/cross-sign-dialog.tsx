/** Vouches for another CA: one of this instance, or one known by certificate or request. */

import type { Answers } from "#api/answers.ts";
import type { Reply } from "#web/api.ts";
import { hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Copy, Serial } from "#web/ui/copy.tsx";
import { CaChoice } from "#web/ui/ca-choice.tsx";
import { save } from "#web/ui/download.tsx";
import { Field, useSend } from "#web/ui/form.tsx";
import { isWithheld, sendable } from "#web/ui/given.ts";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { plainText } from "#web/ui/plain.ts";
import { Day } from "#web/ui/time.tsx";
import { TextField } from "#web/ui/fields.tsx";
import { type Ca, caHref, keyWords } from "./ca.ts";
import { explained } from "./refusals.ts";
import { countOf, filled } from "./members.ts";
import { neededIn, PemField, useTyped } from "./typed.tsx";
import { Pem } from "./pem.tsx";

interface CrossSignDialogProps {
  readonly issuer: Ca;
  readonly onClose: () => void;
  readonly onMade: () => void;
}

/** Whom to vouch for is in the address too: `source=local-ca`, `certificate` or `csr`. */
export function CrossSignDialog({ issuer, onClose, onMade }: CrossSignDialogProps) {
  const sending = useSend("ca.cross_sign");
  const [typed, change] = useTyped(nothingTyped);
  const source = useSource();
  const reply = explained<Answers["ca.cross_sign"]>(sending.reply);
  const send = async () => {
    const made = await sending.send(
      filled({
        id: issuer.id,
        subject_ca_id: source === "local-ca" ? typed.subject : undefined,
        certificate_pem:
          source === "certificate" ? sendable(typed.certificate, "certificate") : undefined,
        csr_pem: source === "csr" ? sendable(typed.request, "request") : undefined,
        validity_days: countOf(typed.validityDays),
        max_path_len: countOf(typed.pathLength),
      }),
    );
    if (made !== undefined) onMade();
  };
  const title = `Cross-sign with ${issuer.label}`;
  if (sending.reply?.kind === "answered") {
    return (
      <Dialog title={title} onClose={onClose} wide>
        <Signed issuer={issuer} answer={sending.reply.answer} />
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose} wide>
      <p>
        Clients that trust the root of {issuer.label} will find a path to whatever the subject
        issues. Its name and its key stay what they are.
      </p>
      <Sources current={source} />
      <GuardedForm
        operation="ca.cross_sign"
        where={{ caId: issuer.id, tenantId: issuer.tenant_id }}
        onSend={send}
        missing={
          (source === "certificate" && isWithheld(typed.certificate, "certificate")) ||
          (source === "csr" && isWithheld(typed.request, "request"))
            ? "Mend first what is marked."
            : undefined
        }
        busy={sending.busy}
        reply={reply}
        does="Cross-sign it"
        onCancel={onClose}
      >
        <SubjectField source={source} issuer={issuer} typed={typed} change={change} reply={reply} />
        <LifeFields source={source} typed={typed} change={change} reply={reply} />
      </GuardedForm>
    </Dialog>
  );
}

type Source = keyof typeof sourceWords;

const sourceWords = {
  "local-ca": "A CA of this instance",
  certificate: "A certificate",
  csr: "A request",
} as const;

function useSource(): Source {
  const { source } = useAddress().query;
  return source === "certificate" || source === "csr" ? source : "local-ca";
}

function Sources({ current }: { readonly current: Source }) {
  const address = useAddress();
  return (
    <nav class="tabs" aria-label="Who is vouched for">
      {Object.entries(sourceWords).map(([source, words]) => (
        <a
          key={source}
          href={hrefWith(address, { source })}
          aria-current={source === current ? "page" : undefined}
        >
          {words}
        </a>
      ))}
    </nav>
  );
}

interface SubjectFieldProps {
  readonly source: Source;
  readonly issuer: Ca;
  readonly typed: typeof nothingTyped;
  readonly change: (change: Partial<typeof nothingTyped>) => void;
  readonly reply: Reply<unknown> | undefined;
}

function SubjectField({ source, issuer, typed, change, reply }: SubjectFieldProps) {
  if (source === "certificate") {
    return (
      <PemField
        label="Certificate of the subject"
        wanted="certificate"
        member="certificate_pem"
        reply={reply}
        value={typed.certificate}
        needed={neededIn(typed.certificate, "Give the certificate.")}
        onChange={(certificate) => change({ certificate })}
        hint="Of a CA elsewhere, in PEM; a file may be DER."
      />
    );
  }
  if (source === "csr") {
    return (
      <PemField
        label="Request of the subject"
        wanted="request"
        member="csr_pem"
        reply={reply}
        value={typed.request}
        needed={neededIn(typed.request, "Give the request.")}
        onChange={(request) => change({ request })}
        hint="Of a CA elsewhere, signed with its key, in PEM."
      />
    );
  }
  return <LocalSubject issuer={issuer} value={typed.subject} change={change} reply={reply} />;
}

const LifeFields = ({ source, typed, change, reply }: Omit<SubjectFieldProps, "issuer">) => (
  <div class="pairs">
    <TextField
      label="Valid for (days)"
      member="validity_days"
      reply={reply}
      value={typed.validityDays}
      needed={source === "csr" ? neededIn(typed.validityDays, "Type how many days.") : undefined}
      onChange={(validityDays) => change({ validityDays })}
      hint={
        source === "csr"
          ? "Must be given for a request."
          : "Empty: what is left of the subject's certificate and of the issuer's."
      }
    />
    <TextField
      label="CAs below it at most"
      member="max_path_len"
      reply={reply}
      value={typed.pathLength}
      onChange={(pathLength) => change({ pathLength })}
      hint="Empty: as many as the subject and the issuer allow."
    />
  </div>
);

interface LocalSubjectProps extends Pick<SubjectFieldProps, "issuer" | "change" | "reply"> {
  readonly value: string;
}

/** Those that have a key in use; the others are shown with their state, which says why not. */
function LocalSubject({ issuer, value, change, reply }: LocalSubjectProps) {
  return (
    <Field
      label="Subject"
      member="subject_ca_id"
      reply={reply}
      hint="You must manage it too."
      needed={neededIn(value, "Choose the CA to vouch for.")}
    >
      {(control) => (
        <CaChoice
          control={control}
          label="Subject"
          value={value}
          words={(ca) => subjectWords(ca, issuer)}
          unfit={({ id, status }) => id === issuer.id || !vouchedFor.has(status)}
          onChoose={(subject) => change({ subject })}
        />
      )}
    </Field>
  );
}

const subjectWords = (ca: Ca, issuer: Ca): string =>
  `${ca.label} (${ca.id === issuer.id ? "the issuer itself" : ca.status}, ${keyWords(ca)})`;

const vouchedFor: ReadonlySet<string> = new Set(["active", "superseded"]);

interface SignedProps {
  readonly issuer: Ca;
  readonly answer: Answers["ca.cross_sign"];
}

function Signed({ issuer, answer }: SignedProps) {
  const { cross_sign, certificate_pem, chain_pem } = answer;
  const file = (pem: string) => new Blob([pem], { type: "application/x-pem-file" });
  return (
    <>
      <div class="notice good" role="status">
        <p>
          <span aria-hidden="true">✓ </span>
          {issuer.label} vouches for {plainText(cross_sign.subject)}.
        </p>
      </div>
      <dl>
        <dt>Serial</dt>
        <dd>
          <Serial serial={cross_sign.serial} />
        </dd>
        <dt>Until</dt>
        <dd>
          <Day at={cross_sign.not_after} />
        </dd>
      </dl>
      <Pem name="Cross certificate" text={certificate_pem} />
      <div class="buttons">
        <Copy text={certificate_pem} name="cross certificate">
          Copy the certificate
        </Copy>
        <button
          type="button"
          class="button"
          onClick={() => save(`${issuer.label}-cross-chain.pem`, file(chain_pem))}
        >
          Download it with its chain
        </button>
        <a class="button primary" href={caHref(issuer.id, { tab: "cross" })}>
          See the cross certificates
        </a>
      </div>
    </>
  );
}

const nothingTyped = {
  subject: "",
  certificate: "",
  request: "",
  validityDays: "",
  pathLength: "",
};
