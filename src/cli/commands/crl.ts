/** `pkid crl`: fetches, describes and publishes certificate revocation lists. */

import type { OperationName } from "#operations";

import { toggle, value } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { writeResult } from "#cli/io.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { facts, rowOf } from "#cli/rows.ts";

export const crlVerbs: Readonly<Record<string, Command>> = {
  get: command({
    summary: "Fetch the published CRL.",
    args: {
      ca: caArg,
      out: value("File to write instead of stdout.", "file"),
      der: toggle("Binary instead of PEM."),
    },
    run: async ({ args, globals, client, io, print }) => {
      const id = await caIdOf(client, args.ca);
      const query = args.der ? {} : { format: "pem" };
      const crl = await client.fetch("crl.read", { path: { id }, query });
      if (globals.json && args.out === undefined) {
        print(args.der ? { crl_der: crl.toBase64() } : { crl: new TextDecoder().decode(crl) }, "");
      } else writeResult(io, args.out, crl);
    },
  }),
  status: verb("Tell numbers, times and counts of the published CRL.", "crl.status"),
  publish: { ...verb("Sign and publish the CRL now.", "crl.publish"), local: true },
};

function verb(summary: string, operation: OperationName): Command {
  return command({
    summary,
    args: { ca: caArg },
    run: async ({ args, client, print }) => {
      const id = await caIdOf(client, args.ca);
      const status = await client.ask(operation, { path: { id } });
      print(status, facts(rowOf(status.base), shown));
    },
  });
}

const shown = [
  ...["available", "number", "this_update", "next_update", "expired", "revoked_count"],
];
