/** `pkid hsm`: what the key store says about itself. */

import { type Command, command } from "#cli/command.ts";
import { facts, textAt } from "#cli/rows.ts";

export const hsmVerbs: Readonly<Record<string, Command>> = {
  status: command({
    summary: "Tell whether the key store answers, and what it is; exit 1 when it does not.",
    run: async ({ client, print }) => {
      const status = await client.ask("hsm.info");
      print(status, facts(status, Object.keys(status)));
      return textAt(status, "available") === "true" ? 0 : 1;
    },
  }),
};
