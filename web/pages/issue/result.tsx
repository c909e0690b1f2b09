/** A certificate that was issued: its files, its key where this tab has it, and what to do now. */

import { useId } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { hrefOf } from "#web/address.ts";
import { useKeyring } from "#web/keyring.ts";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Serial } from "#web/ui/copy.tsx";
import { save } from "#web/ui/download.tsx";
import { Heading } from "#web/ui/heading.tsx";
import {
  certificatesAbove,
  certificatesKnown,
  type Issuers,
  noChain,
  useIssuers,
} from "#web/ui/issuers.ts";
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
  const { reply, refresh } = useAsked("cert.show", { id: caId, serial }, ["cert.*"]);
  const issuers = useIssuers(caId);
  if (reply?.kind === "answered" && issuers !== undefined) {
    return <Shown issued={reply.answer} issuers={issuers} above={above} />;
  }
  return (
    <>
      <Heading name="Certificate" above={above} />
      {reply === undefined || reply.kind === "answered" ? (
        <Waiting />
      ) : (
        <Outcome reply={reply} again={refresh} />
      )}
    </>
  );
}

interface ShownProps {
  readonly issued: Issued;
  readonly issuers: Issuers;
  readonly above: readonly Above[];
}

/** Its key and the certificate itself need nobody above it. */
function Shown({ issued, issuers, above }: ShownProps) {
  const { ca_id, serial, common_name, subject, sans } = issued;
  const reasonId = useId();
  const kept = useKeyring().find(issued.public_key_fingerprint);
  const [leaf] = certificatesIn(issued.certificate);
  const isWhole = certificatesAbove(issuers) !== undefined;
  const path = leaf === undefined ? [] : pathOf(leaf, certificatesKnown(issuers));
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
            <Files path={path} noChainId={isWhole ? undefined : reasonId} stem={stem} />
            {!isWhole && (
              <>
                <p id={reasonId} class="quiet small">
                  {noChain}
                </p>
                <Outcome reply={issuers.refused} />
              </>
            )}
          </section>
          <InstallHints stem={stem} keyHere={kept !== undefined} />
        </div>
        <ResultKey issued={issued} path={path} isWhole={isWhole} stem={stem} />
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
  /** What says that the path is not whole; undefined where nothing of it is missing. */
  readonly noChainId: string | undefined;
  readonly stem: string;
}

/** Without the key, which is in none of them. */
function Files({ path, noChainId, stem }: FilesProps) {
  const [leaf] = path;
  if (leaf === undefined) return null;
  const pem = (certificates: readonly Uint8Array[]) =>
    new Blob([pemOf(certificates)], { type: "application/x-pem-file" });
  const chain = () => pem(path);
  const files = [
    ["Certificate and chain, PEM", `${stem}.chain.pem`, chain],
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
          disabled={noChainId !== undefined && content === chain}
          aria-describedby={content === chain ? noChainId : undefined}
          onClick={() => save(file, content())}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
