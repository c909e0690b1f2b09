/**
 * A table that reads well by eye and by screen reader: a caption, a header per column, a row per
 * item.
 */

import type { ComponentChildren } from "preact";

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Said instead of rows when there are none. */
  readonly empty: string;
}

/** Rows in the order given. */
export function Table<Row>({ caption, columns, rows, keyOf, empty }: TableProps<Row>) {
  return (
    <div class="scroll">
      <table>
        <caption>{rows.length === 0 ? empty : caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, cell }) => (
                <td key={name}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A timestamp of an answer to the second; the reader sees UTC, as in the audit log. */
export function Time({ at }: { readonly at: string | undefined }) {
  if (at === undefined) return <>–</>;
  return <time dateTime={at}>{at.slice(0, 19).replace("T", " ")} UTC</time>;
}

/** A status word: coloured, and never by colour alone. */
export function Status({ word }: { readonly word: string }) {
  const good = /^(good|active|up|ok|ready|success|leader|follower)$/.test(word);
  const bad = /^(revoked|down|not_ready|error|denied)$/.test(word);
  return <span class={good ? "good" : bad ? "bad" : "quiet"}>{word}</span>;
}
