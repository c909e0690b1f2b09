/**
 * A collection as a table: one page at a time both ways, a row leads to its panel, and new rows
 * come by themselves.
 */

import type { ComponentChildren } from "preact";
import type { Answers, Questions } from "#api/answers.ts";
import type { ListEnvelope } from "#api/pages.ts";
import { hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { useQueryOf } from "./answered-question.ts";
import { pageAfter, pageBefore, pageWay, type Way } from "./paging.ts";
import { Outcome, useAsked, Waiting } from "./asked.tsx";

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Left out where there is little room. */
  readonly wide?: boolean;
  /** Has as many lines as it needs, where others end in dots. */
  readonly wraps?: boolean;
  /** Has texts without words, which are broken anywhere. */
  readonly value?: boolean;
}

export type ListName = {
  [Name in keyof Answers]: Answers[Name] extends ListEnvelope<unknown> ? Name : never;
}[keyof Answers];
export type RowOf<Name extends ListName> = Answers[Name]["items"][number];

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Where a row leads; its first cell becomes the link. */
  readonly hrefOf?: ((row: Row) => string) | undefined;
  /** The key of the row that is open beside the table. */
  readonly selected?: string | undefined;
  /** Where there is little room the cells of a row stand below each other. */
  readonly stacked?: boolean;
}

/** Rows in the order given. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, keyOf, hrefOf, selected, stacked = false } = props;
  return (
    <table class={stacked ? "stacked" : undefined}>
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ name, wide }) => (
            <th key={name} scope="col" class={wide ? "wide" : undefined}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const key = keyOf(row);
          return (
            <tr key={key} class={key === selected ? "selected" : undefined}>
              {columns.map(({ name, cell, wide, wraps, value }, index) => (
                <td key={name} class={classOf({ wide, wraps, value })}>
                  {index === 0 && hrefOf !== undefined ? (
                    <a
                      class="row"
                      href={hrefOf(row)}
                      aria-current={key === selected ? "true" : undefined}
                    >
                      {cell(row)}
                    </a>
                  ) : (
                    cell(row)
                  )}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const classOf = (looks: Readonly<Record<string, boolean | undefined>>): string | undefined =>
  Object.keys(looks)
    .filter((name) => looks[name] === true)
    .join(" ") || undefined;

interface ListProps<Name extends ListName> {
  readonly name: Name;
  /** What the operation is asked with beside the page; nothing is asked while undefined. */
  readonly members: Questions[Name] | undefined;
  readonly caption: string;
  readonly columns: readonly Column<RowOf<Name>>[];
  readonly keyOf: (row: RowOf<Name>) => string;
  readonly hrefOf?: (row: RowOf<Name>) => string;
  readonly selected?: string | undefined;
  /** Actions in the feed that change the list. */
  readonly live?: readonly string[];
  /** What to do next, said where there is no row. */
  readonly empty: ComponentChildren;
  /** Drawn above the rows with the answer, for what a list says beside its rows. */
  readonly above?: (answer: Answers[Name]) => ComponentChildren;
}

/** The collection at the cursor of the address. */
export function List<Name extends ListName>(props: ListProps<Name>) {
  const { name, members, live, empty, above } = props;
  const address = useAddress();
  const { cursor } = address.query;
  const paged =
    members === undefined
      ? undefined
      : // Every collection takes both.
        ({
          ...members,
          limit: rowsOfPage,
          ...(cursor === undefined ? {} : { cursor }),
        } as Questions[Name]);
  // Only the first page grows; the others stay what they were when the walk began.
  const { reply, busy, refresh } = useAsked(name, paged, cursor === undefined ? live : []);
  if (reply === undefined) return <Waiting />;
  if (reply.kind !== "answered") return <Outcome reply={reply} again={refresh} />;
  // `Name` is a collection, so its answer is one.
  const answer = reply.answer as Answers[Name] & ListEnvelope<RowOf<Name>>;
  return (
    <div class="list" aria-busy={busy}>
      {above?.(answer)}
      {answer.items.length === 0 ? (
        <div class="empty">{empty}</div>
      ) : (
        <div class="scroll">
          <Table {...props} rows={answer.items} />
        </div>
      )}
      <Pager answer={answer} rows={rowsOfPage} />
    </div>
  );
}

interface PagerProps {
  readonly answer: ListEnvelope<unknown>;
  /** Of a page. */
  readonly rows: number;
  /** Where it is not the list of the page. */
  readonly way?: Way;
  readonly name?: string;
}

/**
 * Cursors lead one way only, so the way back is the browser's own where one came from there, and
 * what the address keeps of the way where a link was opened in the middle.
 */
export function Pager({ answer, rows, way = pageWay, name = "Pages of the list" }: PagerProps) {
  const address = useAddress();
  const page = Number(address.query[way.page]) || 1;
  const query = `${page} ${address.query[way.cursor] ?? ""}`;
  // The rows of a page stay until the rows of the next one arrive.
  const shown = useQueryOf(answer, query);
  const [shownPage] = shown.split(" ");
  const first = (Math.max(1, Number(shownPage)) - 1) * rows;
  const { items, total, has_more, next_cursor } = answer;
  const back = () => {
    if (cameFrom(history.state, way) === page - 1 && page > 1) history.back();
    else visit(hrefWith(address, pageBefore(address.query, page, way)));
  };
  const on = () => {
    // The cursor of these rows leads to the page that is awaited already.
    if (shown !== query) return;
    visit(hrefWith(address, pageAfter(address.query, page, next_cursor, way)));
    history.replaceState({ [way.page]: page }, "");
  };
  if (items.length === 0 && page === 1) return null;
  return (
    <nav class="pager" aria-label={name}>
      <span class="quiet">
        {items.length === 0 ? "no rows" : `${first + 1}–${first + items.length}`} of{" "}
        {total.toLocaleString("en")}
      </span>
      <button type="button" class="button plain" disabled={page === 1} onClick={back}>
        <span aria-hidden="true">‹</span> Back
      </button>
      <button type="button" class="button plain" disabled={!has_more} onClick={on}>
        Next <span aria-hidden="true">›</span>
      </button>
    </nav>
  );
}

/** The page of this very list from which one came; a step through another one is none of it. */
const cameFrom = (state: unknown, { page }: Way): number | undefined => {
  const from: unknown =
    typeof state === "object" && state !== null ? Reflect.get(state, page) : undefined;
  return typeof from === "number" ? from : undefined;
};

/** Of every list. */
export const rowsOfPage = 50;
