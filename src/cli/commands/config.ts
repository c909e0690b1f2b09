/** `pkid config`: checks, shows and describes the configuration. */

import { exampleFile, productionPreset, smallPreset } from "#config/example.ts";
import { reference, referenceMarkdown } from "#config/reference.ts";
import { configJsonSchema } from "#config/schema-json.ts";
import { showJson, showYaml } from "#config/show.ts";

import { type Command, command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import { toggle, valueOr } from "#cli/flags.ts";
import { loadedConfig } from "#cli/open-reach.ts";

export const configVerbs: Readonly<Record<string, Command>> = {
  check: command({
    summary: "Report every fault of the configuration at once.",
    local: true,
    run: async ({ globals, io, print, note }) => {
      const { warnings, fileName } = loadedConfig(globals, io);
      for (const warning of warnings) note(`warning: ${warning}`);
      const where = fileName ?? "defaults and environment";
      print({ ok: true, config_path: fileName ?? "", warnings }, `${where}: valid\n`);
      return 0;
    },
  }),
  show: command({
    summary: "Show the effective values with their origin, secrets hidden.",
    local: true,
    flags: { origin: toggle("With --json, tell the origin of each value too.") },
    run: async ({ flags, globals, io, print }) => {
      const { config, origins } = loadedConfig(globals, io);
      print(showJson(config, flags.origin ? origins : undefined), showYaml(config, origins));
      return 0;
    },
  }),
  reference: command({
    summary: "Describe every key.",
    local: true,
    flags: { format: valueOr("md or json.", "<format>", "md") },
    run: async ({ flags, print }) => {
      if (flags.format !== "md" && flags.format !== "json") {
        throw new UsageError("--format must be md or json.");
      }
      const rows = { sections: reference() };
      const human = flags.format === "md" ? referenceMarkdown() : `${JSON.stringify(rows)}\n`;
      print(rows, human);
      return 0;
    },
  }),
  schema: command({
    summary: "Print the JSON Schema of the configuration file.",
    local: true,
    run: async ({ print }) => {
      const schema = configJsonSchema();
      print(schema, `${JSON.stringify(schema, null, 2)}\n`);
      return 0;
    },
  }),
  example: command({
    summary: "Print a commented configuration file.",
    local: true,
    flags: { production: toggle("With PKCS#11, PostgreSQL and a proxy.") },
    run: async ({ flags, print }) => {
      const text = exampleFile(flags.production ? productionPreset : smallPreset);
      print({ example: text }, text);
      return 0;
    },
  }),
};
