/** What opens an archive or makes one, as a command line names it: never as the secret itself. */

import { join as joinShares, SharesUnfit } from "#core/backup/shares.ts";
import type { Opener } from "#core/backup/archive.ts";
import type { Config } from "#config/schema.ts";

import { many, value } from "./args.ts";
import type { Archives } from "./command.ts";
import { Failure, UsageError } from "./failure.ts";
import { type Io, readTextArgument } from "./io.ts";

/** The flags of every command that opens an archive. */
export const openArgs = () => ({
  identity: many("File with an identity, or with shares of one.", "file"),
  "passphrase-source": value("Passphrase instead: env:NAME, a file, or -.", "source"),
  "ledger-key": value("Fingerprint of the ledger key that must vouch for it.", "fingerprint"),
});

/** What `openArgs` were given. */
export interface OpenAsked {
  readonly identity: readonly string[];
  readonly "passphrase-source"?: string | undefined;
}

/**
 * What the flags name, else what the configuration opens its own archives with, else a passphrase
 * that is asked for; undefined where none of these can be had. `UsageError` for flags that exclude
 * each other.
 */
export async function openerOf(
  {
    archives,
    io,
    config,
  }: { readonly archives: Archives; readonly io: Io; readonly config: Config },
  asked: OpenAsked,
): Promise<Opener | undefined> {
  const source = asked["passphrase-source"];
  if (asked.identity.length === 0 && source === undefined) {
    const configured = await archives.configuredOpener(config);
    if (configured !== undefined || io.ask === undefined) return configured;
  }
  return await openerFrom(io, asked.identity, source);
}

/**
 * The passphrase a source names: `-` for standard input, `env:NAME`, `file:PATH` or the path of a
 * file, whose first line it is. Fails for one that holds none.
 */
export async function passphraseFrom(io: Io, source: string): Promise<string> {
  const variable = source.startsWith("env:") ? source.slice(4) : undefined;
  const text =
    variable === undefined
      ? await readTextArgument(io, source.replace(/^file:/, ""), secretMax)
      : (io.env[variable] ?? "");
  const [line = ""] = text.split(/\r?\n/);
  if (line === "") throw new Failure(`There is no passphrase in ${source}.`);
  return line;
}

/**
 * What `--identity` and `--passphrase-source` give: identities in files, one to a line beside
 * comments, or shares of one identity, as many as are needed, a file each or several in one. Asks
 * for a passphrase at a terminal where neither is given. `UsageError` for both.
 */
export async function openerFrom(
  io: Io,
  files: readonly string[],
  source: string | undefined,
): Promise<Opener> {
  if (source !== undefined && files.length > 0) {
    throw new UsageError("--identity and --passphrase-source exclude each other.");
  }
  if (source !== undefined) return { passphrase: await passphraseFrom(io, source) };
  if (files.length === 0) return { passphrase: await askedPassphrase(io) };
  const lines: string[] = [];
  for (const file of files) {
    const text = await readTextArgument(io, file, secretMax);
    lines.push(...text.split(/\r?\n/).map((line) => line.trim()));
  }
  const said = lines.filter((line) => line !== "" && !line.startsWith("#"));
  const shares = said.filter((line) => line.startsWith("pkid-share-"));
  const identities = said.filter((line) => !line.startsWith("pkid-share-"));
  if (shares.length > 0) identities.push(joined(shares));
  if (identities.length === 0) throw new Failure(`There is no identity in ${files.join(", ")}.`);
  return { identities };
}

function joined(shares: readonly string[]): string {
  try {
    return new TextDecoder().decode(joinShares(shares));
  } catch (error) {
    if (error instanceof SharesUnfit) throw new Failure(error.message);
    throw error;
  }
}

async function askedPassphrase({ ask }: Io): Promise<string> {
  const passphrase = await ask?.("Passphrase of the archive: ");
  if (passphrase !== undefined && passphrase !== "") return passphrase;
  throw new UsageError("Say what opens the archive: --identity or --passphrase-source.");
}

const secretMax = 65_536;
