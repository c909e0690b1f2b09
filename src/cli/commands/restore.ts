/** `pkid restore`: an archive becomes an instance, or nothing changes. */

import { openArgs, openerFrom } from "#cli/archive-openers.ts";
import { many, toggle, value, word } from "#cli/args.ts";
import { command, type NewKekReport, type RestoreReport } from "#cli/command.ts";
import { missingText, otherTokenText } from "#cli/hsm-keys-text.ts";
import { readArgument } from "#cli/io.ts";
import { loadedConfig, refuseElsewhere } from "#cli/open-reach.ts";
import { facts, rowOf } from "#cli/rows.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { listedSerialRange } from "#core/ids.ts";

export const restore = command({
  summary: "Restore an archive into an empty data directory and an empty database.",
  local: true,
  args: {
    archive: word(),
    ...openArgs(),
    into: value("Data directory to restore into, instead of the configured one.", "directory"),
    "to-database": value("Configuration file whose database it goes to.", "file"),
    "dry-run": toggle("Prove everything, and change nothing."),
    "with-crl": many("CRL published after the backup: what it revokes stays revoked.", "file"),
    "allow-missing-keys": toggle("Restore also when keys of CAs are not to be found."),
    "new-kek": toggle("Do without the KEK that is lost: seal everything under a new one."),
    older: toggle("Restore also when a later archive of the instance is known."),
  },
  run: async ({ args, globals, io, deps, print, note, complain, patiently }) => {
    refuseElsewhere(globals, io);
    const place = args.into === undefined ? {} : { "data-dir": args.into };
    const { config } = loadedConfig({ ...globals, ...place }, io);
    const elsewhere = args["to-database"];
    const other = elsewhere && loadedConfig({ ...globals, ...place, config: elsewhere }, io).config;
    const to = other ? { ...config, database: other.database } : config;
    const opener = await openerFrom(io, args.identity, args["passphrase-source"]);
    const crls: { file: string; text: string }[] = [];
    for (const file of args["with-crl"]) {
      crls.push({ file, text: crlText(await readArgument(io, file, crlMax)) });
    }
    const { archive, older } = args;
    const source = { archive, opener, ledgerKey: args["ledger-key"] };
    const asked = {
      dryRun: args["dry-run"],
      allowMissingKeys: args["allow-missing-keys"],
      newKek: args["new-kek"],
      older,
      crls,
    };
    const report = await patiently(deps.archives.restore(to, source, asked));
    print(report, reportText(report, config.data_dir));
    if (report.hsm !== undefined) {
      const [missing, other] = [missingText(report.hsm), otherTokenText(report.hsm)];
      if (missing !== "") complain(missing);
      if (other !== "") note(other);
    }
    for (const { file, entries, serials } of report.skipped) {
      const range = `Only serials from ${listedSerialRange} can be stored`;
      note(`${file}: entries skipped: ${entries}. ${range}, not ${serials.join(", ")}.`);
    }
    for (const { place, why } of report.later.unseen) {
      note(`Whether there is a later archive in ${place} is not known. ${why}`);
    }
    for (const { ca, label, reason, next } of report.unsigned) {
      complain(`The list of CA ${label} (${ca}) could not be signed: ${reason}. ${next}`.trim());
    }
    for (const label of report.kek?.lost_keys ?? []) {
      complain(`The private key ${label} does not open: the archive has no data key of it.`);
    }
    if (report.lost_seconds > 0 && !report.dry_run) {
      note(
        `Whatever happened in the ${report.lost_seconds} s since the backup is lost, except what --with-crl brought: certificates issued since are unknown here.`,
      );
    }
    return report.unsigned.length > 0 || report.keys.status === "fail" ? 1 : 0;
  },
});

function reportText(report: RestoreReport, dataDir: string): string {
  const head = report.dry_run
    ? "The archive can be restored; nothing was changed.\n"
    : `Restored into ${dataDir}. Start it with \`pkid serve\`.\n`;
  const { keys, kek, later, hsm: _told, ...rest } = report;
  const sealed = kek === undefined ? "" : kekText(kek, report.dry_run);
  const told = facts(rowOf({ ...rest, keys: keys.detail }), [...shown]);
  return `${head}${sealed}${laterText(later)}${told}`;
}

const laterText = ({ looked_in, found }: RestoreReport["later"]): string =>
  found.length > 0
    ? `There are later archives of this instance: ${found.join(", ")}.\n`
    : `No later archive of this instance is in ${looked_in.join(" or ")}; elsewhere was not looked.\n`;

const kekText = ({ label, provider, values, private_keys }: NewKekReport, dry: boolean) =>
  `${dry ? "A new KEK would seal" : "A new KEK seals"} ${values} values and ${private_keys} private keys: ${label} (${provider}).\n`;

/** PEM as it is, DER as PEM. */
const crlText = (octets: Uint8Array): string => {
  const text = Buffer.from(octets).toString("latin1");
  return text.includes("-----BEGIN") ? text : encodePem("X509 CRL", octets);
};

const shown = [
  "instance_id",
  "created_at",
  "audit_seq",
  "ledger_number",
  "rows",
  "database",
  "authorities",
  "keys",
  "imported",
] as const;
const crlMax = 134_217_728;
