/** What SQLite is asked by every store of this process, as texts in their order. */

import { spyOn } from "bun:test";

import { SqliteConnection } from "#adapters/db/engine/sqlite-connection.ts";

/** Begins to listen; `deaf` ends it. */
export function heardStatements(): { readonly sent: string[]; readonly deaf: () => void } {
  const sent: string[] = [];
  const compiled = SqliteConnection.prototype.compiled;
  const watch = spyOn(SqliteConnection.prototype, "compiled").mockImplementation(function (
    this: SqliteConnection,
    text,
  ) {
    sent.push(text);
    return compiled.call(this, text);
  });
  return { sent, deaf: () => watch.mockRestore() };
}
