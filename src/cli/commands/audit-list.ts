/** `pkid audit list`: events as a list, or as they come. */

import { pageArgs, tenantArg, toggle, value } from "#cli/args.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { type EventQuery, type EventRow, eventFeed } from "#cli/event-feed.ts";
import { Failure, ReaderGone, UsageError } from "#cli/failure.ts";
import { columns, growingColumns, jsonFor, rowsAt } from "#cli/rows.ts";
import { toSerialValue } from "#cli/serials.ts";

const flags = {
  action: value("Only one action, or a group like cert.*", "action"),
  actor: value("Only one actor.", "subject"),
  ca: value("Only one CA, by id or label.", "ca"),
  serial: value("Only one certificate.", "serial"),
  tenant: tenantArg,
  since: value("From this time or day on.", "time"),
  until: value("Before this time or day.", "time"),
  ...pageArgs,
  follow: toggle("Stay: print the newest, oldest first, and then each event as it comes."),
};

export const auditList: Command = command({
  summary: "List events, newest first.",
  args: flags,
  run: async (invocation) => {
    const { args, globals, client, print } = invocation;
    const { all, since, until, limit, cursor, follow, ...query } = args;
    const serial = toSerialValue(args.serial, globals["serial-format"]);
    const members = { ...query, serial, from: since, to: until };
    if (follow) return await followed(invocation, members);
    const list = await client.list("event.list", { ...members, limit, cursor }, all);
    print(list, columns(rowsAt(list, "items"), shown));
  },
});

/** Ends only with the process, or with whoever reads what it prints. */
async function followed(
  { args, client, globals, given, io, complain }: Invocation<typeof flags>,
  query: EventQuery,
): Promise<never> {
  const idle = ["all", "cursor"].find((name) => given(name));
  if (idle !== undefined) throw new UsageError(`--${idle} and --follow exclude each other.`);
  // Whatever happened would have to happen here, and no server could start meanwhile.
  if ((await client.way()) === "process") {
    throw new Failure("--follow needs a server that runs, and none does.", "unreachable");
  }
  const lines = growingColumns<EventRow>(shown);
  const feed = eventFeed(
    {
      client,
      // What fits little is looked for in all events: a watcher must not keep the server busy.
      pause: async (tookMs) => {
        await Bun.sleep(Math.min(Math.max(pauseMs, tookMs * restShare), pauseMsMax));
        if (io.isAbandoned()) throw new ReaderGone();
      },
      lost: (error) => complain(`${error.message} What happens meanwhile is shown later.`, error),
    },
    query,
    args.limit,
  );
  for await (const rows of feed) {
    const json = () => rows.map((row) => `${jsonFor(io.stdout, row)}\n`).join("");
    io.stdout.write(globals.json ? json() : lines(rows));
  }
  throw new Error("a feed has no end");
}

const pauseMs = 1000;
const pauseMsMax = 30_000;
const restShare = 9;
const shown = ["seq", "timestamp", "actor", "action", "result", "target", "serial"] as const;
