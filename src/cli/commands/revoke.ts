/** `pkid revoke`: revokes, suspends and releases certificates, one or many. */

import type { OperationName } from "#operations";

import { valueOr, word } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { facts } from "#cli/rows.ts";

import { revokeBulk } from "./revoke-bulk.ts";

const shown = ["status", "serial", "revoked_at", "reason"];

export const revokeVerbs: Readonly<Record<string, Command>> = {
  cert: command({
    summary: "Revoke a certificate for good.",
    args: {
      serial: word(),
      ca: caArg,
      reason: valueOr("Revocation reason by name.", "reason", "unspecified"),
    },
    run: async ({ args, client, print }) => {
      const id = await caIdOf(client, args.ca);
      const body = { serial: args.serial, reason: args.reason };
      const result = await client.ask("cert.revoke", { path: { id }, body });
      print(result, facts(result, shown));
    },
  }),
  suspend: verb("Put a certificate on hold.", "cert.suspend"),
  release: verb("Take a certificate off hold.", "cert.release"),
  bulk: revokeBulk,
};

function verb(summary: string, operation: OperationName): Command {
  return command({
    summary,
    args: { serial: word(), ca: caArg },
    run: async ({ args, client, print }) => {
      const path = { id: await caIdOf(client, args.ca), serial: args.serial };
      const result = await client.ask(operation, { path });
      print(result, facts(result, shown));
    },
  });
}
