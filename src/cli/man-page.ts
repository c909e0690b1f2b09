/** The manual page of section 1, roff, made from the table of commands. */

import { type Args, flagsOf, globalArgs, isOptionalWord, wordsOf } from "./args.ts";
import type { Command, Noun, VersionFacts } from "./command.ts";
import { hintOf, notesOf } from "./help.ts";

/** The page for `man -l`. */
export function manPage(nouns: Readonly<Record<string, Noun>>, { version }: VersionFacts): string {
  const lines = [
    // No date: two builds of a commit print the same page.
    `.TH PKID 1 "" ${quoted(`pkid ${version}`)} "User Commands"`,
    ".SH NAME",
    `pkid ${dash} a certificate authority in one binary`,
    ".SH SYNOPSIS",
    ".B pkid",
    ".I noun",
    "[\\fIverb\\fR] [\\fIarguments\\fR] [\\fIflags\\fR]",
    ".SH DESCRIPTION",
    ...description.flatMap((text, at) => (at === 0 ? [escaped(text)] : [".PP", escaped(text)])),
    ".SH COMMANDS",
    ...Object.entries(nouns).flatMap(([name, noun]) => nounLines(name, noun)),
    `.SH "FLAGS OF EVERY COMMAND"`,
    ...flagLines(globalArgs),
    ...tables.flatMap(({ title, rows }) => [
      `.SH ${quoted(title)}`,
      ...rows.flatMap(([term, text]) => item(`\\fB${escaped(term)}\\fR`, text)),
    ]),
    ".SH SEE ALSO",
    escaped("pkid manual, the operator's manual; pkid config reference, every key."),
  ];
  return `${lines.join("\n")}\n`;
}

function nounLines(path: string, noun: Noun): readonly string[] {
  if (!("verbs" in noun)) return commandLines(path, noun);
  return Object.entries(noun.verbs).flatMap(([verb, one]) => nounLines(`${path} ${verb}`, one));
}

function commandLines(path: string, command: Command): readonly string[] {
  const words = wordsOf(command.args).map((word) =>
    isOptionalWord(command.args, word) ? ` [${word}]` : ` <${word}>`,
  );
  return [
    `.SS ${quoted(`pkid ${path}${words.join("")}`)}`,
    escaped(command.summary),
    ...(command.destroys === undefined ? [] : [escaped(`${command.destroys} It asks first.`)]),
    ...(command.local ? ["Runs on this machine only."] : []),
    ...flagLines(command.args),
  ];
}

const flagLines = (args: Args): readonly string[] =>
  flagsOf(args).flatMap(({ written, arg }) => {
    const hint = hintOf(arg);
    const term = `\\fB${escaped(written)}\\fR${hint === "" ? "" : ` \\fI${escaped(hint)}\\fR`}`;
    const sentence = "negativeDescription" in arg ? arg.negativeDescription : arg.description;
    return item(term, `${sentence ?? ""}${notesOf(arg)}`);
  });

const item = (term: string, text: string): readonly string[] => [".TP", term, escaped(text)];

/** A text as roff shows it, and never takes for a request. */
function escaped(text: string): string {
  const shown = text.replace(/[\\\-'`^~]|[^ -~]/gu, (character) => {
    const known = special[character];
    if (known !== undefined) return known;
    const point = character.codePointAt(0) ?? 0;
    return `\\[u${point.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
  return shown.startsWith(".") ? `\\&${shown}` : shown;
}

const quoted = (text: string): string => `"${escaped(text).replaceAll('"', "\\(dq")}"`;

const special: Readonly<Record<string, string>> = {
  "\\": "\\e",
  "-": "\\-",
  "'": "\\(aq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
};
const dash = "\\-";

const description = [
  "pkid issues and revokes X.509 certificates, publishes CRLs and answers OCSP, keeps its keys in a PKCS#11 HSM or sealed on disk, and records every change in a hash-chained audit log.",
  "A command asks the server at --url or PKID_URL. Without an address it means the instance of this machine: a running server is asked over its socket, and without one the command opens the instance itself.",
] as const;

const tables = [
  {
    title: "EXIT STATUS",
    rows: [
      ["0", "Done."],
      ["1", "Refused or failed; of preflight: warnings."],
      ["2", "Used wrongly; of preflight: failures."],
      ["130", "Interrupted; what was acknowledged stays."],
    ],
  },
  {
    title: "FILES",
    rows: [
      [
        "./pkid.yaml, <data dir>/pkid.yaml, /etc/pkid/pkid.yaml",
        "The configuration, the first of them that is there.",
      ],
      [
        "./pkid-data",
        "The data directory unless another is named: database, sealed keys, master key, sockets.",
      ],
      ["<data dir>/admin.sock", "The socket over which commands ask a running server."],
      [
        "<data dir>/root-password",
        "The password of root made at the first start without a terminal.",
      ],
      [
        "<data dir>/serving-ca.pem",
        "What clients trust while pkid issues its serving certificate itself.",
      ],
    ],
  },
  {
    title: "ENVIRONMENT",
    rows: [
      ["PKID_URL, PKID_TOKEN, PKID_CA_FILE", "As --url, --token and --ca-file."],
      ["PKID_CONFIG, PKID_DATA_DIR", "As --config and --data-dir."],
      [
        "PKID_<SECTION>_<KEY>",
        "Any key of the configuration; with _FILE behind it the file that holds its secret.",
      ],
      ["NO_COLOR", "Print no colour, as --no-color does."],
    ],
  },
] as const;
