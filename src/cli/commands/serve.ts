/** `pkid serve`: runs the server on this data directory. */

import { configDigest } from "#config/show.ts";
import { faultLine } from "#config/load.ts";

import { command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import { toggle, value } from "#cli/flags.ts";
import { loadedConfig, readHere } from "#cli/open-reach.ts";

export const serve = command({
  summary: "Run the server until it is told to stop.",
  local: true,
  flags: {
    listen: value("Address of the main listener instead of the configured one.", "<host:port>"),
    migrate: toggle("Bring a postgres schema up to date first; sqlite always is."),
  },
  run: async ({ flags, globals, io, deps }) => {
    const overrides = listenFlags(flags.listen);
    const { config, warnings, fileName } = loadedConfig(globals, io, overrides);
    return deps.serve({
      ...{ config, warnings, fileName, digest: configDigest(config) },
      migrate: flags.migrate || config.database.driver === "sqlite",
      reread: () => {
        const { loaded } = readHere(globals, io, overrides);
        return loaded.ok ? { config: loaded.config } : { faults: loaded.faults.map(faultLine) };
      },
    });
  },
});

function listenFlags(listen: string | undefined): Record<string, unknown> {
  if (listen === undefined) return {};
  const parts = /^(.*):(\d{1,5})$/.exec(listen);
  if (!parts) throw new UsageError("--listen must be a host and a port, like 0.0.0.0:8443.");
  const host = (parts[1] ?? "").replace(/^\[(.*)\]$/, "$1");
  return { ...(host === "" ? {} : { "server.host": host }), "server.port": Number(parts[2]) };
}
