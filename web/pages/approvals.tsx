/** What waits for a second person: the inbox, one's own requests, and what was decided. */

import { approvalClasses, approvalStatuses } from "#core/approvals/classes.ts";
import { hrefOf, hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { RequestPanel } from "#web/pages/approvals/request.tsx";
import type { PageProps } from "#web/page.ts";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";

/** The segment behind `approvals` opens the panel of one request. */
export function ApprovalsPage({ rest: [id] }: PageProps) {
  const address = useAddress();
  const { status, class: operationClass, tenant } = address.query;
  const waiting = status === "pending";
  return (
    <>
      <Heading name="Approvals" />
      <nav class="tabs" aria-label="Parts of the page">
        <a
          href={hrefOf(["approvals"], { status: "pending", tenant })}
          aria-current={waiting ? "page" : undefined}
        >
          Inbox
        </a>
        <a href={hrefOf(["approvals"], { tenant })} aria-current={waiting ? undefined : "page"}>
          All
        </a>
      </nav>
      <Filters filters={filters} />
      <div class="beside">
        <List
          name="approval.list"
          members={{ status, class: operationClass, tenant }}
          caption="Requests for approval, newest first"
          columns={columns}
          keyOf={(row) => row.id}
          hrefOf={(row) => hrefOf(["approvals", row.id], address.query)}
          selected={id}
          live={decided}
          above={({ enabled }) =>
            !enabled && (
              <p class="notice warn">
                Nothing takes two here: <code>approvals.enabled</code> is off in the configuration.
              </p>
            )
          }
          empty={
            <>
              <p>
                {waiting ? "Nothing waits for you or anybody else." : "No request was ever made."}
              </p>
              <a class="button plain" href={hrefWith(address, { status: undefined })}>
                Show all requests
              </a>
            </>
          }
        />
        {id !== undefined && (
          <RequestPanel id={id} closeHref={hrefOf(["approvals"], address.query)} />
        )}
      </div>
    </>
  );
}

const columns: readonly Column<RowOf<"approval.list">>[] = [
  { name: "What", cell: ({ summary }) => summary },
  { name: "State", cell: ({ status }) => <Status word={status} /> },
  {
    name: "Approved",
    wide: true,
    cell: ({ approvals_count, required_approvals }) =>
      `${approvals_count} of ${required_approvals}`,
  },
  {
    name: "By",
    wide: true,
    cell: ({ requested_by, requested_by_name }) => requested_by_name ?? requested_by,
  },
  { name: "Asked", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { name: "Lapses", wide: true, cell: ({ expires_at }) => <Distance at={expires_at} /> },
];

const filters: readonly Filter[] = [
  {
    name: "status",
    label: "State",
    choices: approvalStatuses.map((value) => ({ value, label: value })),
  },
  {
    name: "class",
    label: "Class",
    choices: approvalClasses.map((value) => ({ value, label: value })),
  },
];

/** Parked, decided and done: `<class>.pending` and its like, and the operation's own event. */
const decided = approvalClasses.map((name) => `${name}*`);
