/** `pkid audit export`: the audit chain as a file that proves itself, or as lines of logs. */

import { choice, value } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import { openStreamOut } from "#cli/stream-out.ts";

export const auditExport: Command = command({
  summary: "Write all events, oldest first; `audit verify --from-file` proves the json format.",
  args: {
    format: choice("Lines of JSON, syslog (RFC 5424) or CEF.", "format", [
      "json",
      "rfc5424",
      "cef",
    ]),
    from: value("From this time or day on.", "time"),
    to: value("Before this time or day.", "time"),
    out: value("File to write instead of stdout.", "file"),
  },
  run: async ({ args: { format, from, to, out }, client, io, print, note, patiently }) => {
    const write = openStreamOut(io, out, "an audit export");
    const { pieces } = await client.stream("event.export", { format, from, to });
    const lines = new Counted(pieces);
    // What counts the seconds would stand among the lines.
    if (out === undefined || out === "-") return void (await write(lines.counted()));
    await patiently(write(lines.counted()));
    print({ out, format, rows: lines.count }, "");
    note(`${lines.count} events are in ${out}.`);
  },
});

/** Counts the lines that come by. */
class Counted {
  readonly #pieces: AsyncIterable<Uint8Array>;
  count = 0;

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces;
  }

  async *counted(): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of this.#pieces) {
        for (let at = piece.indexOf(lineFeed); at >= 0; at = piece.indexOf(lineFeed, at + 1)) {
          this.count += 1;
        }
        yield piece;
      }
    } catch {
      // Whoever takes the pieces fails outside of this loop: it is the way here that broke.
      throw new Failure("The export broke off on its way; the server's log says why.");
    }
  }
}

const lineFeed = 0x0a;
