/** How devices come to certificates by themselves: directories, credentials, accounts, orders. */

import { hrefOf } from "#web/address.ts";
import { AccountsPart } from "#web/pages/enrolment/accounts.tsx";
import { CredentialsPart } from "#web/pages/enrolment/credentials.tsx";
import { DirectoriesPart } from "#web/pages/enrolment/directories.tsx";
import { OrdersPart } from "#web/pages/enrolment/orders.tsx";
import { ReplacementsPart } from "#web/pages/enrolment/replacements.tsx";
import type { PageProps } from "#web/page.ts";
import { Asked } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Parts } from "#web/ui/tabs.tsx";

/** The part that the segment behind `enrolment` names; directories first. */
export function EnrolmentPage({ rest: [part = "directories", id] }: PageProps) {
  return (
    <Asked name="acme.directory.list">
      {({ items }) =>
        items.length === 0 ? (
          <AllOff />
        ) : (
          <Parts name="Enrolment" page="enrolment" tabs={parts} current={part}>
            {part === "directories" && <DirectoriesPart directories={items} />}
            {part === "credentials" && <CredentialsPart id={id} directories={items} />}
            {part === "accounts" && <AccountsPart id={id} />}
            {part === "orders" && <OrdersPart id={id} />}
            {part === "replacements" && <ReplacementsPart id={id} />}
            {!parts.some(({ segment }) => segment === part) && <p>There is no such part.</p>}
          </Parts>
        )
      }
    </Asked>
  );
}

function AllOff() {
  return (
    <>
      <Heading name="Enrolment" />
      <div class="empty">
        <p>
          Nothing enrols by itself here that you may see: ACME is off, or belongs to other tenants.
          It is switched on by <code>acme.enabled</code> and <code>acme.ca_label</code> in the
          configuration.
        </p>
        <a
          class="button plain"
          href={hrefOf(["operations", "settings"], { defaults: true, q: "acme." })}
        >
          See how it is configured
        </a>
        <Copy text="pkid config reference" name="command" />
      </div>
    </>
  );
}

const parts = [
  { segment: "directories", name: "ACME directories" },
  { segment: "credentials", name: "Credentials" },
  { segment: "accounts", name: "Accounts" },
  { segment: "orders", name: "Orders" },
  { segment: "replacements", name: "Replacements" },
] as const;
