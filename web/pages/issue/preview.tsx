/** The certificate as it would be, with the word of every gate, while it is being asked for. */

import { useId } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import type { Reply } from "#web/api.ts";
import { Outcome } from "#web/ui/asked.tsx";
import { Fingerprint } from "#web/ui/copy.tsx";
import { Time } from "#web/ui/time.tsx";
import { Gates, previewedGates } from "./gates.tsx";

interface PreviewProps {
  readonly reply: Reply<Answers["cert.preview"]> | undefined;
  readonly busy: boolean;
  /** What is missing before anything can be said. */
  readonly missing: string | undefined;
}

/** Beside the form; what came last stays until the next has come. */
export function Preview({ reply, busy, missing }: PreviewProps) {
  const id = useId();
  return (
    <section class="card preview" aria-labelledby={id} aria-busy={busy && missing === undefined}>
      <h2 id={id}>Preview</h2>
      {missing !== undefined && <p class="quiet">{missing}</p>}
      {missing === undefined && reply === undefined && <p class="quiet">Asking…</p>}
      {missing === undefined && reply?.kind === "answered" && <Previewed preview={reply.answer} />}
      {missing === undefined && <Outcome reply={reply} />}
    </section>
  );
}

function Previewed({ preview }: { readonly preview: Answers["cert.preview"] }) {
  const [tone, sign, sentence] = decisions[preview.decision];
  return (
    <>
      <p class={tone} role="status">
        <span aria-hidden="true">{sign}</span> {sentence}
      </p>
      <Gates gates={previewedGates(preview)} caption="What the gates say" />
      <dl>
        <dt>Subject</dt>
        <dd>{preview.subject || "none"}</dd>
        <dt>Names</dt>
        <dd>{preview.sans.length === 0 ? "none" : <Lines texts={preview.sans} />}</dd>
        <dt>Signed by</dt>
        <dd>{preview.ca_label}</dd>
        <dt>Valid</dt>
        <dd>
          <Time at={preview.not_before} /> to <Time at={preview.not_after} />,{" "}
          {preview.validity_days} days
        </dd>
        <dt>For</dt>
        <dd>{preview.ext_key_usages.join(", ") || "any"}</dd>
        <dt>Key usages</dt>
        <dd>{preview.key_usages.join(", ")}</dd>
        <dt>Must-staple</dt>
        <dd>{preview.must_staple ? "yes" : "no"}</dd>
      </dl>
      <details>
        <summary>Identifiers and extensions</summary>
        <dl>
          <dt>Subject key</dt>
          <dd>{identifier(preview.subject_key_id, "subject key identifier")}</dd>
          <dt>Authority key</dt>
          <dd>{identifier(preview.authority_key_id, "authority key identifier")}</dd>
          <dt>Extensions</dt>
          <dd>
            <Lines
              texts={preview.extensions.map(
                ({ name, critical }) => `${name}${critical ? ", critical" : ""}`,
              )}
            />
          </dd>
        </dl>
      </details>
    </>
  );
}

const Lines = ({ texts }: { readonly texts: readonly string[] }) => (
  <ul class="lines">
    {texts.map((text) => (
      <li key={text}>{text}</li>
    ))}
  </ul>
);

const identifier = (text: string | undefined, name: string) =>
  text === undefined ? "known when there is a key" : <Fingerprint text={text} name={name} />;

const decisions = {
  accept: ["good", "●", "It would be issued."],
  park: ["warn", "◔", "It would wait until somebody else approves it."],
  reject: ["bad", "✕", "It would be refused."],
} as const;
