/** `pkid service`: has systemd run pkid, as a user of its own that may do little else. */

import { existsSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { basename, join, resolve } from "node:path";

import { exampleFile, type Preset } from "#config/example.ts";
import { loadConfig } from "#config/load.ts";
import { groupIdOf } from "#config/os-group.ts";
import type { Config } from "#config/schema.ts";

import { type Args, many, toggle, value, valueOr } from "#cli/args.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { configFailure, refuseElsewhere } from "#cli/open-reach.ts";
import { publicUrlSettings } from "#cli/public-url.ts";
import { shellWord } from "#cli/rows.ts";
import {
  mustBeOurs,
  type Placed,
  placeConfiguration,
  placeFile,
  removeFile,
  type ServiceFile,
  serviceFiles,
  textAt,
  whyNotRunnable,
} from "#cli/service-files.ts";
import { type SocketNeed, socketsOf, socketUnits } from "#cli/service-sockets.ts";
import { isOurs, isPlainPath, needsOfConfig, serviceHome } from "#cli/service-unit.ts";
import { askSystemd, systemdRuns, type Turn } from "#cli/systemd.ts";

const rootArg = valueOr("Root of the system to write to, for packages and images.", "dir", "/");

const installArgs = {
  root: rootArg,
  binary: value("Program the unit starts; this one when not given.", "file"),
  device: many("Device node, or class such as char-usb_device, that a token needs.", "device"),
  write: many("Further directory it may write to, such as that of a token in files.", "dir"),
  "public-url": value("Base address this service is reached under, for a new pkid.yaml.", "url"),
  vendor: toggle("Write to /usr/lib, as packages do, and no configuration."),
  socket: toggle("Have systemd listen, too: clients wait while pkid is restarted or replaced."),
  now: toggle("Enable and start it, too."),
  force: toggle("Replace files that this command has not written."),
  "dry-run": toggle("Print the files and write nothing."),
  print: toggle("Print the unit alone and write nothing."),
} as const satisfies Args;

type Install = Invocation<typeof installArgs>;

export const serviceVerbs: Readonly<Record<string, Command>> = {
  install: command({
    summary: "Have systemd run this binary: unit, user, directories, first configuration.",
    local: true,
    args: installArgs,
    run: async (invocation) => {
      const { args, globals, io, print } = invocation;
      refuseLocal(globals, io);
      const root = resolve(args.root);
      const { config, fresh } = configurationOf(root, args["public-url"]);
      const sockets = args.socket || listensFor(root) ? socketsOf(config) : [];
      const files = serviceFiles(
        { ...needsOfConfig(config), ...needsOfLine(invocation, config), sockets },
        args.vendor,
      );
      const configuration = args.vendor ? undefined : fresh;
      if (args.print || args["dry-run"]) return show(invocation, files, configuration);
      for (const { path } of files) mustBeOurs(root, path, args.force);
      if (args.now) mustRunHere(root);
      const turns: Turn[] = [];
      const stale = staleSockets(root, sockets);
      for (const path of stale) mustBeOurs(root, path, args.force);
      if (onThisSystem(root)) turns.push(...(await askSystemd(stale.map(closing))));
      const placed = stale.map((path) => removeFile(root, path));
      placed.push(...files.map((file) => placeFile(root, file)));
      if (onThisSystem(root)) turns.push(...(await askSystemd(preparing)));
      placed.push(...configured(root, args.vendor, configuration));
      const units = sockets.map(({ unit }) => unit);
      if (args.now) turns.push(...(await askSystemd(startLines(units))));
      const next = nextLines(root, args.now, turns.length > 0, units);
      print({ files: placed, ran: turns, next }, told(placed, turns, next));
      return undefined;
    },
  }),
  uninstall: command({
    summary: "Stop it and remove its unit; configuration, data and user stay.",
    local: true,
    args: { root: rootArg, force: installArgs.force, "dry-run": toggle("Only say what would be.") },
    run: async ({ args, globals, io, print }) => {
      refuseLocal(globals, io);
      const root = resolve(args.root);
      const paths = installed(root);
      for (const path of paths) mustBeOurs(root, path, args.force);
      const stays = [dirOf(serviceHome.config), serviceHome.data].map((one) => join(root, one));
      if (args["dry-run"]) {
        const files = paths.map((path) => join(root, path));
        print({ files, stays }, lines([...files.map((one) => `would remove ${one}`)]));
        return;
      }
      const acts = onThisSystem(root) && paths.length > 0;
      const listening = socketUnits.filter((unit) => paths.includes(`${unitFolder}/${unit}`));
      const turns = acts ? await askSystemd([[...stopping, ...listening, "pkid"]]) : [];
      const placed = paths.map((path) => removeFile(root, path));
      if (acts) turns.push(...(await askSystemd([reading])));
      const kept = stays.filter((one) => existsSync(one)).map((one) => `${one} stays as it is.`);
      const packaged = textAt(join(root, unitPlaces[1])) !== undefined;
      const nothing = packaged
        ? [`The package's ${join(root, unitPlaces[1])} stays; it goes with the package.`]
        : placed.length === 0
          ? ["There is no unit of pkid."]
          : [];
      print({ files: placed, ran: turns, stays }, told(placed, turns, [...nothing, ...kept]));
    },
  }),
  status: command({
    summary: "Say whether the unit is there, whose it is, and what systemd makes of it.",
    local: true,
    args: { root: rootArg },
    run: async ({ args, globals, io, print }) => {
      refuseLocal(globals, io);
      const root = resolve(args.root);
      const unit = unitPlaces.find((path) => textAt(join(root, path)) !== undefined);
      const text = unit === undefined ? "" : (textAt(join(root, unit)) ?? "");
      const binary = /^ExecStart=(\S+)/m.exec(text)?.[1];
      const asked = root === "/" && systemdRuns() ? await askSystemd(asking) : [];
      const [active, enabled] = asked.map(({ said }) => said);
      const told = {
        unit: unit === undefined ? "none" : join(root, unit),
        written_by: unit === undefined ? "" : isOurs(text) ? "pkid service install" : "others",
        binary: binary ?? "",
        configuration: existsSync(join(root, serviceHome.config)) ? serviceHome.config : "none",
        active: active ?? "unknown: systemd does not run here",
        enabled: enabled ?? "unknown: systemd does not run here",
      };
      const shown = Object.entries(told).filter(([, one]) => one !== "");
      print(told, lines(shown.map(([name, one]) => `${`${name}:`.padEnd(16)}${one}`)));
      return unit === undefined || (active !== undefined && active !== "active") ? 1 : 0;
    },
  }),
};

/** These commands look at one place only. */
function refuseLocal(globals: Install["globals"], io: Install["io"]): void {
  refuseElsewhere(globals, io);
  const idle = (["config", "data-dir"] as const).find((name) => globals[name] !== undefined);
  if (idle === undefined) return;
  throw new UsageError(
    `The service has ${serviceHome.config} and ${serviceHome.data}: leave --${idle} out.`,
  );
}

/** What is configured; `fresh` is the text of a first file where there is none. */
function configurationOf(
  root: string,
  publicUrl: string | undefined,
): { readonly config: Config; readonly fresh: string | undefined } {
  const name = join(root, serviceHome.config);
  const there = textAt(name);
  if (there !== undefined && publicUrl !== undefined) {
    throw new UsageError(`${name} is there and stays as it is: set server.public_url in it.`);
  }
  const preset: Preset = {
    data_dir: serviceHome.data,
    ...publicUrlSettings(publicUrl),
    "server.admin_socket.path": `${serviceHome.sockets}/admin.sock`,
  };
  const text = there ?? exampleFile(preset);
  // Files that it names may be there on another system only, or for another user.
  const readFile = () => "";
  const loaded = loadConfig({ file: { text, name }, env: {}, host: hostname(), readFile });
  if (!loaded.ok) throw configFailure(loaded.faults);
  return { config: loaded.config, fresh: there === undefined ? text : undefined };
}

function needsOfLine({ args }: Install, config: Config) {
  const binary = args.binary ?? ownBinary();
  const why = isPlainPath(binary) ? whyNotRunnable(binary) : plainWanted;
  if (why !== undefined) {
    const advice = "Put it into /usr/local/bin, or name another with --binary.";
    throw new Failure(`The service cannot run ${binary}: ${why}. ${advice}`, "not_runnable");
  }
  const { writable } = needsOfConfig(config);
  const wrong = [...writable, ...args.write].find((path) => !isPlainPath(path));
  if (wrong !== undefined) throw new UsageError(`${wrong} as a directory: ${plainWanted}.`);
  const device = args.device.find((one) => !/^(\/dev\/|char-|block-)[\w./:*-]+$/.test(one));
  if (device !== undefined) {
    throw new UsageError(`--device ${device} is neither below /dev nor a class like char-usb.`);
  }
  return { binary, devices: args.device, writable: [...new Set([...writable, ...args.write])] };
}

function ownBinary(): string {
  const binary = realpathSync(process.execPath);
  if (basename(binary).startsWith("bun")) {
    throw new UsageError("This is no built pkid: name one with --binary.");
  }
  return binary;
}

function show(
  { args, print }: Install,
  files: readonly ServiceFile[],
  configuration: string | undefined,
): undefined {
  const root = resolve(args.root);
  const [unit] = files;
  if (args.print) {
    print({ unit: unit?.text }, unit?.text ?? "");
    return;
  }
  const all = files.map(({ path, text }) => ({ path: join(root, path), text }));
  if (configuration !== undefined) {
    all.push({ path: join(root, serviceHome.config), text: configuration });
  }
  print({ files: all }, all.map(({ path, text }) => `# ${path}\n${text}\n`).join(""));
}

function configured(root: string, vendor: boolean, text: string | undefined): readonly Placed[] {
  const path = join(root, serviceHome.config);
  if (vendor) return [];
  if (text === undefined) return [{ path, done: "kept" }];
  return [placeConfiguration(path, text, root === "/" ? groupIdOf("pkid") : undefined)];
}

const onThisSystem = (root: string): boolean =>
  root === "/" && process.getuid?.() === 0 && systemdRuns();

function mustRunHere(root: string): void {
  if (onThisSystem(root)) return;
  throw new UsageError("--now is for root, on a system that systemd runs, without --root.");
}

/** True where systemd listens for pkid already: it goes on doing that until it is uninstalled. */
const listensFor = (root: string): boolean =>
  textAt(join(root, unitFolder, socketUnits[0])) !== undefined;

/** Units of listeners that are no longer configured; a server is not started with their sockets. */
const staleSockets = (root: string, wanted: readonly SocketNeed[]): readonly string[] =>
  socketUnits
    .filter((unit) => wanted.every((need) => need.unit !== unit))
    .map((unit) => `${unitFolder}/${unit}`)
    .filter((path) => textAt(join(root, path)) !== undefined);

const closing = (path: string): readonly string[] => [...stopping, basename(path)];

/** systemd takes no port that the service itself has: that one is stopped first. */
const startLines = (sockets: readonly string[]): readonly (readonly string[])[] =>
  sockets.length === 0
    ? [[...starting, "pkid"]]
    : [
        ["systemctl", "stop", ...sockets, "pkid"],
        [...starting, ...sockets, "pkid"],
      ];

/** Our own first: what an administrator wrote goes before what a package has. */
function installed(root: string): readonly string[] {
  const units = ["pkid.service", ...socketUnits].map((unit) => `${unitFolder}/${unit}`);
  const places = [...units, "/etc/sysusers.d/pkid.conf", "/etc/tmpfiles.d/pkid.conf"];
  return places.filter((path) => textAt(join(root, path)) !== undefined);
}

/** What the person has to do. */
function nextLines(
  root: string,
  now: boolean,
  prepared: boolean,
  sockets: readonly string[],
): readonly string[] {
  if (now) return [`journalctl -u pkid`];
  const there = root === "/" ? [] : ["--root", shellWord(root)];
  const steps = prepared ? [] : preparing.map((line) => [...line, ...there].join(" "));
  if (root !== "/") return steps.slice(0, 2);
  return [...steps, ...startLines(sockets).map((line) => line.join(" "))];
}

function told(placed: readonly Placed[], turns: readonly Turn[], next: readonly string[]): string {
  const done = placed.map(({ path, done: what }) => `${words[what]} ${path}`);
  const ran = turns.map(({ line, said }) => `ran ${line}${said === "" ? "" : `: ${said}`}`);
  const isCommand = (one: string) => !one.endsWith(".");
  return lines([...done, ...ran, ...next.map((one) => (isCommand(one) ? `next: ${one}` : one))]);
}

const lines = (all: readonly string[]): string => all.map((one) => `${one}\n`).join("");
const dirOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));

const words = {
  written: "wrote",
  unchanged: "unchanged",
  packaged: "as packaged:",
  kept: "left as it is:",
  removed: "removed",
  absent: "absent:",
} as const satisfies Record<Placed["done"], string>;

const plainWanted = "a path of letters, digits and ._+@:/- is wanted, from / on";
const unitFolder = "/etc/systemd/system";
const unitPlaces = [`${unitFolder}/pkid.service`, "/usr/lib/systemd/system/pkid.service"] as const;
const preparing = [
  ["systemd-sysusers", "pkid.conf"],
  ["systemd-tmpfiles", "--create", "pkid.conf"],
  ["systemctl", "daemon-reload"],
] as const;
const starting = ["systemctl", "enable", "--now"] as const;
const stopping = ["systemctl", "disable", "--now"] as const;
const reading = ["systemctl", "daemon-reload"] as const;
const asking = [
  ["systemctl", "is-active", "pkid"],
  ["systemctl", "is-enabled", "pkid"],
] as const;
