/** `pkid backup`: makes archives, tries them, and makes the keys that open them. */

import { archivePlace, poured, writeArchive, writeSidecar } from "#app/backup/files.ts";
import { openArgs, openerOf, passphraseFrom } from "#cli/archive-openers.ts";
import { many, number, oneOf, required, toggle, value, word } from "#cli/args.ts";
import { type Command, command, type DrillPlace, type Invocation } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { loadedConfig } from "#cli/open-reach.ts";
import { writeNewFile } from "#cli/io.ts";
import { loadArchiveHistory } from "#cli/archive-history.ts";
import { facts, type Row, rowOf, textAt } from "#cli/rows.ts";
import { isSharing, split } from "#core/backup/shares.ts";

export const backupVerbs: Readonly<Record<string, Command>> = {
  create: command({
    summary: "Write one encrypted archive of everything, while the server goes on.",
    local: true,
    args: {
      out: required("File, directory, or - for standard output.", "place"),
      recipient: many("Who can open it, age1…; more than one may be given.", "recipient"),
      "passphrase-source": value("Passphrase instead: env:NAME, a file, or -.", "source"),
      "no-config": { ...toggle("Leave the configuration out."), alias: "without-config" },
    },
    run: async (invocation) => {
      const { args, client, globals, io, print, note, patiently } = invocation;
      const toOutput = args.out === "-";
      if (toOutput && globals.json) {
        throw new UsageError("--json and --out - both want standard output.");
      }
      if (toOutput && io.stdout.isTerminal) {
        throw new UsageError("--out - is for a pipe, not a terminal.");
      }
      const source = args["passphrase-source"];
      const passphrase = source === undefined ? undefined : await passphraseFrom(io, source);
      const recipients = args.recipient.length > 0 ? args.recipient : undefined;
      const { name, pieces } = await client.stream("backup.run", {
        recipients,
        passphrase,
        include_config: !args["no-config"],
      });
      let made: Row = {};
      // What the server remembers of it, and whether that is what has come.
      const mustBe = async (sha256: string) => {
        made = rowOf((await client.untold().ask("backup.status")).backup ?? {});
        if (textAt(made, "sha256") === sha256) return;
        throw new Failure("The archive broke off on its way; the server's log says why.");
      };
      if (toOutput) {
        await mustBe(await poured(arriving(pieces), (piece) => io.stdout.write(piece)));
        note(toldText(made));
        return;
      }
      const file = archivePlace(args.out, name);
      await patiently(writeArchive(file, arriving(pieces), mustBe));
      writeSidecar(file, made);
      print({ ...made, file }, `${file}\n${toldText(made)}\n`);
    },
  }),
  run: command({
    summary: "Have the server make the backup of its schedule now.",
    local: true,
    run: async ({ client, print, patiently }) => {
      const made = await patiently(client.untold().askLong("backup.make", {}));
      print(made, `${textAt(made, "artifact")}\n`);
    },
  }),
  verify: command({
    summary: "Restore an archive into a throw-away instance that issues, revokes and answers.",
    local: true,
    args: { archive: word(), ...openArgs() },
    run: async (invocation) => {
      const { archive, "ledger-key": ledgerKey } = invocation.args;
      const report = await tried(invocation, archive, { ledgerKey });
      invocation.print(report, facts(rowOf(report), [...reported]));
    },
  }),
  drill: command({
    summary: "Verify the latest archive of backup.dir and the bucket, and remember how it went.",
    local: true,
    args: { ...openArgs(), from: oneOf("Only this place.", "place", ["dir", "s3"]) },
    run: async (invocation) => {
      const { args, client, deps, globals, io, print } = invocation;
      const history = await loadArchiveHistory(client);
      const pinned = args["ledger-key"];
      if (pinned !== undefined && pinned !== history.ledgerKey) {
        throw new Failure(
          `The ledger key of this instance is ${history.ledgerKey}, not ${pinned}.`,
        );
      }
      const all = await deps.archives.drillPlaces(
        loadedConfig(globals, io).config,
        history.digests,
      );
      const places = all.filter(({ place }) => args.from === undefined || place === args.from);
      if (places.length === 0) {
        throw new Failure(`${unset[args.from ?? "any"]}; there is no archive to try.`);
      }
      const drills: Drilled[] = [];
      // One that fails keeps nobody from trying the other.
      for (const place of places) {
        drills.push(await drilledFrom(place, history.ledgerKey, invocation));
      }
      const [succeeded, failed] = [drills.filter(wentWell), drills.filter((one) => !wentWell(one))];
      // The last one is what is remembered. Where there is no archive nothing was tried.
      for (const { artifact, error, seconds } of [...succeeded, ...failed]) {
        if (artifact === undefined) continue;
        const result = error === undefined ? "success" : "error";
        await client.ask("backup.drilled", {
          artifact,
          result,
          fault: faultOf(error),
          seconds,
        });
      }
      for (const { error } of failed) throw error;
      const rows = drills.map(({ artifact, report }) => ({ ...report, archive: artifact }));
      const texts = drills.map(
        ({ artifact, report }) => `${artifact}\n${facts(report, [...reported])}`,
      );
      print(rows.length === 1 ? rows[0] : { items: rows }, texts.join("\n"));
    },
  }),
  status: command({
    summary: "Tell which backup was made last, and how the last drill ended.",
    local: true,
    run: async ({ client, print }) => {
      const status = await client.ask("backup.status");
      const lines = [
        status.backup === undefined ? "There was no backup yet." : toldText(rowOf(status.backup)),
        status.drill === undefined ? "There was no drill yet." : drillText(rowOf(status.drill)),
      ];
      print(status, `${lines.join("\n")}\n`);
    },
  }),
  keygen: command({
    summary: "Make an identity that opens archives, whole or in shares for several people.",
    local: true,
    args: {
      out: required("File of the identity; of shares, what their files begin with.", "file"),
      shares: number("People who get a share of it.", "n"),
      threshold: number("How many of them are needed.", "n"),
    },
    run: async ({ args, deps, print, note }) => {
      const { out, shares, threshold } = args;
      if ((shares === undefined) !== (threshold === undefined)) {
        throw new UsageError("--shares and --threshold go together.");
      }
      const { identity, recipient } = await deps.archives.newIdentity();
      if (shares === undefined || threshold === undefined) {
        writeNewFile(out, `# recipient: ${recipient}\n${identity}\n`);
        print({ recipient, files: [out] }, `${recipient}\n`);
        note(`${out} opens the archives: keep it where this host is not.`);
        return;
      }
      if (!isSharing({ shares, threshold })) {
        throw new UsageError("2 <= --threshold <= --shares <= 255 must hold.");
      }
      const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
      const texts = split(new TextEncoder().encode(identity), { shares, threshold }, random);
      const files = texts.map((text, at) => {
        const file = `${out}.${at + 1}`;
        writeNewFile(file, `# recipient: ${recipient}\n${text}\n`);
        return file;
      });
      print({ recipient, files, threshold }, `${recipient}\n`);
      note(
        `Any ${threshold} of ${files.join(", ")} open the archives; give them to as many people.`,
      );
    },
  }),
};

/** A connection that breaks off is no fault of the file. */
async function* arriving(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
  } catch {
    throw new Failure("The archive broke off on its way; the server's log says why.");
  }
}

/** How the drill with the newest archive of a place went. */
interface Drilled {
  /** Undefined where there is none; the name of the place for one that nobody can say. */
  readonly artifact: string | undefined;
  readonly report: Row;
  /** How long it took; undefined where the archive was not opened. */
  readonly seconds?: number;
  /** Of one that failed. */
  readonly error?: unknown;
}

const wentWell = ({ error }: Drilled): boolean => error === undefined;

async function drilledFrom(
  { place, instance, withNewest }: DrillPlace,
  ledgerKey: string,
  invocation: Invocation<ReturnType<typeof openArgs>>,
): Promise<Drilled> {
  let artifact: string | undefined;
  try {
    return await withNewest(async (newest, file) => {
      artifact = newest.artifact;
      const beganMs = performance.now();
      const proof = { ledgerKey, instance, expected: newest.sha256 ?? "" };
      const report = rowOf(await tried(invocation, await file(), proof));
      if (report.opened === false) return { artifact, report };
      return { artifact, report, seconds: Math.round(performance.now() - beganMs) / 1000 };
    });
  } catch (error) {
    // A store that cannot be asked may have archives that are never tried.
    const away = error instanceof Failure && error.code === "target_unavailable";
    return { artifact: artifact ?? (away ? place : undefined), report: {}, error };
  }
}

const faultOf = (error: unknown): string => {
  if (error === undefined) return "";
  return error instanceof Error ? error.message.slice(0, 1024) : "unknown";
};

const unset = {
  any: "backup.dir is not set, nor backup.s3.bucket",
  dir: "backup.dir is not set",
  s3: "backup.s3.bucket is not set",
} as const;

/** Requirements that an archive must match. */
interface ArchiveProof {
  readonly ledgerKey: string | undefined;
  /** Id of the instance; undefined for an archive of any instance. */
  readonly instance?: string;
  /** Lowercase hex SHA-256 from the event of its backup; empty if no event names it. */
  readonly expected?: string;
}

/** Opens an archive and rehearses with it; without an opener, only its digest is compared. */
async function tried(
  invocation: Invocation<ReturnType<typeof openArgs>>,
  archive: string,
  { ledgerKey, instance, expected }: ArchiveProof,
): Promise<unknown> {
  const { args, deps, globals, io, patiently } = invocation;
  const { config } = loadedConfig(globals, io);
  const { archives } = deps;
  const opener = await openerOf({ archives, io, config }, args);
  if (opener === undefined) {
    const look = await patiently(archives.lookAt(archive));
    if (expected === "") {
      throw new Failure(`Nothing opens ${archive} here, and no event of this instance names it.`);
    }
    if (expected !== undefined && look.sha256 !== expected) throw differentArchive(archive);
    if (expected !== undefined) return { ...look, as_made: true };
    if (!look.as_made) throw new Failure(`${archive} is not what the file beside it says.`);
    return look;
  }
  const report = await patiently(archives.drill(config, { archive, opener, ledgerKey, instance }));
  if (expected !== undefined && expected !== "") {
    const { sha256 } = await patiently(archives.lookAt(archive));
    if (sha256 !== expected) throw differentArchive(archive);
  }
  return report;
}

const differentArchive = (archive: string) =>
  new Failure(`${archive} is not the archive that the event of its backup names.`);

const toldText = (backup: Readonly<Record<string, unknown>>): string =>
  `Backup of ${textAt(backup, "created_at")} to event ${textAt(backup, "seq")}, ${textAt(backup, "size")} octets, SHA-256 ${textAt(backup, "sha256")}.`;

const drillText = (drill: Readonly<Record<string, unknown>>): string =>
  textAt(drill, "result") === "success"
    ? `The drill of ${textAt(drill, "at")} with ${textAt(drill, "artifact")} succeeded.`
    : `The drill of ${textAt(drill, "at")} with ${textAt(drill, "artifact")} failed: ${textAt(drill, "fault")}`;

const reported = [
  "openers",
  "sha256",
  "instance_id",
  "created_at",
  "audit_seq",
  "ledger_number",
  "rows",
  "proofs",
  "data_keys",
  "keys",
  "lists",
  "issued",
] as const;
