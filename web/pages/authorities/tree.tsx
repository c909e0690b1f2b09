/** The tree of authorities: who stands below whom, in which state, with which key, until when. */

import { useEffect, useRef } from "preact/hooks";
import type { Answers, Questions } from "#api/answers.ts";
import { hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { casMax } from "#web/ui/ca-pages.ts";
import { Copy } from "#web/ui/copy.tsx";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { useDialog } from "#web/ui/layers.tsx";
import { type Column, Pager, Table } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Day, Distance } from "#web/ui/time.tsx";
import { useAbove } from "./above.ts";
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
        <Outcome reply={reply} again={refresh} />
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
  const { query } = useAddress();
  const { items, total, has_more } = answer;
  const isPaged = has_more || query.cursor !== undefined;
  // What filters leave out is not wanted; what stands on other pages is.
  const isPart = isPaged && query.q === undefined && query.status === undefined;
  const figures = useFigures(isPart);
  const above = useAbove(items, isPart);
  const rows = treeOf(items, above);
  useEffect(() => {
    if (!isPart) return;
    for (const { ca, below } of rows) if (below > 0) figures.changed(ca.id);
    // Anew with each answer: what is below a CA is on more pages than this one.
  }, [items]);
  if (items.length === 0) return <NoAuthorities />;
  return (
    <div class="list" aria-busy={busy}>
      {isPaged && (
        <p class="quiet small">
          Newest first, {casMax} at a time; filter by name to find one.
          {isPart && " Each stands below its issuer, which may be of another page."}
        </p>
      )}
      <div class="scroll">
        <Table
          caption="Authorities, each below the one that signed it"
          columns={columnsOf(figures)}
          rows={rows}
          keyOf={({ ca }) => ca.id}
          hrefOf={({ ca }) => caHref(ca.id)}
        />
      </div>
      {isPaged && <Pager answer={answer} rows={casMax} />}
      <p class="quiet small">
        {total.toLocaleString("en")} {total === 1 ? "authority" : "authorities"}
      </p>
    </div>
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
function NameCell({ row, figures }: NameCellProps) {
  const { ca, level, severed, elsewhere, below } = row;
  const place = useRef<HTMLSpanElement>(null);
  const { id, status, label } = ca;
  const { want } = figures;
  const others = (figures.of(id)?.below ?? 0) - below;
  useEffect(() => {
    if (place.current === null || status === "pending") return;
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      want(id);
    });
    observer.observe(place.current);
    return () => observer.disconnect();
    // Whoever has logged in again has asked for nothing yet.
  }, [id, status, want]);
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
      {elsewhere && <span class="quiet small"> · other page</span>}
      {others > 0 && (
        <span class="quiet small"> · {others.toLocaleString("en")} more below it</span>
      )}
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
    limit: casMax,
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

/** Deeper ones stand no further to the right. */
const levelMax = 6;
