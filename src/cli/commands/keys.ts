/**
 * `pkid keys`: blocks, lists and unblocks public keys, each named by a file or by its fingerprint.
 */

import { pageArgs, required, value } from "#cli/args.ts";
import type { Client } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import type { Io } from "#cli/io.ts";
import { fileFingerprint } from "#cli/key-files.ts";
import { columns, facts, rowsAt, textAt } from "#cli/rows.ts";

/** The ways to name a public key; files are read and fingerprinted here and never sent. */
const keyArgs = {
  cert: value("Certificate in PEM or DER with the key.", "file"),
  csr: value("Request in PEM or DER with the key.", "file"),
  key: value("Public key in PEM or DER, - for stdin.", "file"),
  fingerprint: value("Fingerprint of the key: hex, or SHA256:<base64>.", "fingerprint"),
} as const;

export const blockVerbs: Readonly<Record<string, Command>> = {
  add: command({
    summary: "Block a key; certificates that have it stay as they are.",
    args: { ...keyArgs, reason: required("Why, 1 to 200 characters.", "text") },
    run: async ({ args, io, client, print, note }) => {
      const key = await namedKey(io, args);
      if (key === undefined) throw new UsageError(oneOfThem);
      const { reason } = args;
      const record = await client.ask("key.block", { public_key_sha256: key, reason });
      print(record, facts(record, shown));
      const matching = textAt(record, "matching_certificates");
      if (matching !== "0") note(`${matching} unrevoked certificates have this key.`);
    },
  }),
  list: command({
    summary: "List blocked keys, newest first.",
    args: { ...keyArgs, q: value("Text in the reason.", "text"), ...pageArgs },
    run: async ({ args, io, client, print }) => {
      const { q, limit, cursor } = args;
      const public_key_sha256 = await namedKey(io, args);
      const members = { q, limit, cursor, public_key_sha256 };
      const list = await client.list("blocked_key.list", members, args.all);
      const keys = [
        "id",
        "public_key_fingerprint",
        "tenant_id",
        "source",
        "reason",
        "created_at",
      ] as const;
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
  remove: command({
    summary: "Take a key off the list.",
    args: { ...keyArgs, id: value("Id of its row, instead of the key.", "id") },
    run: async ({ args, io, client, print }) => {
      const key = await namedKey(io, args);
      if ((key === undefined) === (args.id === undefined)) throw new UsageError(orItsId);
      const id = args.id ?? (await rowOf(client, key));
      const result = await client.ask("key.unblock", { id });
      print(result, `${textAt(result, "status")}\n`);
    },
  }),
};

/** The fingerprint of the one key named; undefined when none is. */
async function namedKey(
  io: Io,
  given: Readonly<Record<keyof typeof keyArgs, string | undefined>>,
): Promise<string | undefined> {
  const { cert, csr, key, fingerprint } = given;
  if ([cert, csr, key, fingerprint].filter((one) => one !== undefined).length > 1) {
    throw new UsageError(oneOfThem);
  }
  if (cert !== undefined) return await fileFingerprint(io, "certificate", cert);
  if (csr !== undefined) return await fileFingerprint(io, "request", csr);
  if (key !== undefined) return await fileFingerprint(io, "public key", key);
  return fingerprint;
}

async function rowOf(client: Client, key: string | undefined): Promise<string> {
  const list = await client.ask("blocked_key.list", { public_key_sha256: key });
  const [row, another] = rowsAt(list, "items");
  if (row === undefined) throw new Failure("This key is not blocked.");
  if (another !== undefined) {
    throw new Failure("This key is blocked for several tenants; name the row by --id.");
  }
  return textAt(row, "id");
}

const oneOfThem = "Name the key by exactly one of --cert, --csr, --key and --fingerprint.";
const orItsId =
  "Name the key by one of --cert, --csr, --key and --fingerprint, or its row by --id.";

const shown = [
  "id",
  "public_key_fingerprint",
  "reason",
  "source",
  "created_by",
  "created_at",
  "matching_certificates",
] as const;
