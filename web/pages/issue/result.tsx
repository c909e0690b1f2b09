/** A certificate that was issued: its files, its key where this tab has it, and what to do now. */

import type { Answers } from "#api/answers.ts";
import { hrefOf } from "#web/address.ts";
import { useKeyring } from "#web/keyring.ts";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Serial } from "#web/ui/copy.tsx";
import { save } from "#web/ui/download.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { certificatesAbove, noChain, useIssuers } from "#web/ui/issuers.ts";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";
import { certificatesIn, pathOf, pemOf } from "#web/x509/paths.ts";
import { fileStem } from "./file-names.ts";
import { InstallHints } from "./install-hints.tsx";
import { ResultKey } from "./result-key.tsx";

export interface Above {
  readonly name: string;
  readonly href: string;
}

interface ResultProps {
  readonly caId: string;
  readonly serial: string;
  readonly above: readonly Above[];
}

type Issued = Answers["cert.show"];

/** At an address of its own, so that it can be come back to. */
export function Result({ caId, serial, above }: ResultProps) {
  const { reply } = useAsked("cert.show", { id: caId, serial }, ["cert.*"]);
  const issuers = useIssuers(caId);
  if (reply === undefined || issuers === undefined) {
    return (
      <>
        <Heading name="Certificate" above={above} />
        <Waiting />
      </>
    );
  }
  const chain = certificatesAbove(issuers);
  if (reply.kind !== "answered" || chain === undefined) {
    return (
      <>
        <Heading name="Certificate" above={above} />
        {chain === undefined && <p>{noChain}</p>}
        <Outcome reply={reply.kind === "answered" ? issuers.refused : reply} />
      </>
    );
  }
  return <Shown issued={reply.answer} issuers={chain} above={above} />;
}

interface ShownProps {
  readonly issued: Issued;
  /** DER of the certificates above it, nearest first. */
  readonly issuers: readonly Uint8Array[];
  readonly above: readonly Above[];
}

function Shown({ issued, issuers, above }: ShownProps) {
  const { ca_id, serial, common_name, subject, sans } = issued;
  const kept = useKeyring().find(issued.public_key_fingerprint);
  const [leaf] = certificatesIn(issued.certificate);
  const path = leaf === undefined ? [] : pathOf(leaf, issuers);
  const stem = fileStem(common_name || sans[0]?.replace(/^[a-zA-Z]+:/, "") || serial);
  return (
    <>
      <Heading name={common_name || subject || "Certificate"} above={above}>
        <a class="button" href={hrefOf(["issue"], { ca: ca_id, profile: issued.profile })}>
          Issue another
        </a>
      </Heading>
      <div class="pair">
        <div class="stack">
          <section class="card">
            <h2>Issued</h2>
            <Facts issued={issued} />
            <Files path={path} stem={stem} />
          </section>
          <InstallHints stem={stem} keyHere={kept !== undefined} />
        </div>
        <ResultKey issued={issued} path={path} stem={stem} />
      </div>
    </>
  );
}

function Facts({ issued }: { readonly issued: Issued }) {
  const { status, serial, subject, sans, profile, not_before, not_after, ca_id } = issued;
  return (
    <dl>
      <dt>Status</dt>
      <dd>
        <Status word={status} />
      </dd>
      <dt>Subject</dt>
      <dd>{subject || "none"}</dd>
      <dt>Names</dt>
      <dd>{sans.join(", ") || "none"}</dd>
      <dt>Serial</dt>
      <dd>
        <Serial serial={serial} />
      </dd>
      <dt>Profile</dt>
      <dd>{profile}</dd>
      <dt>Valid</dt>
      <dd>
        <Time at={not_before} /> to <Time at={not_after} />, ends <Distance at={not_after} />
      </dd>
      <dt>More</dt>
      <dd>
        <a href={hrefOf(["certificates", ca_id, serial])}>Everything about this certificate</a>
      </dd>
    </dl>
  );
}

interface FilesProps {
  readonly path: readonly Uint8Array[];
  readonly stem: string;
}

/** Without the key, which is in none of them. */
function Files({ path, stem }: FilesProps) {
  const [leaf] = path;
  if (leaf === undefined) return null;
  const pem = (certificates: readonly Uint8Array[]) =>
    new Blob([pemOf(certificates)], { type: "application/x-pem-file" });
  const files = [
    ["Certificate and chain, PEM", `${stem}.chain.pem`, () => pem(path)],
    ["Certificate, PEM", `${stem}.pem`, () => pem([leaf])],
    [
      "Certificate, DER",
      `${stem}.cer`,
      () => new Blob([new Uint8Array(leaf)], { type: "application/pkix-cert" }),
    ],
  ] as const;
  return (
    <div class="buttons">
      {files.map(([name, file, content]) => (
        <button
          key={file}
          type="button"
          class="button"
          title={file}
          onClick={() => save(file, content())}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
