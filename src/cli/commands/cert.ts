/** `pkid cert`: issues, lists and shows certificates. */

import { number, pageArgs, required, toggle, value, valueOr, word } from "#cli/args.ts";
import { certificateText } from "#cli/certificate-text.ts";
import type { Client } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { Refusal } from "#cli/failure.ts";
import { readTextArgument, writeResult } from "#cli/io.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { columns, facts, rowsAt, textAt } from "#cli/rows.ts";

export const certVerbs: Readonly<Record<string, Command>> = {
  issue: command({
    summary: "Issue a certificate for a request.",
    args: {
      ca: caArg,
      csr: required("PKCS#10 request in PEM, - for stdin.", "file"),
      profile: valueOr("Profile.", "name", "server"),
      "validity-days": number("Validity in days, within the limits of the profile.", "days"),
      "must-staple": toggle("Ask for the must-staple extension, where the profile allows it."),
      out: value("File to write instead of stdout.", "file"),
      chain: toggle("Append the intermediates."),
    },
    run: async ({ args, globals, client, io, print, note }) => {
      const csr = await readTextArgument(io, args.csr);
      const id = await caIdOf(client, args.ca);
      const issued = await client.ask("cert.issue", {
        path: { id },
        body: {
          ...{ csr, profile: args.profile, validity_days: args["validity-days"] },
          ...(args["must-staple"] ? { must_staple: true } : {}),
        },
      });
      const pem = textAt(issued, args.chain ? "chain" : "certificate");
      if (args.out !== undefined && args.out !== "-") writeResult(io, args.out, pem);
      else if (!globals.json) writeResult(io, undefined, pem);
      if (globals.json) print(issued, "");
      note(`Serial ${textAt(issued, "serial")}, valid until ${textAt(issued, "not_after")}.`);
    },
  }),
  list: command({
    summary: "List the certificates of a CA, newest first.",
    args: {
      ca: caArg,
      status: value("Only good, revoked, held or expired ones.", "status"),
      profile: value("Only those of a profile.", "name"),
      q: value("Text in subject or names, or a whole serial.", "text"),
      "serial-prefix": value("First digits of the serial.", "digits"),
      "expires-before": value("Time or day.", "time"),
      ...pageArgs,
    },
    run: async ({ args, client, print }) => {
      const { status, profile, q, limit, cursor } = args;
      const query = {
        ...{ status, profile, q, limit, cursor },
        serial_prefix: args["serial-prefix"],
        expires_before: args["expires-before"],
      };
      const id = await caIdOf(client, args.ca);
      const list = await client.list("cert.list", { path: { id }, query }, args.all);
      const keys = ["serial", "profile", "status", "subject", "not_after"];
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
  show: command({
    summary: "Show one certificate.",
    args: { serial: word(), ca: caArg },
    run: async ({ args, globals, client, print, note }) => {
      const id = await caIdOf(client, args.ca);
      const found = await client.ask("cert.show", { path: { id, serial: args.serial } });
      const pem = textAt(found, "certificate");
      const events = globals.json
        ? ""
        : await eventsText(client, id, textAt(found, "serial"), note);
      const parts = [facts(found, shown), certificateText(pem), events, pem];
      print(found, parts.filter((part) => part !== "").join("\n"));
    },
  }),
  orphans: command({
    summary: "List serials that were taken and never became a certificate.",
    local: true,
    args: { ca: value("Only those of one CA.", "ca") },
    run: async ({ args, client, print }) => {
      const ids =
        args.ca === undefined
          ? rowsAt(await client.list("ca.list", { query: { limit: 500 } }, true), "items").map(
              (row) => textAt(row, "id"),
            )
          : [await caIdOf(client, args.ca)];
      const items: unknown[] = [];
      for (const id of ids) {
        const orphans = await client.ask("cert.orphans", { path: { id } });
        items.push(...rowsAt(orphans, "items").map((orphan) => ({ ca_id: id, ...orphan })));
      }
      const list = { items, next_cursor: "", has_more: false, total: items.length };
      const keys = ["ca_id", "serial", "created_at", "purpose", "state"];
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
};

/** What happened to a certificate, newest first; whoever may not read the audit chain is told so and sees the rest. */
async function eventsText(
  client: Client,
  ca: string,
  serial: string,
  note: (sentence: string) => void,
): Promise<string> {
  try {
    const list = await client.ask("event.list", { query: { ca, serial } });
    return columns(rowsAt(list, "items"), ["timestamp", "actor", "action", "result", "detail"]);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    note(`Its events are not shown: ${error.message}`);
    return "";
  }
}

const shown = [
  ...["serial", "status", "profile", "reason", "revoked_at", "public_key_fingerprint"],
  ...["requested_by", "created_at", "superseded"],
];
