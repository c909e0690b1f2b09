/** `pkid keys kek`: the versions of the key-encryption key, and its rotation. */

import { type Command, command } from "#cli/command.ts";
import { columns, facts, rowsAt } from "#cli/rows.ts";

export const kekVerbs: Readonly<Record<string, Command>> = {
  list: command({
    summary: "List the versions of the key that seals secrets in the database.",
    run: async ({ client, print }) => {
      const kek = await client.ask("kek.show");
      const about = facts(kek, ["kek_label", "provider", "version", "wrapped_keys"]);
      const versions = columns(rowsAt(kek, "versions"), ["version", "status", "created_at"]);
      print(kek, `${about}\n${versions}`);
    },
  }),
  rotate: command({
    summary: "Make a new version, wrap every data key with it, and retire the old one.",
    run: async ({ client, print }) => {
      const rotated = await client.ask("kek.rotate");
      print(rotated, facts(rotated, ["kek_label", "old_version", "new_version", "rewrapped"]));
    },
  }),
};
