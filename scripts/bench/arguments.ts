/** What `bun run bench` is told on its command line. */

import { stripVTControlCharacters } from "node:util";

import { type ArgsDef, parseArgs, renderUsage } from "citty";

import { type AttackName, attackNames } from "./attack-names.ts";

/** Every scenario by its name, and what it measures. */
export const scenarioNames = {
  floors: "what the machine gives without pkid",
  software: "issuing, OCSP and starts with software keys",
  softhsm: "the same with keys in SoftHSM",
  "ocsp-tls": "OCSP over TLS, cached and fresh",
  memory: "memory at rest, right after load and a minute later",
  ready: "starts beside those of a bare server of the same size",
  upgrade: "one instance replaced under load, beside the restart of a bare server",
  mixed: "what a CA in service is asked, five minutes of it",
  postgres: "issuing on PostgreSQL: beside SQLite, far away, two replicas",
  ocsp: "OCSP in turns with its floors",
  feed: "what five hundred readers of the live feed cost issuing",
  gates: "what lint, key checks and CAA cost",
  access: "what authentication and authorization cost",
  acme: "orders of ACME beside plain issues, nonces beside OCSP, a million old orders",
  attacks: "ordinary clients next to attackers",
  bulk: "a bulk issue of ten thousand",
  "bulk-revocation": "a bulk revocation of a hundred thousand",
  crl: "CRLs of a million entries",
  backup: "backup and restore of a million certificates",
  starts: "starts with a million certificates",
  console: "the console's first load beside a bare page, and a long list scrolled",
  inventory: "questions to a million certificates, SQLite",
  "inventory-postgres": "the same on PostgreSQL",
} as const;

export type ScenarioName = keyof typeof scenarioNames;

/** A command line that was understood. */
export interface Arguments {
  /** Seconds of each load; undefined for what each scenario takes by itself. */
  readonly seconds: number | undefined;
  /** Certificates of the scenarios with many. */
  readonly rows: number | undefined;
  /** In the order of the table; undefined for all that run by themselves. */
  readonly only: readonly ScenarioName[] | undefined;
  /** Attacks of the scenario `attacks`; undefined for all. */
  readonly attacks: readonly AttackName[] | undefined;
  readonly json: boolean;
  /** Path of the binary to compare with. */
  readonly against: string | undefined;
  /** How often each binary has its turn. */
  readonly turns: number;
}

/** What a command line comes to: a run, the help, or a sentence that refuses it. */
export type Told =
  | { readonly arguments: Arguments }
  | { readonly help: true }
  | { readonly refused: string };

const declared = {
  seconds: {
    type: "string",
    valueHint: "n",
    description: "Seconds of each load: 5, or 300 in `mixed`.",
  },
  only: {
    type: "string",
    valueHint: "names",
    description: "Only these scenarios, with commas between.",
  },
  attacks: {
    type: "string",
    valueHint: "names",
    description: `Attacks of \`attacks\`, separated by commas: ${Object.keys(attackNames).join(", ")}.`,
  },
  against: {
    type: "string",
    valueHint: "binary",
    description: "Measure this binary too, in turns, and print both with their ratios.",
  },
  turns: {
    type: "string",
    valueHint: "n",
    description: "Turns of each binary with --against: 2.",
  },
  rows: {
    type: "string",
    valueHint: "n",
    description:
      "Certificates in `starts` and `inventory`, old orders in `acme`: 1000000; at most 100000 in `console`.",
  },
  json: { type: "boolean", description: "Print one JSON document and nothing else." },
  help: { type: "boolean", description: "Print this help." },
} as const satisfies ArgsDef;

/** Reads the words of a command line; what is not known is refused by its name. */
export function readArguments(words: readonly string[]): Told {
  const fault = words.map((word) => wordFault(word)).find((found) => found !== undefined);
  if (fault !== undefined) return { refused: fault };
  const names = words.map((word) => word.split("=")[0] ?? "");
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) return { refused: `${twice} is given twice.` };
  const given = parseArgs([...words], declared) as Given; // By the table above.
  if (given.help === true) return { help: true };
  const only = given.only?.split(",");
  const unknown = only?.find((name) => !Object.hasOwn(scenarioNames, name));
  if (unknown !== undefined) {
    return { refused: `There is no scenario "${unknown}"; there are ${allNames.join(", ")}.` };
  }
  const attacks = given.attacks?.split(",").filter(isAttack);
  if (attacks?.length !== given.attacks?.split(",").length) {
    return { refused: `--attacks must be some of ${Object.keys(attackNames).join(", ")}.` };
  }
  for (const name of ["seconds", "turns", "rows"] as const) {
    const text = given[name];
    if (text !== undefined && !/^[1-9]\d{0,8}$/.test(text)) {
      return { refused: `--${name} must be a whole number of at least 1.` };
    }
  }
  return {
    arguments: {
      seconds: numberIn(given.seconds),
      rows: numberIn(given.rows),
      only: only && allNames.filter((name) => only.includes(name)),
      attacks,
      json: given.json === true,
      against: given.against,
      turns: numberIn(given.turns) ?? 2,
    },
  };
}

/** Every argument and every scenario with a sentence. */
export async function helpText(): Promise<string> {
  const usage = await renderUsage({
    meta: {
      name: "bun run bench",
      description: "What pkid does, each figure beside a floor measured in the same run.",
    },
    args: declared,
  });
  const width = Math.max(...allNames.map((name) => name.length));
  const rows = allNames.map((name) => `  ${name.padEnd(width)}  ${scenarioNames[name]}`);
  return `${stripVTControlCharacters(usage).trimEnd()}\n\nScenarios\n\n${rows.join("\n")}\n`;
}

interface Given {
  readonly seconds?: string;
  readonly only?: string;
  readonly attacks?: string;
  readonly against?: string;
  readonly turns?: string;
  readonly rows?: string;
  readonly json?: boolean;
  readonly help?: boolean;
}

/** Values stand behind `=`: a word of its own belongs to nothing. */
function wordFault(word: string): string | undefined {
  if (!word.startsWith("--")) {
    return `"${word}" is no argument; values stand behind =, as in --only=software.`;
  }
  const [name = "", ...rest] = word.slice(2).split("=");
  if (!Object.hasOwn(declared, name)) {
    const known = Object.keys(declared).map((one) => `--${one}`);
    return `There is no argument --${name}; there are ${known.join(", ")}.`;
  }
  const { type } = declared[name as keyof typeof declared]; // Seen just above.
  if (type === "boolean") return rest.length === 0 ? undefined : `--${name} takes no value.`;
  return rest.join("=") === "" ? `--${name} needs a value: --${name}=….` : undefined;
}

const isAttack = (name: string): name is AttackName => Object.hasOwn(attackNames, name);

const numberIn = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text);

const allNames = Object.keys(scenarioNames) as readonly ScenarioName[]; // The table's own keys.
