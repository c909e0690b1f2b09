/** `pkid serve`: runs the server on this data directory. */

import { toggle, value } from "#cli/args.ts";
import { command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import { portsMustBeFree } from "#cli/free-ports.ts";
import { migrationAgreed } from "#cli/migration-agreed.ts";
import { refuseElsewhere, serveRequest } from "#cli/open-reach.ts";

export const serve = command({
  summary: "Run the server until it is told to stop.",
  local: true,
  args: {
    listen: value("Address of the main listener instead of the configured one.", "host:port"),
    "found-anew": toggle(
      "Found another instance where the database of an earlier one is gone; its keys stay.",
    ),
    migrate: toggle(
      "Bring a postgres schema up to date first, which wants a recent backup or --yes; sqlite always is.",
    ),
  },
  run: async ({ args, globals, io, deps }) => {
    refuseElsewhere(globals, io);
    const request = serveRequest(globals, io, listenArgs(args.listen));
    await portsMustBeFree(request.config, io.env);
    const migrate = args.migrate || request.config.database.driver === "sqlite";
    if (args.migrate) {
      const asked = { line: "pkid serve --migrate", config: request.config, yes: globals.yes, io };
      await migrationAgreed(asked, () => deps.migrate(request.config, "status"));
    }
    return deps.serve({ ...request, migrate, foundAnew: args["found-anew"] });
  },
});

function listenArgs(listen: string | undefined): Record<string, unknown> {
  if (listen === undefined) return {};
  const parts = /^(.*):(\d{1,5})$/.exec(listen);
  if (!parts) throw new UsageError("--listen must be a host and a port, like 0.0.0.0:8443.");
  const host = (parts[1] ?? "").replace(/^\[(.*)\]$/, "$1");
  return { ...(host === "" ? {} : { "server.host": host }), "server.port": Number(parts[2]) };
}
