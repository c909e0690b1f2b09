/** `pkid cert`: issues, lists and shows certificates. */

import { many, toggle, value, word } from "#cli/args.ts";
import { readCertificateAndChain, readCertificates } from "#cli/certificate-files.ts";
import { certificateOf } from "#cli/certificate-reference.ts";
import { certificateText } from "#cli/certificate-text.ts";
import type { Client } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { Refusal } from "#cli/failure.ts";
import { issueBulk } from "./cert-bulk.ts";
import { lintVerb } from "./cert-lint.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { columns, facts, rowsAt, textAt } from "#cli/rows.ts";

import { certExport } from "./cert-export.ts";
import { certInspect } from "./cert-inspect.ts";
import { certIssue } from "./cert-issue.ts";
import { certRenew, needsRenewal } from "./cert-renew.ts";
import { certList } from "./cert-list.ts";

export const certVerbs: Readonly<Record<string, Command>> = {
  issue: certIssue,
  "issue-bulk": issueBulk,
  renew: certRenew,
  "needs-renewal": needsRenewal,
  export: certExport,
  inspect: certInspect,
  lint: lintVerb,
  list: certList,
  show: command({
    summary: "Show one certificate, by its serial or its file.",
    args: { serial: word(), ca: caArg },
    run: async ({ args, globals, client, io, print, note }) => {
      const format = globals["serial-format"];
      const argument = { ca: args.ca, text: args.serial, format, writes: false };
      const { id, written } = await certificateOf(client, io, argument);
      const found = await client.ask("cert.show", { id, serial: written });
      const pem = textAt(found, "certificate");
      const events = globals.json
        ? ""
        : await eventsText(client, textAt(found, "ca_id") || id, textAt(found, "serial"), note);
      const parts = [facts(found, shown), certificateText(pem), events, pem];
      print(found, parts.filter((part) => part !== "").join("\n"));
    },
  }),
  validate: command({
    summary: "Say whether a certificate is valid under a CA.",
    args: {
      file: word(),
      ca: caArg,
      intermediate: many("File of intermediate certificates: PEM, DER or PKCS#7.", "file"),
      "skip-revocation": toggle("Do not look at revocation."),
    },
    run: async ({ args, client, io, print }) => {
      const { certificate, rest } = await readCertificateAndChain(io, args.file);
      const intermediates = [...rest];
      for (const file of args.intermediate) {
        intermediates.push(...(await readCertificates(io, file)));
      }
      const skip_revocation = args["skip-revocation"];
      const members = { ca: args.ca, certificate, intermediates, skip_revocation };
      const report = await client.ask("cert.validate", members);
      const listed = columns(rowsAt(report, "checks"), ["name", "status", "detail"]);
      print(report, `${facts(report, ["decision", "trust_anchor", "valid_until"])}\n${listed}`);
      return report.valid === true ? 0 : 1;
    },
  }),
  orphans: command({
    summary: "List serials that were taken and never became a certificate.",
    local: true,
    args: { ca: value("Only those of one CA.", "ca") },
    run: async ({ args, client, print }) => {
      const ids =
        args.ca === undefined
          ? rowsAt(await client.list("ca.list", { limit: 500 }, true), "items").map((row) =>
              textAt(row, "id"),
            )
          : [await caIdOf(client, args.ca)];
      const items: unknown[] = [];
      for (const id of ids) {
        const orphans = await client.list("cert.orphans", { id, limit: 500 }, true);
        items.push(...rowsAt(orphans, "items").map((orphan) => ({ ca_id: id, ...orphan })));
      }
      const list = { items, next_cursor: "", has_more: false, total: items.length };
      const keys = ["ca_id", "serial", "created_at", "purpose", "state"] as const;
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
};

/**
 * What happened to a certificate, newest first; whoever may not read the audit chain is told so and
 * sees the rest.
 */
async function eventsText(
  client: Client,
  ca: string,
  serial: string,
  note: (sentence: string) => void,
): Promise<string> {
  try {
    const list = await client.ask("event.list", { ca, serial });
    const keys = ["timestamp", "actor", "action", "result", "detail"] as const;
    return String(columns(rowsAt(list, "items"), keys));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    note(`Its events are not shown: ${error.message}`);
    return "";
  }
}

const shown = [
  "serial",
  "status",
  "profile",
  "reason",
  "revoked_at",
  "public_key_fingerprint",
  "requested_by",
  "created_at",
  "superseded",
] as const;
