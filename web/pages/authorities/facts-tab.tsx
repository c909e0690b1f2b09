/** What a CA is, how much it has issued, what stands below it, and where else to look. */

import { Fragment } from "preact";
import { hrefWith } from "#web/address.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { useAside } from "#web/ui/asked.tsx";
import { Copy, Fingerprint } from "#web/ui/copy.tsx";
import { List } from "#web/ui/list.tsx";
import { plainText, shortText } from "#web/ui/plain.ts";
import { Status } from "#web/ui/status.tsx";
import { Day, Distance, Time } from "#web/ui/time.tsx";
import {
  type Ca,
  caActions,
  caHref,
  certificatesHref,
  grantsHref,
  holderWord,
  inactiveReason,
  isExternal,
  keyWords,
  roleWord,
} from "./ca.ts";
import { useWhyNotDeleted } from "./deletable.ts";
import { useAncestors } from "./relatives.ts";

/** The first tab of a CA. */
export const FactsTab = ({ ca }: { readonly ca: Ca }) => (
  <>
    <div class="split">
      <Facts ca={ca} />
      <Counts ca={ca} />
    </div>
    <Below ca={ca} />
    <Remaining ca={ca} />
  </>
);

function Facts({ ca }: { readonly ca: Ca }) {
  const { tenants } = useConsole();
  const tenant = tenants.find(({ id }) => id === ca.tenant_id);
  return (
    <section class="card" aria-label="Facts">
      <h2>Facts</h2>
      <dl>
        <dt>State</dt>
        <dd>
          <Status word={ca.status} />
        </dd>
        <dt>Kind</dt>
        <dd>
          {roleWord(ca)} <Parent ca={ca} />
        </dd>
        <dt>Subject</dt>
        <dd>{plainText(ca.subject)}</dd>
        <dt>Key</dt>
        <dd>
          {keyWords(ca)} · {holderWord(ca)}
        </dd>
        {ca.pkcs11_uri !== undefined && (
          <>
            <dt>In the HSM</dt>
            <dd>
              <Copy text={ca.pkcs11_uri} name="PKCS #11 address" />
            </dd>
          </>
        )}
        <dt>Fingerprint</dt>
        <dd>
          <Fingerprint text={ca.public_key_fingerprint} />
        </dd>
        <dt>Valid until</dt>
        <dd>
          <Time at={ca.not_after} />{" "}
          {ca.not_after !== undefined && (
            <span class="quiet">
              (<Distance at={ca.not_after} />)
            </span>
          )}
        </dd>
        <dt>CAs below it</dt>
        <dd>{ca.max_path_len === undefined ? "no limit" : `${ca.max_path_len} deep at most`}</dd>
        <dt>Tenant</dt>
        <dd>{plainText(tenant?.name || tenant?.slug || ca.tenant_id)}</dd>
        <dt>Made</dt>
        <dd>
          <Time at={ca.created_at} />
        </dd>
        <dt>Id</dt>
        <dd>
          <Copy text={ca.id} name="id" />
        </dd>
      </dl>
    </section>
  );
}

function Parent({ ca }: { readonly ca: Ca }) {
  const [issuer] = useAncestors(ca);
  if (issuer === undefined) return null;
  return (
    <>
      below <a href={caHref(issuer.id)}>{issuer.label}</a>
    </>
  );
}

const Counts = ({ ca: { id, status } }: { readonly ca: Ca }) => (
  <section class="card" aria-label="Issued">
    <h2>Issued</h2>
    {status === "pending" ? (
      <p>Nothing: it has no certificate yet.</p>
    ) : (
      <dl>
        {countedStatuses.map((word) => (
          <Fragment key={word}>
            <dt>
              <Status word={word === "held" ? "suspended" : word} />
            </dt>
            <dd>
              <Count id={id} status={word} />
            </dd>
          </Fragment>
        ))}
      </dl>
    )}
    <p>
      <a href={certificatesHref(id)}>All certificates</a>
    </p>
    <p>
      <a href={grantsHref(id)}>Grants: who has rights on it</a>
    </p>
  </section>
);

const countedStatuses = ["good", "held", "revoked", "expired"] as const;

interface CountProps {
  readonly id: string;
  readonly status: (typeof countedStatuses)[number];
}

function Count({ id, status }: CountProps) {
  const { reply } = useAside("cert.list", { id, status, limit: 1 }, ["cert.*"]);
  if (reply?.kind !== "answered") return <span aria-hidden="true">–</span>;
  return <a href={certificatesHref(id, { status })}>{reply.answer.total.toLocaleString("en")}</a>;
}

/** Those it has signed here, newest first. */
function Below({ ca }: { readonly ca: Ca }) {
  if (ca.status === "pending" || ca.max_path_len === 0) return null;
  return (
    <section class="list" aria-label="CAs below it">
      <h2>CAs below it</h2>
      <List
        name="ca.list"
        members={{ parent_id: ca.id }}
        caption={`CAs below ${ca.label}`}
        columns={belowColumns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => caHref(id)}
        live={caActions}
        empty={<NoneBelow ca={ca} />}
      />
    </section>
  );
}

function NoneBelow({ ca }: { readonly ca: Ca }) {
  const address = useAddress();
  return (
    <>
      <p>There is none yet. A CA below it takes its place for one purpose or team.</p>
      <Action
        operation="ca.issue_intermediate"
        where={{ caId: ca.id, tenantId: ca.tenant_id }}
        href={hrefWith(address, { dialog: "intermediate" })}
        unless={inactiveReason(ca)}
      >
        Issue the first
      </Action>
      <Copy
        text={`pkid ca issue-intermediate --parent ${ca.label} --label issuing --cn 'Example Issuing'`}
        name="command"
      />
    </>
  );
}

const belowColumns = [
  { name: "Authority", cell: ({ label }: Ca) => label },
  { name: "State", cell: ({ status }: Ca) => <Status word={status} /> },
  { name: "Subject", cell: ({ subject }: Ca) => shortText(subject), wide: true },
  { name: "Expires", cell: ({ not_after }: Ca) => <Day at={not_after} /> },
];

/** What is done seldom, last of all. */
function Remaining({ ca }: { readonly ca: Ca }) {
  const address = useAddress();
  const whyNotDeleted = useWhyNotDeleted(ca);
  const where = { caId: ca.id, tenantId: ca.tenant_id };
  return (
    <section class="card" aria-label="Seldom done">
      <h2>Seldom done</h2>
      <div class="buttons">
        {isExternal(ca) && ca.status === "active" && (
          <Action
            operation="ca.import_cert"
            look="outlined"
            where={where}
            href={hrefWith(address, { dialog: "import" })}
          >
            Replace the certificate
          </Action>
        )}
        <Action
          operation="ca.delete"
          where={where}
          look="danger"
          href={hrefWith(address, { dialog: "delete" })}
          unless={whyNotDeleted}
        >
          Delete {ca.label}
        </Action>
      </div>
      <p class="quiet small">
        Only a CA that has signed nothing but its own certificate can be deleted; others are
        retired.
      </p>
    </section>
  );
}
