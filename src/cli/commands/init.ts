/** `pkid init`: writes a commented configuration and makes the data directory. */

import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";

import { exampleFile, type Preset } from "#config/example.ts";

import { command } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { toggle, value, valueOr } from "#cli/flags.ts";
import { writeFile } from "#cli/io.ts";

export const init = command({
  summary: "Write a commented configuration and make the data directory.",
  local: true,
  flags: {
    out: valueOr("Configuration file to write.", "<file>", "pkid.yaml"),
    "public-url": value("Base address this service is reached under.", "<url>"),
    database: valueOr("sqlite or postgres.", "<driver>", "sqlite"),
    "key-provider": valueOr("software or pkcs11.", "<provider>", "software"),
    force: toggle("Overwrite an existing configuration."),
  },
  run: async ({ flags, globals, io, print }) => {
    const dataDir = globals["data-dir"] ?? io.env.PKID_DATA_DIR ?? "./pkid-data";
    const preset = {
      data_dir: resolve(dataDir),
      ...(flags["public-url"] === undefined ? {} : { "server.public_url": flags["public-url"] }),
      ...chosen("database", flags.database, databases),
      ...chosen("key-provider", flags["key-provider"], providers),
    };
    writeConfiguration(flags.out, preset, flags.force);
    const written = { config: resolve(flags.out), data_dir: preset.data_dir };
    print(written, `Wrote ${flags.out}; check it with: pkid config check --config ${flags.out}\n`);
    return 0;
  },
});

/** Writes the file (0600) and makes the data directory (0700). Refuses to overwrite unless forced. */
export function writeConfiguration(
  file: string,
  preset: Preset & { readonly data_dir: string },
  force: boolean,
): void {
  if (existsSync(file) && !force) {
    throw new Failure(`${file} exists; --force overwrites it.`, "already_exists");
  }
  mkdirSync(preset.data_dir, { recursive: true, mode: 0o700 });
  writeFile(file, exampleFile(preset), 0o600);
}

function chosen(flag: string, given: string, choices: Readonly<Record<string, Preset>>): Preset {
  const preset = Object.hasOwn(choices, given) ? choices[given] : undefined;
  if (!preset) throw new UsageError(`--${flag} must be ${Object.keys(choices).join(" or ")}.`);
  return preset;
}

const databases: Readonly<Record<string, Preset>> = {
  sqlite: {},
  postgres: {
    "database.driver": "postgres",
    "database.dsn_source": { type: "file", file: { path: "/etc/pkid/dsn" } },
  },
};
const providers: Readonly<Record<string, Preset>> = {
  software: {},
  pkcs11: {
    "pkcs11.module_path": "/usr/lib/pkcs11/module.so",
    "pkcs11.token_label": "pkid",
    "pkcs11.pin_source": { type: "file", file: { path: "/etc/pkid/pin" } },
  },
};
