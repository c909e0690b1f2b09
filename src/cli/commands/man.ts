/** `pkid man`: the page for `man`, from the same table as the help. */

import { type Command, command, type Noun } from "#cli/command.ts";
import { manPage } from "#cli/man-page.ts";

/** The command, which has to be told the table it stands in. */
export const man = (nouns: () => Readonly<Record<string, Noun>>): Command =>
  command({
    summary: "Print the manual page of section 1, for man -l or a package.",
    local: true,
    run: async ({ deps, print }) => {
      const page = manPage(nouns(), deps.version);
      print({ man: page }, page);
    },
  });
