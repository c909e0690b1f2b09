/** Chooses the way a command runs from flags, environment and what is running here. */

import { resolve } from "node:path";

import { WrongValue } from "#core/shape.ts";
import { span } from "#core/shape/texts.ts";
import { type Fault, sentenceOf } from "#config/faults.ts";
import { faultLine, type Loaded } from "#config/load.ts";
import { configPlaces, type Read, readConfig, readConfigAside } from "#config/read.ts";
import { insecureHttpAllowed } from "#config/environment.ts";
import { configDigest } from "#config/show.ts";

import { clientIdentity } from "./client-identity.ts";
import type { CliDeps, Command, ServeRequest } from "./command.ts";
import { Failure, NoInstance, UsageError } from "./failure.ts";
import type { Globals } from "./args.ts";
import { type Io, readTextArgument } from "./io.ts";
import { processReach, type Reach, remoteReach, socketReach } from "./reach.ts";

/**
 * Opens the way: remote with `--url` or PKID_URL, else the socket, else this process. A command
 * that is `local` refuses PKID_URL unless this machine's instance is named; only one that `founds`
 * may make an instance where there is none.
 */
export async function openReach(
  globals: Globals,
  io: Io,
  deps: CliDeps,
  command: Pick<Command, "local" | "founds">,
): Promise<Reach> {
  const timeoutMs = secondsOf("--timeout", globals.timeout) * 1000;
  if (command.local) refuseElsewhere(globals, io);
  const named = localFlags.find((name) => globals[name] !== undefined);
  if (globals.url !== undefined && named !== undefined) {
    throw new UsageError(`--${named} names an instance of this machine, --url another: give one.`);
  }
  // What stands on the line goes before the environment.
  const url = globals.url ?? (command.local || named !== undefined ? undefined : urlOf(io));
  if (url !== undefined) {
    const credential = await credentialOf(checkedUrl(url), globals, io);
    return remoteReach({
      url,
      ...credential,
      caFile: globals["ca-file"] ?? io.env.PKID_CA_FILE,
      timeoutMs,
    });
  }
  refuseIdle(globals, "name it with --url");
  const { config, fileName } = loadedConfig(globals, io);
  const running = await socketReach(config, timeoutMs);
  if (running !== undefined) return running;
  try {
    return await processReach(() => deps.open(config, command.founds), deps.osUser);
  } catch (error) {
    if (!(error instanceof NoInstance)) throw error;
    throw noInstance(globals, io, { dataDir: config.data_dir, fileName });
  }
}

function refuseIdle(globals: Globals, advice: string): void {
  const idle = remoteFlags.find((name) => globals[name] !== undefined);
  if (idle !== undefined) throw new UsageError(`--${idle} is for a remote server; ${advice}.`);
}

/**
 * Refuses what names another machine for a command of this one: flags, and PKID_URL unless flags or
 * environment say which instance of this machine is meant.
 */
export function refuseElsewhere(globals: Globals, io: Io): void {
  refuseIdle(globals, "leave it out");
  const url = urlOf(io);
  if (url === undefined) return;
  const { PKID_CONFIG, PKID_DATA_DIR } = io.env;
  const named = [globals.config, globals["data-dir"], PKID_CONFIG, PKID_DATA_DIR];
  if (named.some((one) => one !== undefined)) return;
  throw new UsageError(
    `This command runs on this machine only, and PKID_URL is ${url}. Leave it out, or name the instance of this machine with --config or --data-dir.`,
  );
}

/** The refusal of a command where there is no instance: what was looked for, and what makes one. */
export function noInstance(
  globals: Globals,
  io: Io,
  { dataDir, fileName }: { readonly dataDir: string; readonly fileName: string | undefined },
): Failure {
  const data_dir = resolve(dataDir);
  const flags = globals["data-dir"] === undefined ? {} : { data_dir: globals["data-dir"] };
  const places = configPlaces({ env: io.env, flags });
  const read =
    fileName === undefined
      ? `No configuration file was found (${places.join(", ")}).`
      : `The configuration is ${resolve(fileName)}.`;
  const sentence = `There is no instance in ${data_dir}. ${read} Name one with --config, --data-dir or --url; pkid serve, init and quickstart make one.`;
  const config = fileName === undefined ? {} : { config_path: resolve(fileName) };
  return new Failure(sentence, "no_instance", { data_dir, ...config });
}

const localFlags = ["data-dir", "config"] as const;
/** Who asks: nobody is asked for that by an instance of this machine. */
export const credentialFlags = ["client-cert", "client-key", "token", "token-file"] as const;
const remoteFlags = [...credentialFlags, "ca-file"] as const;

const urlOf = ({ env }: Io): string | undefined => (env.PKID_URL === "" ? undefined : env.PKID_URL);

/**
 * The configuration of this machine as flags and environment choose it; fails with every fault, one
 * line each.
 */
export function loadedConfig(
  globals: Globals,
  io: Io,
  flags: Readonly<Record<string, unknown>> = {},
): Extract<Loaded, { ok: true }> & { readonly fileName: string | undefined } {
  const { loaded, fileName } = readHere(globals, io, flags);
  if (loaded.ok) return { ...loaded, fileName };
  throw configFailure(loaded.faults);
}

/** Every fault of a configuration, one line each. */
export function configFailure(faults: readonly Fault[]): Failure {
  return new Failure(faults.map((fault) => `${faultLine(fault)}\n`).join(""), "config", { faults });
}

/**
 * What the server starts from: the configuration, and how to read it again. Fails as `loadedConfig`
 * does.
 */
export function serveRequest(
  globals: Globals,
  io: Io,
  flags: Readonly<Record<string, unknown>> = {},
): Omit<ServeRequest, "migrate" | "foundAnew"> {
  const { config, origins, warnings, fileName } = loadedConfig(globals, io, flags);
  const { tls_cert, tls } = config.server;
  const selfIssueAsked =
    tls.self_issue.enabled && origins.get("server.tls.self_issue.enabled") !== "default";
  return {
    config,
    warnings,
    fileName,
    digest: configDigest(config),
    cleartext: insecureHttpAllowed(io.env) && tls_cert === undefined && !selfIssueAsked,
    read: (yaml) => readConfigAside(surroundings(globals, io, flags), yaml),
  };
}

/** Reads the configuration without judging it. */
export function readHere(
  globals: Globals,
  io: Io,
  flags: Readonly<Record<string, unknown>> = {},
): Read {
  return readConfig(surroundings(globals, io, flags));
}

function surroundings(globals: Globals, io: Io, flags: Readonly<Record<string, unknown>>) {
  const dataDir = globals["data-dir"];
  return {
    env: io.env,
    configFile: globals.config,
    flags: dataDir === undefined ? flags : { ...flags, data_dir: dataDir },
  };
}

/** A token must not travel in clear text: only https, or http to this machine. */
function checkedUrl(url: string): string {
  if (!URL.canParse(url)) throw new UsageError(`${url} is not a URL.`);
  const { protocol, hostname } = new URL(url);
  const here = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  if (protocol === "https:" || (protocol === "http:" && here)) return url;
  throw new UsageError("The server's address must be https, or http on this machine.");
}

/**
 * A token or a certificate; a certificate that was named goes before a token of the environment.
 */
async function credentialOf(url: string, globals: Globals, io: Io) {
  const identity = clientIdentity(globals["client-cert"], globals["client-key"]);
  const given = (["token", "token-file"] as const).filter((name) => globals[name] !== undefined);
  const [one, other = identity && "client-cert"] = given;
  if (one !== undefined && other !== undefined) {
    throw new UsageError(`Only one of --${one} and --${other} may be given.`);
  }
  if (identity === undefined) return { apiToken: await apiTokenOf(globals, io), identity };
  if (!url.startsWith("https:")) throw new UsageError("--client-cert needs an https address.");
  return { apiToken: undefined, identity };
}

async function apiTokenOf(globals: Globals, io: Io): Promise<string | undefined> {
  const file = globals["token-file"];
  if (file !== undefined) {
    const held = (await readTextArgument(io, file)).trim();
    if (held === "") throw new Failure(`${file} holds no token.`);
    return held;
  }
  const given = globals.token ?? io.env.PKID_TOKEN;
  if (given !== "-") return given === "" ? undefined : given;
  return (await readTextArgument(io, "-")).trim();
}

/** Seconds of a duration a flag was given. */
export function secondsOf(flag: string, duration: string): number {
  try {
    return span.read(duration);
  } catch (error) {
    if (error instanceof WrongValue) throw new UsageError(`${flag}: ${sentenceOf(error)}`);
    throw error;
  }
}
