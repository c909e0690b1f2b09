/** `pkid cert list`: the inventory as a table, as JSON, or as CSV that is written page by page. */

import { type Args, oneOf, pageArgs, toggle, value } from "#cli/args.ts";
import type { Answer } from "#cli/client.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { csvLine } from "#cli/csv.ts";
import { UsageError } from "#cli/failure.ts";
import { givenFingerprint } from "#cli/key-files.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { columns, type ItemIn, rowsAt, shellWord, textAt } from "#cli/rows.ts";

export const certList: Command = command({
  summary: "List the certificates of a CA, newest first.",
  args: {
    ca: caArg,
    status: oneOf("Only those in a state.", "status", [
      "good",
      "valid",
      "revoked",
      "held",
      "expired",
    ]),
    profile: value("Only those of a profile.", "name"),
    q: value("Text in subject or names, or a whole serial.", "text"),
    "serial-prefix": value("First digits of the serial, decimal or 0x hex.", "digits"),
    "expires-before": value("Time or day.", "time"),
    "by-public-key": value(
      "Only those with a key: hex, SHA256:<base64>, or a certificate, request or key file.",
      "key",
    ),
    "certificate-sha256": value(
      "Only the one with this SHA-256 of the whole certificate.",
      "digest",
    ),
    "requested-by": value("Only those that somebody asked for.", "subject"),
    ...pageArgs,
    csv: toggle("Print CSV; with --all of any length, as it arrives."),
  },
  run: async ({ args, globals, client, io, print, note }) => {
    if (args.csv && globals.json) throw new UsageError("--csv and --json exclude each other.");
    const key = args["by-public-key"];
    const { status, profile, q, limit, cursor } = args;
    const members = {
      status,
      profile,
      q,
      cursor,
      limit: limit ?? (args.all ? pageRows : undefined),
      serial_prefix: args["serial-prefix"],
      expires_before: args["expires-before"],
      public_key_sha256: key === undefined ? undefined : await givenFingerprint(io, key),
      certificate_sha256: args["certificate-sha256"],
      requested_by: args["requested-by"],
      id: await caIdOf(client, args.ca),
    };
    if (args.csv) {
      io.stdout.write(csvLine(csvColumns));
      for await (const page of client.pages("cert.list", members, args.all)) {
        const lines = rowsAt(page, "items").map((row) => csvLine(csvColumns.map(cellOf(row))));
        io.stdout.write(lines.join(""));
      }
      return 0;
    }
    const list = await client.list("cert.list", members, args.all);
    print(list, columns(rowsAt(list, "items"), shown));
    if (key !== undefined) noteRevocation(rowsAt(list, "items"), args.ca, key, note);
    return 0;
  },
});

type Certificate = ItemIn<Answer<"cert.list">, "items">;

/** A key search mostly follows a key that leaked: the line that revokes what it finds. */
function noteRevocation(
  rows: readonly Certificate[],
  ca: string,
  key: string,
  note: Invocation<Args>["note"],
): void {
  if (!rows.some((row) => revocable.has(textAt(row, "status")))) return;
  const line = `pkid revoke bulk --ca ${shellWord(ca)} --by-public-key ${shellWord(key)}`;
  note(`To revoke what has this key:\n  ${line} --reason keyCompromise`);
}

const cellOf = (row: Certificate) => (key: (typeof csvColumns)[number]) => textAt(row, key);

const revocable: ReadonlySet<string> = new Set(["good", "held"]);
const shown = ["serial", "profile", "status", "subject", "not_after"] as const;
const csvColumns = [
  "serial",
  "status",
  "profile",
  "subject",
  "common_name",
  "sans",
  "not_before",
  "not_after",
  "revoked_at",
  "reason",
  "requested_by",
  "created_at",
  "superseded",
  "marker",
  "public_key_fingerprint",
  "ca_id",
  "id",
] as const;
/** Fewer, larger pages where all of them are wanted. */
const pageRows = 500;
