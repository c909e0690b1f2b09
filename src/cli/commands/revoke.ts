/** `pkid revoke`: revokes, suspends and releases certificates. */

import type { OperationName } from "#operations";

import { type Command, command } from "#cli/command.ts";
import { required, valueOr } from "#cli/flags.ts";
import { caIdOf } from "#cli/references.ts";
import { facts } from "#cli/rows.ts";

const ca = required("CA, by id or label.", "<ca>");
const shown = ["status", "serial", "revoked_at", "reason"];

export const revokeVerbs: Readonly<Record<string, Command>> = {
  cert: command({
    summary: "Revoke a certificate for good.",
    takes: ["serial"],
    flags: { ca, reason: valueOr("Revocation reason by name.", "<reason>", "unspecified") },
    run: async ({ words: [serial = ""], flags, client, print }) => {
      const id = await caIdOf(client, flags.ca);
      const body = { serial, reason: flags.reason };
      const result = await client.ask("cert.revoke", { path: { id }, body });
      print(result, facts(result, shown));
      return 0;
    },
  }),
  suspend: verb("Put a certificate on hold.", "cert.suspend"),
  release: verb("Take a certificate off hold.", "cert.release"),
};

function verb(summary: string, operation: OperationName): Command {
  return command({
    summary,
    takes: ["serial"],
    flags: { ca },
    run: async ({ words: [serial = ""], flags, client, print }) => {
      const path = { id: await caIdOf(client, flags.ca), serial };
      const result = await client.ask(operation, { path });
      print(result, facts(result, shown));
      return 0;
    },
  });
}
