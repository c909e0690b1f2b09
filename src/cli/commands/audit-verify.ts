/** `pkid audit verify`: the chain of an instance, or a file of it without any instance. */

import { value } from "#cli/args.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { argumentPieces } from "#cli/io.ts";
import { printable, textAt } from "#cli/rows.ts";
import { verifyChainFile } from "#core/audit/chain-file.ts";

const flags = {
  "from-file": value("A file of `audit export` instead, - for stdin; asks no instance.", "file"),
};

export const auditVerify: Command = command({
  summary: "Recompute the whole chain; exit 1 at the first broken link.",
  args: flags,
  run: async (invocation) => {
    const { args, client, print } = invocation;
    if (args["from-file"] !== undefined) return await provenFile(invocation, args["from-file"]);
    const verdict = await client.ask("event.verify");
    const [events, head] = [textAt(verdict, "events"), textAt(verdict, "head_hash")];
    print(verdict, `${events} events, chain intact, head ${head}\n`);
  },
});

/** Fails at the first event that is not as it was hashed, and for a file that proves nothing. */
async function provenFile(
  { io, globals, print, patiently }: Invocation<typeof flags>,
  file: string,
): Promise<undefined> {
  if (globals.url !== undefined)
    throw new UsageError("--from-file asks no server: leave --url out.");
  const verdict = await patiently(verifyChainFile(argumentPieces(io, file)));
  if (!verdict.valid) {
    const { line, brokenAtSeq, reason, sentence } = verdict;
    const facts = { valid: false, line, broken_at_seq: brokenAtSeq, reason };
    throw new Failure(`${printable(sentence)}.`, "chain_broken", facts);
  }
  const { events, firstSeq, head } = verdict;
  if (events === 0) throw new Failure(`${file} holds no event, and proves nothing.`);
  const document = {
    valid: true,
    events,
    first_seq: firstSeq,
    last_seq: head.seq,
    head_hash: head.hash,
    from_genesis: firstSeq === 1,
  };
  const before = `What came before event ${firstSeq} is not proven.\n`;
  print(
    document,
    `${events} events, ${firstSeq} to ${head.seq}, chain intact, head ${head.hash}\n${firstSeq === 1 ? "" : before}`,
  );
}
