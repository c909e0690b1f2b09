/** `pkid revoke`: revokes, suspends and releases certificates, one or many. */

import type { Serial } from "#core/ids.ts";

import { reason, word } from "#cli/args.ts";
import { certificateOf } from "#cli/certificate-reference.ts";
import type { Client } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { agreed } from "#cli/confirm.ts";
import { Failure, Refusal } from "#cli/failure.ts";
import { caArg } from "#cli/references.ts";
import { facts } from "#cli/rows.ts";

import { revokeBulk } from "./revoke-bulk.ts";

const shown = ["status", "serial", "ca_id", "revoked_at", "reason"] as const;

export const revokeVerbs: Readonly<Record<string, Command>> = {
  cert: command({
    summary: "Revoke a certificate for good, by its serial or its file.",
    args: {
      serial: word(),
      ca: caArg,
      reason: reason("unspecified"),
    },
    run: async ({ args, globals, io, client, print }) => {
      const { ca, reason } = args;
      const format = globals["serial-format"];
      const argument = { ca, text: args.serial, format, writes: true };
      const { id, serial } = await certificateOf(client, io, argument);
      // A hold of what was never issued is refused by the instance.
      if (reason !== "certificateHold" && !(await isKnown(client, id, serial))) {
        const sentence = `${ca} has issued no certificate with serial ${serial}; its CRL will list a number that means nothing yet.`;
        await agreed(sentence, globals.yes, io);
      }
      const result = await client.ask("cert.revoke", { id, serial, reason });
      print(result, facts(result, shown));
    },
  }),
  suspend: verb("Put a certificate on hold, by its serial or its file.", "cert.suspend"),
  release: verb("Take a certificate off hold, by its serial or its file.", "cert.release"),
  bulk: revokeBulk,
};

/**
 * False when the CA says that it has issued nothing with this serial. Whoever may not look is told
 * nothing, and a brake must not wait for that: every other answer is true.
 */
async function isKnown(client: Client, id: string, serial: Serial): Promise<boolean> {
  try {
    await client.ask("cert.show", { id, serial });
    return true;
  } catch (error) {
    if (codeOf(error) !== "not_found") return true;
  }
  try {
    // The inventory shows leaves only; the plan of a bulk revocation knows certificates of CAs and
    // responders too.
    const filter = { serials: [serial], include_expired: true };
    const members = { id, filter, reason: "unspecified", dry_run: true };
    return (await client.ask("cert.revoke_bulk", members)).unknown !== 1;
  } catch (error) {
    if (error instanceof Refusal || error instanceof Failure) return false;
    throw error;
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Refusal ? error.body.code : "");

function verb(summary: string, operation: "cert.suspend" | "cert.release"): Command {
  return command({
    summary,
    args: { serial: word(), ca: caArg },
    run: async ({ args, globals, io, client, print }) => {
      const format = globals["serial-format"];
      const argument = { ca: args.ca, text: args.serial, format, writes: true };
      const { id, written } = await certificateOf(client, io, argument);
      const result = await client.ask(operation, { id, serial: written });
      print(result, facts(result, shown));
    },
  });
}
