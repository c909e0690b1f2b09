/** What waits for a second person: the inbox, one's own requests, and what was decided. */

import { approvalClasses, approvalStatuses } from "#core/approvals/classes.ts";
import { type Address, hrefOf } from "#web/address.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { inboxHref } from "#web/decidable.ts";
import { secretWaits } from "#web/pages/approvals/api-token-secret.tsx";
import { cameOf } from "#web/pages/approvals/came.ts";
import { RequestPanel } from "#web/pages/approvals/request.tsx";
import { targetOf } from "#web/pages/approvals/target.ts";
import type { PageProps } from "#web/page.ts";
import { rightByRoles } from "#web/rights.ts";
import { Copy } from "#web/ui/copy.tsx";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { plainText, shortText } from "#web/ui/plain.ts";
import { Heading } from "#web/ui/heading.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";

/** The segment behind `approvals` opens the panel of one request. */
export function ApprovalsPage({ rest: [id] }: PageProps) {
  const address = useAddress();
  const { class: operationClass, tenant } = address.query;
  const part = partOf(address);
  // What can be decided is pending.
  const status = part === "inbox" ? undefined : address.query.status;
  const mine = part === "mine" || undefined;
  const decidable = part === "inbox" || undefined;
  return (
    <>
      <Heading name="Approvals" />
      <nav class="tabs" aria-label="Parts of the page">
        <a href={inboxHref(address.query)} aria-current={part === "inbox" ? "page" : undefined}>
          Inbox
        </a>
        <a
          href={hrefOf(["approvals"], { mine: true, tenant })}
          aria-current={part === "mine" ? "page" : undefined}
        >
          Mine
        </a>
        <a
          href={hrefOf(["approvals"], { tenant })}
          aria-current={part === "all" ? "page" : undefined}
        >
          All
        </a>
      </nav>
      <Filters filters={part === "inbox" ? [ofClass] : [ofStatus, ofClass]} />
      <div class="beside">
        <List
          name="approval.list"
          members={{ status, class: operationClass, mine, decidable, tenant }}
          caption={captions[part]}
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
          empty={<NoRequests />}
        />
        {id !== undefined && (
          <RequestPanel key={id} id={id} closeHref={hrefOf(["approvals"], address.query)} />
        )}
      </div>
    </>
  );
}

type Part = keyof typeof captions;

function partOf({ query }: Address): Part {
  if (query.mine === "true") return "mine";
  return query.decidable === "true" ? "inbox" : "all";
}

const captions = {
  inbox: "What you can decide, newest first",
  mine: "What you have asked for, newest first",
  all: "Requests for approval, newest first",
} as const;

/** A filter that hides all is no sign that there is nothing. */
function NoRequests() {
  const address = useAddress();
  const { status, class: operationClass, mine, tenant } = address.query;
  const filtered = operationClass !== undefined || tenant !== undefined;
  if (partOf(address) === "inbox" && !filtered) return <NothingToDecide />;
  if (status === "pending" && mine === undefined && !filtered) {
    return (
      <>
        <p>Nothing waits for you or anybody else.</p>
        <ShowAll />
        <Copy text="pkid approvals list --status pending" name="command" />
      </>
    );
  }
  if (status === undefined && !filtered) {
    return (
      <>
        <p>{mine === undefined ? "No request was ever made." : "You have asked for nothing."}</p>
        {mine === undefined ? <WhatTakesTwo /> : <ShowAll />}
        <Copy text="pkid approvals list" name="command" />
      </>
    );
  }
  return (
    <>
      <p>No request is as the filters say.</p>
      <ShowAll />
      <Copy text="pkid approvals list" name="command" />
    </>
  );
}

function NothingToDecide() {
  const right = rightByRoles(useConsole(), "approval.approve");
  return (
    <>
      <p>Nothing waits for your decision.</p>
      {!right.allowed && <p class="quiet">{right.reason}</p>}
      <ShowAll />
      <Copy text="pkid approvals list --decidable" name="command" />
    </>
  );
}

const WhatTakesTwo = () => (
  <a
    class="button plain"
    href={hrefOf(["operations", "settings"], { defaults: true, q: "approvals." })}
  >
    See what takes two here
  </a>
);

const ShowAll = () => (
  <a class="button" href={hrefOf(["approvals"])}>
    Show all requests
  </a>
);

const columns: readonly Column<RowOf<"approval.list">>[] = [
  {
    name: "What",
    wraps: true,
    cell: (approval) => {
      const target = targetOf(approval);
      return (
        <>
          {approval.summary}
          {target !== undefined && <span class="quiet"> {plainText(target)}</span>}
        </>
      );
    },
  },
  { name: "State", cell: (approval) => <State approval={approval} /> },
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
  {
    name: "Said",
    wide: true,
    cell: ({ decisions }) => shortText(decisions.findLast(({ comment }) => comment)?.comment ?? ""),
  },
  { name: "Asked", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    name: "Outcome",
    wide: true,
    cell: (approval) => {
      const { name, at } = cameOf(approval);
      return (
        <>
          {name} <Distance at={at} />
        </>
      );
    },
  },
];

/** With what is left to do where that is the caller's. */
function State({ approval }: { readonly approval: RowOf<"approval.list"> }) {
  const { caller } = useConsole();
  const { status, requested_by } = approval;
  const waits = secretWaits(approval) && requested_by === caller.sub;
  return (
    <>
      <Status word={status} />
      {waits && <span class="quiet">, its secret waits for you</span>}
    </>
  );
}

const ofStatus: Filter = {
  name: "status",
  label: "State",
  choices: approvalStatuses.map((value) => ({ value, label: value })),
};

const ofClass: Filter = {
  name: "class",
  label: "Class",
  choices: approvalClasses.map((value) => ({ value, label: value })),
};

/** Parked, decided and done: `<class>.pending` and its like, and the operation's own event. */
const decided = approvalClasses.map((name) => `${name}*`);
