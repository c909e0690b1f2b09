/** `pkid init`: writes a commented configuration and makes the data directory. */

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";

import { exampleFile, type Preset } from "#config/example.ts";
import { loadConfig } from "#config/load.ts";

import { choice, toggle, value, valueOr } from "#cli/args.ts";
import { command } from "#cli/command.ts";
import { PlaceIdentity } from "#app/identity.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { kindOfFile } from "#cli/file-kinds.ts";
import { writeFile } from "#cli/io.ts";
import { configFailure, refuseElsewhere } from "#cli/open-reach.ts";
import { publicUrlSettings } from "#cli/public-url.ts";

export const init = command({
  summary: "Write a commented configuration and make the data directory.",
  local: true,
  args: {
    out: valueOr("Configuration file to write.", "file", "pkid.yaml"),
    "public-url": value("Base address this service is reached under.", "url"),
    database: choice("sqlite or postgres.", "driver", ["sqlite", "postgres"]),
    "key-provider": choice("software or pkcs11.", "provider", ["software", "pkcs11"]),
    force: toggle("Overwrite an existing configuration."),
    "found-anew": toggle(
      "Let another instance begin in a data directory whose database is gone; its keys stay.",
    ),
  },
  run: async ({ args, globals, io, print }) => {
    refuseElsewhere(globals, io);
    if (globals.config !== undefined) {
      throw new UsageError(
        "init reads no configuration: leave --config out; --out names the file.",
      );
    }
    const dataDir = globals["data-dir"] ?? io.env.PKID_DATA_DIR ?? "./pkid-data";
    const preset = {
      data_dir: resolve(dataDir),
      ...publicUrlSettings(args["public-url"]),
      ...databases[args.database],
      ...providers[args["key-provider"]],
    };
    if (args["found-anew"]) mustBeGone(join(preset.data_dir, "pkid.db"));
    writeConfiguration(args.out, preset, args.force);
    if (args["found-anew"]) beginAnew(preset.data_dir);
    const written = { config: resolve(args.out), data_dir: preset.data_dir };
    print(
      written,
      `Wrote ${args.out}; check it with: pkid config check --config ${args.out}\nThe instance begins with: pkid serve --config ${args.out}\n`,
    );
  },
});

/** Refuses while there is a database: then the instance is not gone. */
function mustBeGone(database: string): void {
  if (!existsSync(database)) return;
  throw new Failure(`${database} is there; --found-anew is for a database that is gone.`);
}

const beginAnew = (directory: string): void =>
  new PlaceIdentity({ directory, keystore: join(directory, "keys") }).beginAnew();

/**
 * Writes the file (0600) and makes the data directory (0700). Refuses to overwrite unless forced,
 * and before anything is written what would not load.
 */
export function writeConfiguration(
  file: string,
  preset: Preset & { readonly data_dir: string },
  force: boolean,
): void {
  if (existsSync(file) && !force) {
    throw new Failure(`${file} exists; --force overwrites it.`, "already_exists");
  }
  if (existsSync(file)) {
    const found = kindOfFile(readFileSync(file));
    if (found !== "something else") throw new Failure(`${file} holds ${found}.`, "already_exists");
  }
  const text = exampleFile(preset);
  const readFile = () => "";
  const loaded = loadConfig({ file: { text, name: file }, env: {}, host: hostname(), readFile });
  if (!loaded.ok) throw configFailure(loaded.faults);
  mkdirSync(preset.data_dir, { recursive: true, mode: 0o700 });
  writeFile(file, text, 0o600);
}

const databases = {
  sqlite: {},
  postgres: {
    "database.driver": "postgres",
    "database.dsn_source": { type: "file", file: { path: "/etc/pkid/dsn" } },
  },
} as const satisfies Record<string, Preset>;
const providers = {
  software: {},
  pkcs11: {
    "pkcs11.module_path": "/usr/lib/pkcs11/module.so",
    "pkcs11.token_label": "pkid",
    "pkcs11.pin_source": { type: "file", file: { path: "/etc/pkid/pin" } },
  },
} as const satisfies Record<string, Preset>;
