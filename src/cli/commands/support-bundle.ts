/** `pkid support-bundle`: what somebody needs who is to help, in one archive, without secrets. */

import { statSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { number, required, toggle } from "#cli/args.ts";
import { command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import { fileIsThere, writeNewFile } from "#cli/io.ts";
import { refuseElsewhere } from "#cli/open-reach.ts";
import { type Bundle, type BundleMember, collected } from "#cli/support-members.ts";
import { tarEnd, tarHeader, tarPadding } from "#core/tar.ts";

export const supportBundle = command({
  summary: "Write facts for whoever helps into one archive: no secrets, no keys, no names.",
  local: true,
  args: {
    out: required("Archive to write, tar.gz; - is standard output.", "file"),
    events: number("Newest events of the audit chain to take along; 1000.", "n"),
    "with-names": toggle("Leave the names and addresses of people as they are."),
  },
  run: async (invocation) => {
    const { args, globals, io, print, note, patiently } = invocation;
    const toOutput = args.out === "-";
    if (toOutput && globals.json)
      throw new UsageError("--json and --out - both want standard output.");
    if (toOutput && io.stdout.isTerminal)
      throw new UsageError("--out - is for a pipe, not a terminal.");
    const events = args.events ?? eventsUsual;
    if (events > eventsMax) throw new UsageError(`--events must be at most ${eventsMax}.`);
    refuseElsewhere(globals, io);
    if (!toOutput) mustBeFree(args.out);
    const bundle = await patiently(collected(invocation, { events, names: args["with-names"] }));
    const octets = packed(bundle.members);
    const told = contentsText(args.out, bundle);
    if (toOutput) {
      io.stdout.write(octets);
      note(told.trimEnd());
      return;
    }
    writeNewFile(args.out, octets);
    const members = bundle.members.map(({ name, text }) => ({
      name,
      bytes: Buffer.byteLength(text),
    }));
    print({ out: args.out, bytes: octets.length, members, not_collected: bundle.missing }, told);
  },
});

/** Before minutes are spent: a file that is there may be anything, and is not replaced. */
function mustBeFree(file: string): void {
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) throw fileIsThere(file);
}

function packed(members: readonly BundleMember[]): Uint8Array {
  const now = Math.trunc(Date.now() / 1000);
  const pieces = members.flatMap(({ name, text }) => {
    const octets = Buffer.from(text);
    const header = tarHeader(`${folder}/${name}`, octets.length, now, 0o600);
    return [header, octets, tarPadding(octets.length)];
  });
  return gzipSync(Buffer.concat([...pieces, tarEnd()]));
}

function contentsText(out: string, { members, missing }: Bundle): string {
  const width = Math.max(...members.map(({ name }) => name.length));
  const rows = members.map(({ name, what }) => `  ${name.padEnd(width)}  ${what}`);
  const faults = missing.map(({ name, why }) => `warning: ${name} could not be collected: ${why}`);
  const look =
    out === "-"
      ? "Look through it before you send it."
      : `Look through it before you send it: tar -xzf ${out}, then read ${folder}/.`;
  return `${["In the bundle:", "", ...rows, "", ...faults, ...(faults.length > 0 ? [""] : []), look].join("\n")}\n`;
}

const folder = "pkid-support";
const eventsUsual = 1000;
const eventsMax = 100_000;
