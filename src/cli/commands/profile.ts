/** `pkid profile`: the profiles as the server uses them. */

import { near } from "#config/nearest.ts";

import { word } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import { columns, facts, namesOf, rowsAt, textAt } from "#cli/rows.ts";

export const profileVerbs: Readonly<Record<string, Command>> = {
  list: command({
    summary: "List built-in and custom profiles.",
    run: async ({ client, print }) => {
      const list = await client.ask("profile.list");
      const keys = [
        "name",
        "builtin",
        "default_validity_days",
        "max_validity_days",
        "description",
      ] as const;
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
  show: command({
    summary: "Show one profile.",
    args: { name: word() },
    run: async ({ args: { name }, client, print }) => {
      const profiles = rowsAt(await client.ask("profile.list"), "items");
      const found = profiles.find((profile) => textAt(profile, "name") === name);
      if (!found) {
        const names = profiles.map((profile) => textAt(profile, "name"));
        const close = near(name, names);
        const hint =
          close === undefined ? "pkid profile list shows them." : `Did you mean ${close}?`;
        throw new Failure(`There is no profile ${name}. ${hint}`, "unknown_profile");
      }
      print(found, facts(found, namesOf(found)));
    },
  }),
};
