/** One authority: what it is, its certificate, its lists, who it vouches for, how its key fares. */

import { useState } from "preact/hooks";
import { hrefOf, hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { useDialog } from "#web/ui/layers.tsx";
import { type Ca, caActions, caHref, inactiveReason } from "./ca.ts";
import { CertificateTab } from "./certificate-tab.tsx";
import { CreateDialog } from "./create-dialog.tsx";
import { CrossSignDialog } from "./cross-sign-dialog.tsx";
import { CrossTab } from "./cross-tab.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { FactsTab } from "./facts-tab.tsx";
import { ImportDialog } from "./import-dialog.tsx";
import { ListsTab } from "./lists-tab.tsx";
import { RetireDialog } from "./retire-dialog.tsx";
import { RolloverTab } from "./rollover-tab.tsx";
import { RotateDialog } from "./rotate-dialog.tsx";

/** The page of one. */
export function AuthorityPage({ id }: { readonly id: string }) {
  const { reply, refresh } = useAsked("ca.show", { id }, caActions);
  const [changes, setChanges] = useState(0);
  const changed = () => {
    refresh();
    setChanges((count) => count + 1);
  };
  if (reply?.kind !== "answered") {
    return (
      <>
        <Heading name="Authority" above={above} />
        {reply === undefined ? <Waiting /> : <Outcome reply={reply} again={refresh} />}
      </>
    );
  }
  const ca = reply.answer;
  return (
    <>
      <Heading name={ca.label} above={above}>
        <MainAction ca={ca} />
      </Heading>
      {/* Begun anew by what was done here: not everybody has the feed that tells of it. */}
      <Tabs key={changes} ca={ca} />
      <Dialogs ca={ca} changed={changed} />
    </>
  );
}

/** The one thing to do next with it. */
function MainAction({ ca }: { readonly ca: Ca }) {
  const address = useAddress();
  const where = { caId: ca.id, tenantId: ca.tenant_id };
  if (ca.status === "pending" && ca.csr !== undefined) {
    return (
      <Action
        operation="ca.import_cert"
        where={where}
        look="primary"
        href={hrefWith(address, { dialog: "import" })}
      >
        Bring in the certificate
      </Action>
    );
  }
  if (ca.successor_id !== undefined) {
    return (
      <a class="button" href={caHref(ca.successor_id)}>
        Open its successor
      </a>
    );
  }
  return (
    <Action
      operation="ca.issue_intermediate"
      where={where}
      look="primary"
      href={hrefWith(address, { dialog: "intermediate" })}
      unless={inactiveReason(ca) ?? leavesNoRoom(ca)}
    >
      Issue a CA below it
    </Action>
  );
}

const leavesNoRoom = ({ max_path_len }: Ca): string | undefined =>
  max_path_len === 0 ? "Its path length is 0: it signs no CA." : undefined;

function Tabs({ ca }: { readonly ca: Ca }) {
  const { query } = useAddress();
  const current = tabs.find(({ tab }) => tab === query.tab) ?? tabs[0];
  return (
    <>
      <nav class="tabs" aria-label={`Parts of ${ca.label}`}>
        {tabs.map(({ tab, name }) => (
          <a
            key={tab}
            href={caHref(ca.id, { tab: tab === "facts" ? undefined : tab })}
            aria-current={tab === current.tab ? "page" : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      <current.Tab ca={ca} />
    </>
  );
}

const tabs = [
  { tab: "facts", name: "Facts", Tab: FactsTab },
  { tab: "certificate", name: "Certificate", Tab: CertificateTab },
  { tab: "crl", name: "Revocation lists", Tab: ListsTab },
  { tab: "cross", name: "Cross-signatures", Tab: CrossTab },
  { tab: "rollover", name: "Rollover", Tab: RolloverTab },
] as const;

interface DialogsProps {
  readonly ca: Ca;
  readonly changed: () => void;
}

function Dialogs({ ca, changed }: DialogsProps) {
  const { open, close } = useDialog();
  switch (open) {
    case "intermediate":
      return <CreateDialog parent={ca} onClose={close} onMade={changed} />;
    case "import":
      return <ImportDialog ca={ca} onClose={close} onMade={changed} />;
    case "cross-sign":
      return <CrossSignDialog issuer={ca} onClose={close} onMade={changed} />;
    case "rotate":
      return <RotateDialog ca={ca} onClose={close} onMade={changed} />;
    case "retire":
      return <RetireDialog ca={ca} onClose={close} onDone={changed} />;
    case "delete":
      return <DeleteDialog ca={ca} onClose={close} />;
    default:
      return null;
  }
}

const above = [{ name: "Authorities", href: hrefOf(["authorities"]) }];
