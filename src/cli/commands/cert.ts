/** `pkid cert`: issues, lists and shows certificates. */

import { type Command, command } from "#cli/command.ts";
import { number, required, toggle, value, valueOr } from "#cli/flags.ts";
import { readTextArgument, writeResult } from "#cli/io.ts";
import { caIdOf } from "#cli/references.ts";
import { columns, facts, rowsAt, textAt } from "#cli/rows.ts";

const ca = required("CA, by id or label.", "<ca>");

export const certVerbs: Readonly<Record<string, Command>> = {
  issue: command({
    summary: "Issue a certificate for a request.",
    flags: {
      ca,
      csr: required("PKCS#10 request in PEM, - for stdin.", "<file>"),
      profile: valueOr("Profile.", "<name>", "server"),
      "validity-days": number("Validity in days, within the limits of the profile.", "<days>"),
      "must-staple": toggle("Ask for the must-staple extension, where the profile allows it."),
      out: value("File to write instead of stdout.", "<file>"),
      chain: toggle("Append the intermediates."),
    },
    run: async ({ flags, globals, client, io, print, note }) => {
      const csr = await readTextArgument(io, flags.csr);
      const id = await caIdOf(client, flags.ca);
      const issued = await client.ask("cert.issue", {
        path: { id },
        body: {
          ...{ csr, profile: flags.profile, validity_days: flags["validity-days"] },
          ...(flags["must-staple"] ? { must_staple: true } : {}),
        },
      });
      const pem = textAt(issued, flags.chain ? "chain" : "certificate");
      if (flags.out !== undefined && flags.out !== "-") writeResult(io, flags.out, pem);
      else if (!globals.json) writeResult(io, undefined, pem);
      if (globals.json) print(issued, "");
      note(`Serial ${textAt(issued, "serial")}, valid until ${textAt(issued, "not_after")}.`);
      return 0;
    },
  }),
  list: command({
    summary: "List the certificates of a CA, newest first.",
    flags: {
      ca,
      status: value("Only good, revoked, held or expired ones.", "<status>"),
      profile: value("Only those of a profile.", "<name>"),
      q: value("Text in subject or names, or a whole serial.", "<text>"),
      "serial-prefix": value("First digits of the serial.", "<digits>"),
      "expires-before": value("Time or day.", "<time>"),
      limit: number("Rows per page.", "<n>"),
      cursor: value("Where the last page ended.", "<cursor>"),
      all: toggle("Follow every page."),
    },
    run: async ({ flags, client, print }) => {
      const { status, profile, q, limit, cursor } = flags;
      const query = {
        ...{ status, profile, q, limit, cursor },
        serial_prefix: flags["serial-prefix"],
        expires_before: flags["expires-before"],
      };
      const id = await caIdOf(client, flags.ca);
      const list = await client.list("cert.list", { path: { id }, query }, flags.all);
      const keys = ["serial", "profile", "status", "subject", "not_after"];
      print(list, columns(rowsAt(list, "items"), keys));
      return 0;
    },
  }),
  show: command({
    summary: "Show one certificate.",
    takes: ["serial"],
    flags: { ca },
    run: async ({ words: [serial = ""], flags, client, print }) => {
      const path = { id: await caIdOf(client, flags.ca), serial };
      const found = await client.ask("cert.show", { path });
      print(found, facts(found, shown) + textAt(found, "certificate"));
      return 0;
    },
  }),
  orphans: command({
    summary: "List serials that were taken and never became a certificate.",
    local: true,
    flags: { ca: value("Only those of one CA.", "<ca>") },
    run: async ({ flags, client, print }) => {
      const ids =
        flags.ca === undefined
          ? rowsAt(await client.list("ca.list", { query: { limit: 500 } }, true), "items").map(
              (row) => textAt(row, "id"),
            )
          : [await caIdOf(client, flags.ca)];
      const items: unknown[] = [];
      for (const id of ids) {
        const orphans = await client.ask("cert.orphans", { path: { id } });
        items.push(...rowsAt(orphans, "items").map((orphan) => ({ ca_id: id, ...orphan })));
      }
      const list = { items, next_cursor: "", has_more: false, total: items.length };
      const keys = ["ca_id", "serial", "created_at", "purpose", "state"];
      print(list, columns(rowsAt(list, "items"), keys));
      return 0;
    },
  }),
};

const shown = [
  ...["serial", "status", "subject", "sans", "profile", "not_before", "not_after", "reason"],
  ...["revoked_at", "public_key_fingerprint", "requested_by", "created_at", "superseded"],
];
