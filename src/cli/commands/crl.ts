/** `pkid crl`: fetches, describes, publishes and imports certificate revocation lists. */

import { listedSerialRange } from "#core/ids.ts";

import { number, toggle, value, word } from "#cli/args.ts";
import type { Answer } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { readArgument } from "#cli/io.ts";
import { openOut } from "#cli/out-file.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { columns, facts, type ItemIn, rowAt, rowsAt, textAt } from "#cli/rows.ts";

export const crlVerbs: Readonly<Record<string, Command>> = {
  get: command({
    summary: "Fetch a published CRL.",
    args: {
      ca: caArg,
      delta: toggle("The delta instead of the base."),
      shard: number("A partition instead of the full CRL.", "n"),
      out: value("File to write instead of stdout.", "file"),
      der: toggle("Binary instead of PEM."),
    },
    run: async ({ args, globals, client, io, print }) => {
      const write = openOut(io, args.out, "a CRL");
      const id = await caIdOf(client, args.ca);
      const format = args.der ? undefined : "pem";
      const { shard, delta } = args;
      const crl =
        shard === undefined
          ? await client.fetch(delta ? "crl.delta" : "crl.read", { id, format })
          : await client.fetch(delta ? "crl.partition_delta" : "crl.partition", {
              id,
              shard,
              format,
            });
      if (globals.json && args.out === undefined) {
        print(args.der ? { crl_der: crl.toBase64() } : { crl: new TextDecoder().decode(crl) }, "");
      } else write(crl);
    },
  }),
  status: command({
    summary: "Tell numbers, times and counts of the published CRLs.",
    args: { ca: caArg },
    run: async ({ args, client, print }) => {
      const id = await caIdOf(client, args.ca);
      const status = await client.ask("crl.status", { id });
      print(status, columns(rowsAt(status, "scopes").flatMap(listsOf), shown));
    },
  }),
  publish: {
    ...command({
      summary: "Sign and publish base and delta of every scope now.",
      args: { ca: caArg },
      run: async ({ args, client, print }) => {
        const id = await caIdOf(client, args.ca);
        const published = await client.ask("crl.publish", { id });
        print(published, columns(rowsAt(published, "scopes"), ["scope", "number", "delta_number"]));
      },
    }),
    local: true,
  },
  import: {
    ...command({
      summary: "Revoke what another CRL of the CA says.",
      args: { ca: caArg, file: word() },
      run: async ({ args, client, io, print, note }) => {
        const id = await caIdOf(client, args.ca);
        const octets = await readArgument(io, args.file, fileBytesMax);
        const pem = octets[0] === dash;
        const crl = pem ? new TextDecoder().decode(octets) : octets.toBase64();
        const counts = await client.ask("crl.import", { id, crl });
        print(counts, facts(counts, ["imported", "already_revoked", "skipped"]));
        const skipped = Number(counts.skipped ?? 0);
        if (skipped === 0) return;
        note(`Entries skipped: ${skipped}. Only serials from ${listedSerialRange} can be stored.`);
        note(`Skipped serials: ${textAt(counts, "skipped_serials").replaceAll(",", ", ")}.`);
      },
    }),
    local: true,
  },
};

/** The lists of one scope, a row each. */
const listsOf = (scope: ItemIn<Answer<"crl.status">, "scopes">) => [
  { scope: scope.scope, list: "base", ...rowAt(scope, "base") },
  { scope: scope.scope, list: "delta", ...rowAt(scope, "delta") },
];

const shown = [
  "scope",
  "list",
  "available",
  "number",
  "base_crl_number",
  "this_update",
  "next_update",
  "revoked_count",
] as const;
/** The first octet of PEM; DER begins with a SEQUENCE. */
const dash = 0x2d;
const fileBytesMax = 24 * 1024 * 1024;
