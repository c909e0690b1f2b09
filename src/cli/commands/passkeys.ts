/** `pkid passkeys`: the way out for people who have lost theirs. */

import { word } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { textAt } from "#cli/rows.ts";

export const passkeysVerbs: Readonly<Record<string, Command>> = {
  reset: command({
    summary: "Remove all passkeys of a person, who then adds a new one after logging in.",
    args: { subject: word() },
    destroys: "The passkeys are gone for good; the person adds a new one.",
    run: async ({ args: { subject }, client, print }) => {
      const result = await client.ask("webauthn.reset", { subject });
      print(result, `${textAt(result, "removed")} passkeys of ${subject} removed\n`);
    },
  }),
};
