/** `pkid canary`: has CAs issue and revoke a certificate nobody uses, and shows each stage. */

import { value } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { caIdOf } from "#cli/references.ts";
import { columns, rowsAt, textAt } from "#cli/rows.ts";

export const canaryVerbs: Readonly<Record<string, Command>> = {
  run: command({
    summary: "Have CAs issue and revoke a certificate nobody uses, and tell what each stage took.",
    local: true,
    args: { ca: value("Id or label of a CA; without it all that are configured.", "ca") },
    run: async ({ args, client, print }) => {
      const ca_id = args.ca === undefined ? undefined : await caIdOf(client, args.ca);
      const run = await client.askLong("canary.run", { ca_id });
      const rows = rowsAt(run, "probes").flatMap((probe) =>
        rowsAt(probe, "stages").map((one) => ({
          ca: textAt(probe, "ca"),
          stage: textAt(one, "stage"),
          ms: textAt(one, "milliseconds"),
          result:
            textAt(one, "result") === "error" ? `error: ${textAt(probe, "reason")}` : "success",
        })),
      );
      print(run, columns(rows, ["ca", "stage", "ms", "result"]));
      return textAt(run, "result") === "success" ? 0 : 1;
    },
  }),
};
