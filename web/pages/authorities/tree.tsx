/** The tree of authorities: who stands below whom, in which state, with which key, until when. */

import { useEffect, useRef } from "preact/hooks";
import type { Answers, Questions } from "#api/answers.ts";
import { hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { useDialog } from "#web/ui/layers.tsx";
import { type Column, Table } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Day, Distance } from "#web/ui/time.tsx";
import { caActions, caHref, holderWord, keyWords } from "./ca.ts";
import { CreateDialog } from "./create-dialog.tsx";
import { type FiguresOfTree, useFigures } from "./figures.ts";
import { type TreeRow, treeOf } from "./forest.ts";
import { ListState, signedAt } from "./lists-tab.tsx";
import { RequestDialog } from "./request-dialog.tsx";

/** One question for the CAs; what each has issued is asked for as its row comes into sight. */
export function TreePage() {
  const address = useAddress();
  const { reply, busy, refresh } = useAsked("ca.list", membersOf(address.query), caActions);
  return (
    <>
      <Heading name="Authorities">
        <Action operation="ca.csr" look="plain" href={hrefWith(address, { dialog: "request" })}>
          Below an external root
        </Action>
        <Action
          operation="ca.init_root"
          look="primary"
          href={hrefWith(address, { dialog: "root" })}
        >
          Create a root
        </Action>
      </Heading>
      <Filters filters={filters} />
      {reply === undefined && <Waiting />}
      {reply?.kind === "answered" ? (
        <Tree answer={reply.answer} busy={busy} />
      ) : (
        <Outcome reply={reply} />
      )}
      <Dialogs onMade={refresh} />
    </>
  );
}

function Dialogs({ onMade }: { readonly onMade: () => void }) {
  const { open, close } = useDialog();
  if (open === "root") return <CreateDialog parent={undefined} onClose={close} onMade={onMade} />;
  if (open === "request") return <RequestDialog onClose={close} onMade={onMade} />;
  return null;
}

interface TreeProps {
  readonly answer: Answers["ca.list"];
  readonly busy: boolean;
}

function Tree({ answer, busy }: TreeProps) {
  const figures = useFigures();
  const { items, total } = answer;
  if (items.length === 0) return <NoAuthorities />;
  return (
    <div class="list" aria-busy={busy}>
      <div class="scroll">
        <Table
          caption="Authorities, each below the one that signed it"
          columns={columnsOf(figures)}
          rows={treeOf(items)}
          keyOf={({ ca }) => ca.id}
          hrefOf={({ ca }) => caHref(ca.id)}
        />
      </div>
      <Rest answer={answer} />
      <p class="quiet small">
        {total.toLocaleString("en")} {total === 1 ? "authority" : "authorities"}
      </p>
    </div>
  );
}

/** More than a page holds: the others are found by name, or page by page. */
function Rest({ answer: { has_more, next_cursor } }: Pick<TreeProps, "answer">) {
  const address = useAddress();
  const { cursor } = address.query;
  if (!has_more && cursor === undefined) return null;
  return (
    <nav class="pager" aria-label="Pages of the tree">
      <span class="quiet">Newest first, {treeMax} at a time; filter by name to find one.</span>
      {cursor !== undefined && (
        <a class="button plain" href={hrefWith(address, { cursor: undefined })}>
          Newest
        </a>
      )}
      {has_more && (
        <a class="button plain" href={hrefWith(address, { cursor: next_cursor })}>
          Older <span aria-hidden="true">›</span>
        </a>
      )}
    </nav>
  );
}

function NoAuthorities() {
  const address = useAddress();
  const { q, status } = address.query;
  if (q !== undefined || status !== undefined) {
    return (
      <div class="empty">
        <p>No authority is as the filters say.</p>
        <a class="button" href={hrefWith(address, { q: undefined, status: undefined })}>
          Show all
        </a>
      </div>
    );
  }
  return (
    <div class="empty">
      <p>There is no authority yet. Begin with a root, and issue a CA below it that signs.</p>
      <Action operation="ca.init_root" look="primary" href={hrefWith(address, { dialog: "root" })}>
        Create a root
      </Action>
      <Copy text='pkid ca init-root --label root --cn "Example Root"' name="command" />
    </div>
  );
}

const columnsOf = (figures: FiguresOfTree): readonly Column<TreeRow>[] => [
  { name: "Authority", cell: (row) => <NameCell row={row} figures={figures} /> },
  { name: "State", cell: ({ ca }) => <Status word={ca.status} /> },
  {
    name: "Key",
    cell: ({ ca }) => (
      <>
        {keyWords(ca)} <span class="quiet">· {holderWord(ca)}</span>
      </>
    ),
    wide: true,
  },
  { name: "Expires", cell: ({ ca }) => <Day at={ca.not_after} /> },
  { name: "Issued", cell: ({ ca }) => countText(figures.of(ca.id)?.issued), wide: true },
  { name: "Revoked", cell: ({ ca }) => countText(figures.of(ca.id)?.revoked), wide: true },
  { name: "CRL", cell: ({ ca }) => <ListCell id={ca.id} figures={figures} />, wide: true },
];

interface NameCellProps {
  readonly row: TreeRow;
  readonly figures: FiguresOfTree;
}

/** Asks for the figures of its row when it is first in sight. */
function NameCell({ row: { ca, level, severed }, figures }: NameCellProps) {
  const place = useRef<HTMLSpanElement>(null);
  const { id, status, label } = ca;
  useEffect(() => {
    if (place.current === null || status === "pending") return;
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      figures.want(id);
    });
    observer.observe(place.current);
    return () => observer.disconnect();
    // `figures` is a new object each time the tree is drawn, and means the same.
  }, [id, status]);
  return (
    <span ref={place} class={`level-${Math.min(level, levelMax)}`}>
      {severed && (
        <span class="quiet" aria-hidden="true">
          …{" "}
        </span>
      )}
      {level > 1 && (
        <span class="quiet" aria-hidden="true">
          └{" "}
        </span>
      )}
      {label}
      <span class="unseen">, level {level}</span>
      {severed && <span class="unseen">, its issuer is not in this list</span>}
      {ca.csr !== undefined && <span class="quiet small"> external</span>}
    </span>
  );
}

function ListCell({ id, figures }: { readonly id: string; readonly figures: FiguresOfTree }) {
  const list = figures.of(id)?.list;
  if (list === undefined) return <span aria-hidden="true">–</span>;
  return (
    <>
      {!list.available && <ListState list={list} />}{" "}
      {list.number !== undefined && <Distance at={signedAt(list)} />}
    </>
  );
}

const countText = (count: number | undefined) => count?.toLocaleString("en") ?? "–";

function membersOf(query: Readonly<Record<string, string>>): Questions["ca.list"] {
  const { q, status, tenant, cursor } = query;
  return {
    limit: treeMax,
    ...(q === undefined ? {} : { q }),
    ...(status === undefined ? {} : { status }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

const filters: readonly Filter[] = [
  { name: "q", label: "Name or subject" },
  {
    name: "status",
    label: "State",
    choices: ["active", "pending", "superseded", "retired"].map((value) => ({
      value,
      label: value,
    })),
  },
];

/** One page of the interface. */
const treeMax = 500;
/** Deeper ones stand no further to the right. */
const levelMax = 6;
