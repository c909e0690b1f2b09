/** `pkid config`: checks, shows and describes the configuration. */

import { exampleFile, productionPreset, smallPreset } from "#config/example.ts";
import { reference, referenceMarkdown, sourceReference } from "#config/reference.ts";
import { configJsonSchema } from "#config/schema-json.ts";
import { showJson, showYaml } from "#config/show.ts";

import { choice, toggle } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
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
    },
  }),
  show: command({
    summary: "Show the effective values with their origin, secrets hidden.",
    local: true,
    args: { origin: toggle("With --json, tell the origin of each value too.") },
    run: async ({ args, globals, io, print }) => {
      const { config, origins } = loadedConfig(globals, io);
      print(showJson(config, args.origin ? origins : undefined), showYaml(config, origins));
    },
  }),
  reference: command({
    summary: "Describe every key.",
    local: true,
    args: { format: choice("md or json.", "format", ["md", "json"]) },
    run: async ({ args, print }) => {
      const rows = { sections: reference(), sources: sourceReference() };
      const human = args.format === "md" ? referenceMarkdown() : `${JSON.stringify(rows)}\n`;
      print(rows, human);
    },
  }),
  schema: command({
    summary: "Print the JSON Schema of the configuration file.",
    local: true,
    run: async ({ print }) => {
      const schema = configJsonSchema();
      print(schema, `${JSON.stringify(schema, null, 2)}\n`);
    },
  }),
  example: command({
    summary: "Print a commented configuration file.",
    local: true,
    args: { production: toggle("With PKCS#11, PostgreSQL and a proxy.") },
    run: async ({ args, print }) => {
      const text = exampleFile(args.production ? productionPreset : smallPreset);
      print({ example: text }, text);
    },
  }),
};
