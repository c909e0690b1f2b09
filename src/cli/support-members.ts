/** Collects the members of a support bundle; what cannot be had is said, and ends nothing. */

import { readFileSync } from "node:fs";

import type { Read } from "#config/read.ts";
import { secretsOf } from "#config/set-secrets.ts";
import { type Config, configSchema } from "#config/schema.ts";
import { leaves } from "#config/section.ts";
import { showJson } from "#config/show.ts";
import {
  eventWithout,
  type Pseudonym,
  pseudonyms,
  scrubber,
  settingsWithout,
} from "#core/support/redaction.ts";

import type { Globals } from "./args.ts";
import type { CliDeps } from "./command.ts";
import { reported } from "#cli/commands/preflight.ts";
import type { Io } from "./io.ts";
import { readHere } from "./open-reach.ts";
import { socketReach } from "./reach.ts";

/** One file of the archive; `what` says for people what is in it. */
export interface BundleMember {
  readonly name: string;
  readonly what: string;
  readonly text: string;
}

/** What was collected, and what could not be, with the reason. */
export interface Bundle {
  readonly members: readonly BundleMember[];
  readonly missing: readonly { readonly name: string; readonly why: string }[];
}

interface Shell {
  readonly globals: Globals;
  readonly io: Io;
  readonly deps: CliDeps;
}

/** `events` is how many of the newest to take; with `names` people stay as they are. */
export async function collected(
  shell: Shell,
  { events, names }: Pick<Taking, "events" | "names">,
): Promise<Bundle> {
  const read = readHere(shell.globals, shell.io);
  const key = crypto.getRandomValues(new Uint8Array(32));
  const pseudonym: Pseudonym = names ? (name) => name : pseudonyms(key);
  const scrub = scrubber(knownSecrets(read, shell.io));
  const members: BundleMember[] = [];
  const missing: { name: string; why: string }[] = [];
  for (const { name, what, look } of looks(shell, read, { events, names, pseudonym })) {
    try {
      const found = await look();
      const text = typeof found === "string" ? found : `${JSON.stringify(found, undefined, 2)}\n`;
      members.push({ name, what, text: scrub(text) });
    } catch (error) {
      // Whatever it is, it is what whoever helps wants to know.
      const why = scrub(error instanceof Error ? error.message : String(error)).trim();
      missing.push({ name, why });
    }
  }
  const text = `${[...intro(names), "", ...missing.map(({ name, why }) => `Not collected: ${name}: ${why}`)].join("\n").trimEnd()}\n`;
  return {
    members: [{ name: "README.txt", what: "what this is, and what is missing", text }, ...members],
    missing,
  };
}

/** What is taken along, and what stands in place of names. */
interface Taking {
  readonly events: number;
  readonly names: boolean;
  readonly pseudonym: Pseudonym;
}

interface Look {
  readonly name: string;
  readonly what: string;
  look(): unknown;
}

/** Everything that is looked at, in the order of the archive. */
const looks = (shell: Shell, read: Read, taking: Taking): readonly Look[] => [
  ...looksAtSettings(shell, read, taking),
  ...looksAtDatabase(shell, read, taking),
  ...looksAtServer(shell, read),
];

function looksAtSettings(
  shell: Shell,
  read: Read,
  { pseudonym }: Pick<Taking, "pseudonym">,
): readonly Look[] {
  return [
    { name: "version.json", what: "version and build", look: () => shell.deps.version },
    {
      name: "host.json",
      what: "system, processors, memory, load",
      look: async () => (await shell.deps.support()).host(),
    },
    {
      name: "configuration.json",
      what: "effective settings, secrets hidden",
      look: () => settings(read, pseudonym),
    },
    {
      name: "environment.json",
      what: "names of the PKID_ variables that are set",
      look: () => variableNames(shell.io),
    },
    {
      name: "preflight.json",
      what: "report of pkid preflight, without the network",
      look: () => reported(shell, request),
    },
  ];
}

function looksAtDatabase({ deps }: Shell, read: Read, taking: Taking): readonly Look[] {
  return [
    {
      name: "schema.json",
      what: "state of the database schema",
      look: () => deps.migrate(validConfig(read), "status"),
    },
    {
      name: "database.json",
      what: "tables, rows, states of jobs and requests",
      look: async () => (await deps.support()).database(validConfig(read)),
    },
    {
      name: "events.json",
      what: `newest ${taking.events} events of the audit chain`,
      look: async () => {
        const found = await (await deps.support()).events(validConfig(read), taking.events);
        return taking.names ? found : found.map((event) => eventWithout(event, taking.pseudonym));
      },
    },
  ];
}

function looksAtServer(shell: Shell, read: Read): readonly Look[] {
  const facts = () => shell.deps.support();
  return [
    {
      name: "readiness.json",
      what: "what /readyz says",
      look: () => asked(validConfig(read), "/readyz"),
    },
    {
      name: "metrics.txt",
      what: "what /metrics says",
      look: () => asked(validConfig(read), "/metrics"),
    },
    {
      name: "process.json",
      what: "limits, threads and memory of the server",
      look: async () => (await facts()).serving(validConfig(read)),
    },
    {
      name: "disk.json",
      what: "room on the volumes, names and sizes of files",
      look: async () => (await facts()).disk(validConfig(read)),
    },
  ];
}

const intro = (names: boolean): readonly string[] => [
  "Facts about an instance of pkid, for whoever helps.",
  "",
  "In it are no keys, certificates, passwords, PINs, tokens or cookies. In it are the names of",
  "hosts, CAs, profiles, tables and files, addresses in settings, and what preflight found.",
  names
    ? "People and addresses of clients have their names, as was asked for."
    : "People and addresses of clients are digests under a key that exists no more: equal ones\nare the same one, and nobody can tell who.",
  "Look through it before you send it.",
];

function settings(read: Read, pseudonym: Pseudonym): unknown {
  const { loaded, fileName } = read;
  const { warnings } = loaded;
  // The words of a fault may repeat what stands in the file; the key is enough to find it.
  if (!loaded.ok) return { file: fileName, faults: loaded.faults.map(({ path }) => path) };
  const shown = settingsWithout(showJson(loaded.config), pseudonym);
  return { file: fileName, settings: shown, warnings: warnings.length };
}

function validConfig({ loaded }: Read): Config {
  if (loaded.ok) return loaded.config;
  throw new Error("The configuration is not valid; see configuration.json.");
}

const variableNames = ({ env }: Io): readonly string[] =>
  Object.keys(env)
    .filter((name) => name.startsWith("PKID_"))
    .sort();

async function asked(config: Config, path: string): Promise<string> {
  const running = await socketReach(config, socketMs);
  if (running === undefined) throw new Error(`No server answers in ${config.data_dir}.`);
  try {
    return `${(await (await running.send("GET", path)).text()).trimEnd()}\n`;
  } finally {
    await running.close();
  }
}

/** Every secret this machine can tell without asking another one: they must be nowhere. */
function knownSecrets({ loaded, fileName }: Read, { env }: Io): readonly string[] {
  const fromEnvironment = Object.entries(env).flatMap(([name, value = ""]) => {
    if (
      !/^(?:PKID|VAULT|AWS|AZURE)_.*(?:PASSWORD|PASSPHRASE|PIN|SECRET|TOKEN|DSN|URI|URL|KEY|HASH)/.test(
        name,
      )
    )
      return [];
    return name.endsWith("_FILE") ? [textOf(value)] : [value];
  });
  if (!loaded.ok) return fromEnvironment.concat(secretsInText(fileName));
  const fromSettings = secretsOf(loaded.config).flatMap(({ path, setting }) => {
    // Of SQLite it names the file, which is no secret.
    const isFile = path === "database.dsn" && loaded.config.database.driver === "sqlite";
    if (setting.from === "value") return isFile ? [] : [setting.value.reveal()];
    const { source } = setting;
    if (source.type === "env") return [env[source.env.var] ?? ""];
    return source.type === "file" ? [textOf(source.file.path)] : [];
  });
  return fromEnvironment.concat(fromSettings);
}

/** What stands behind the name of a secret in a file that is not valid, perhaps no YAML at all. */
function secretsInText(fileName: string | undefined): readonly string[] {
  if (fileName === undefined) return [];
  const names = leaves(configSchema).flatMap(({ path, field }) =>
    field.source ? [path.split(".").at(-1) ?? path] : [],
  );
  const form = new RegExp(`\\b(?:${names.join("|")})["']?\\s*:\\s*["']?([^"'\\n,}]+)`, "g");
  return [...textOf(fileName).matchAll(form)].map(([, value = ""]) => value.trim());
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return ""; // What cannot be read here cannot get into the bundle either.
  }
}

const request = {
  deep: false,
  only: [],
  timeoutSeconds: 30,
  expiryWarnDays: 30,
  expiryFailDays: 7,
  auditSample: 1000,
  network: false,
} as const;
const socketMs = 10_000;
