/** `pkid verify`: proves what is stored, row by row and signature by signature. */

import { openArgs, openerOf } from "#cli/archive-openers.ts";
import { type Given, number, toggle, value } from "#cli/args.ts";
import { type ArchiveSource, command, type Invocation, type VerifyReport } from "#cli/command.ts";
import { Client } from "#cli/client.ts";
import { Failure, NoInstance, UsageError } from "#cli/failure.ts";
import { loadedConfig, noInstance, refuseElsewhere } from "#cli/open-reach.ts";
import { openOut } from "#cli/out-file.ts";
import { bar, watched } from "#cli/progress.ts";
import { socketReach } from "#cli/reach.ts";
import { printable } from "#cli/rows.ts";
import { proveRunning } from "#cli/running-proof.ts";
import { wrapped } from "#cli/wrapped.ts";
import type { Config } from "#config/schema.ts";
import type { ProofResult } from "#core/proofs/proofs.ts";

const flags = {
  online: toggle("Also hold the running server and what it publishes against the database."),
  since: number("Begin behind this event, which an earlier run has reached.", "seq"),
  report: value("Also write the report there, as JSON.", "file"),
  archive: value("Prove what is in this archive instead; nothing of it is kept.", "file"),
  ...openArgs(),
};

export const verify = command({
  summary: "Prove what is stored: chains, signatures, lists; exit 1 when something is wrong.",
  local: true,
  args: flags,
  run: async (invocation) => {
    const { args, globals, io, deps, print, note } = invocation;
    refuseElsewhere(globals, io);
    refuseUnfit(args);
    const { config, fileName } = loadedConfig(globals, io);
    const archive =
      args.archive === undefined ? undefined : await sourceOf(invocation, config, args.archive);
    const write =
      args.report === undefined ? undefined : openOut(io, args.report, "a JSON document");
    let seen: string | undefined;
    const onProgress = (rows: number, of: number) => {
      seen = bar(rows, of);
    };
    const since = args.since ?? 0;
    const asked = { since, onProgress };
    const client = args.online ? await clientOf(config) : undefined;
    const work = archive
      ? deps.archives.verify(config, archive, asked)
      : deps.verify(config, asked).catch((error) => {
          if (!(error instanceof NoInstance)) throw error;
          throw noInstance(globals, io, { dataDir: config.data_dir, fileName });
        });
    const told = <T>(long: Promise<T>) =>
      globals.quiet ? long : watched(io, long, async () => seen);
    const offline = await told(work);
    const running = client && [
      await told(
        proveRunning({
          client,
          sample: (event) => deps.verifySample(config, { since, event }),
          crlBase: config.crl.base_url,
          tls: (await import("#app/serving-trust.ts")).createTlsOptions(config),
          onProgress,
        }),
      ),
    ];
    const report = { ...offline, proofs: [...offline.proofs, ...(running ?? [])] };
    const violations = report.proofs.reduce((sum, proof) => sum + proof.violations, 0);
    const unreachable = report.proofs.reduce((sum, proof) => sum + (proof.unreachable ?? 0), 0);
    const document = { valid: violations === 0, ...report, not_provable: notProvable };
    write?.(`${JSON.stringify(document, null, 2)}\n`);
    print(document, reportText(report, violations, unreachable));
    if (unreachable > 0) {
      note(`${unreachable} responses could not be obtained, so nothing is known of them.`);
    }
    if (violations === 0) return unreachable === 0 ? 0 : 1;
    note("Treat this as an incident: keep the data as it is, and see `pkid manual incident`.");
    return 1;
  },
});

/** What belongs to an archive needs one, and an archive serves nobody. */
function refuseUnfit({ archive, online, identity, ...args }: Given<typeof flags>): void {
  if (archive !== undefined && online) {
    throw new UsageError("--online and --archive exclude each other: an archive serves nobody.");
  }
  const opens = identity.length > 0 || args["passphrase-source"] || args["ledger-key"];
  if (archive === undefined && opens) {
    throw new UsageError("--identity, --passphrase-source and --ledger-key go with --archive.");
  }
}

async function sourceOf(
  { args, deps, io }: Invocation<typeof flags>,
  config: Config,
  archive: string,
): Promise<ArchiveSource> {
  const opener = await openerOf({ archives: deps.archives, io, config }, args);
  if (opener !== undefined) return { archive, opener, ledgerKey: args["ledger-key"] };
  throw new Failure(`Nothing opens ${archive} here: give --identity or --passphrase-source.`);
}

/** The running server, whose every answer is asked for at its own time. */
async function clientOf(config: Config): Promise<Client> {
  const reach = await socketReach(config, answerMs);
  if (reach !== undefined) return new Client(async () => reach);
  const sentence = "--online needs a running server, and none answers here.";
  throw new Failure(`${sentence} Start it, or leave the flag out.`, "unreachable");
}

/** A line for each proof, what is wrong below it, and where the next run may begin. */
function reportText(report: VerifyReport, violations: number, unreachable: number): string {
  const { archive, event_seq, ledger_number, since } = report;
  const begun = since === 0 ? "from the genesis" : `behind event ${since}`;
  const of = archive === undefined ? [] : [archiveText(archive)];
  const verdict =
    violations + unreachable === 0
      ? "Every proof holds"
      : `${violations} violations${unreachable === 0 ? "" : `, ${unreachable} responses not obtained`}`;
  const ends = `Looked at ${begun} to event ${event_seq} and ledger entry ${ledger_number}.`;
  const open = notProvable.flatMap((sentence) => wrapped(`Not provable here: ${sentence}`, width));
  const next = `Next time \`pkid verify --since ${event_seq}\` looks at what is new.`;
  const told = wrapped([`${verdict}.`, ...of, ends].join(" "), width);
  const below = [...told, ...open, ...(archive === undefined ? [next] : [])];
  return [head, ...report.proofs.flatMap(proofLines), "", ...below].map((l) => `${l}\n`).join("");
}

const archiveText = (archive: NonNullable<VerifyReport["archive"]>): string =>
  `The archive is of instance ${archive.instance_id}, as it was at ${archive.created_at}.`;

function proofLines(proof: ProofResult): readonly string[] {
  const { says, checked, counts, violations, unreachable = 0, first, notes } = proof;
  const status = violations + unreachable === 0 ? "ok" : "FAIL";
  const told = [
    ...(violations === 0 ? [] : [`${violations} wrong`]),
    ...(unreachable === 0 ? [] : [`${unreachable} unreachable`]),
  ].join(", ");
  const line = `${status.padEnd(8)}${says.padEnd(saysRoom)}${`${checked} ${counts}`.padEnd(checkedRoom)}${told}`;
  const more = violations + unreachable - first.length;
  return [
    line.trimEnd(),
    ...notes.flatMap((one) => indented(`(${printable(one)})`)),
    ...first.flatMap((one) => indented(printable(one))),
    ...(more > 0 ? indented(`and ${more} more.`) : []),
  ];
}

const indented = (text: string): readonly string[] =>
  wrapped(text, width - 8).map((line) => `        ${line}`);

/** Every key of the server signs a test meanwhile. */
const answerMs = 300_000;
const width = 80;
const saysRoom = 41;
const checkedRoom = 22;
const head = `${"STATUS".padEnd(8)}${"PROOF".padEnd(saysRoom)}CHECKED`;

/** What no look at the database can tell. */
const notProvable = [
  "signatures that somebody made with the same key outside pkid. An HSM with a counter of its own tells of them; compare it with the sign ledger.",
  "that nothing newer was cut off both chains and their heads alike. Keep the last line of this report, or exported events, elsewhere.",
  "that people were who they said they were.",
] as const;
