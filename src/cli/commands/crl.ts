/** `pkid crl`: fetches, describes and publishes certificate revocation lists. */

import { type Command, command } from "#cli/command.ts";
import { required, toggle, value } from "#cli/flags.ts";
import { writeResult } from "#cli/io.ts";
import { caIdOf } from "#cli/references.ts";
import { facts, type Row, rowOf } from "#cli/rows.ts";

const ca = required("CA, by id or label.", "<ca>");

export const crlVerbs: Readonly<Record<string, Command>> = {
  get: command({
    summary: "Fetch the published CRL.",
    flags: {
      ca,
      out: value("File to write instead of stdout.", "<file>"),
      der: toggle("Binary instead of PEM."),
    },
    run: async ({ flags, globals, client, io, print }) => {
      const id = await caIdOf(client, flags.ca);
      const query = flags.der ? {} : { format: "pem" };
      const crl = await client.fetch("crl.read", { path: { id }, query });
      if (globals.json && flags.out === undefined) {
        print(flags.der ? { crl_der: crl.toBase64() } : { crl: new TextDecoder().decode(crl) }, "");
      } else writeResult(io, flags.out, crl);
      return 0;
    },
  }),
  status: command({
    summary: "Tell numbers, times and counts of the published CRL.",
    flags: { ca },
    run: async ({ flags, client, print }) => {
      const id = await caIdOf(client, flags.ca);
      const status = await client.ask("crl.status", { path: { id } });
      print(status, human(status));
      return 0;
    },
  }),
  publish: command({
    summary: "Sign and publish the CRL now.",
    local: true,
    flags: { ca },
    run: async ({ flags, client, print }) => {
      const id = await caIdOf(client, flags.ca);
      const status = await client.ask("crl.publish", { path: { id } });
      print(status, human(status));
      return 0;
    },
  }),
};

const human = (status: Row): string =>
  facts(rowOf(status.base), [
    ...["available", "number", "this_update", "next_update", "expired", "revoked_count"],
  ]);
