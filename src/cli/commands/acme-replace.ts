/** `pkid acme replace`: has the clients of many certificates come for others, and says who has. */

import { number, pageArgs, toggle, value, word } from "#cli/args.ts";
import type { Answer, Client } from "#cli/client.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { agreed } from "#cli/confirm.ts";
import { UsageError } from "#cli/failure.ts";
import { secondsOf } from "#cli/open-reach.ts";
import { predicateArgs, predicateOf } from "#cli/predicate.ts";
import { bar, watched } from "#cli/progress.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { columns, facts, rowsAt, textAt } from "#cli/rows.ts";

const args = {
  ca: caArg,
  ...predicateArgs,
  "operation-id": value("Those that the bulk revocation of this id has revoked or held.", "id"),
  all: toggle("Every certificate; needed with --revoke when nothing else selects."),
  within: value("Time they are spread over, as 24h.", "duration"),
  until: value("The end of that time, instead of --within.", "time"),
  start: value("When it begins; now when not given.", "time"),
  revoke: value(
    "Revoke each once it is replaced, the rest at the end, with this reason.",
    "reason",
  ),
  "per-second": number("At most so many in any second, instead of half of what was seen.", "n"),
  "dry-run": toggle("Say what would be planned, and plan nothing."),
  watch: toggle("Stay until the plan is over, and say how many clients have come."),
};

type Given = Invocation<typeof args>;

/** The command; what it revokes is confirmed first. */
export const acmeReplace: Command = command({
  summary: "Have the clients of certificates come for others, spread over a time.",
  args,
  run: async (invocation) => {
    const { args: given, client, print, note, globals, io } = invocation;
    const asked = await membersOf(invocation);
    const found = await client.untold().askLong("acme.replace.plan", { ...asked, dry_run: true });
    if (given["dry-run"]) return void print(found, facts(found, foundKeys));
    const poll = Number(textAt(found, "poll_seconds"));
    if (asked.within_seconds !== undefined && asked.within_seconds < poll) {
      note(`Clients ask every ${poll / 3600} h at least; some will learn of it after its end.`);
    }
    if (given.revoke !== undefined) {
      const sentence = `${textAt(found, "total")} certificates will be revoked for good (${given.revoke}), at the end also those nobody has replaced.`;
      await agreed(sentence, globals.yes, io);
    }
    const plan = await client.askLong("acme.replace.plan", asked);
    const id = textAt(plan, "id");
    if (!given.watch) {
      print(plan, facts(plan, planKeys));
      note(`pkid acme replacement show ${id} says how many clients have come.`);
      return 0;
    }
    note(`Plan ${id}; pkid acme replacement cancel ${id} calls it off.`);
    const ended = await watchedPlan(invocation, id);
    print(ended, facts(ended, planKeys));
    return textAt(ended, "outstanding") === "0" ? 0 : 1;
  },
});

/** The plans there are. */
export const acmeReplacements: Command = command({
  summary: "List planned replacements, newest first.",
  args: pageArgs,
  run: async ({ args: { all, ...query }, client, print }) => {
    const list = await client.list("acme.replace.list", query, all);
    const keys = ["id", "status", "start", "end", "per_second", "revoke", "filter"] as const;
    print(list, columns(rowsAt(list, "items"), keys));
  },
});

/** One of them. */
export const acmeReplacementVerbs: Readonly<Record<string, Command>> = {
  show: command({
    summary: "Show a planned replacement, and how many clients have come.",
    args: { id: word() },
    run: async ({ args: { id }, client, print }) => {
      const plan = await client.ask("acme.replace.show", { id });
      print(plan, facts(plan, planKeys));
    },
  }),
  cancel: command({
    summary: "Call a planned replacement off: clients come at their usual times again.",
    args: { id: word() },
    run: async ({ args: { id }, client, print }) => {
      const result = await client.ask("acme.replace.cancel", { id });
      print(result, `${textAt(result, "status")}\n`);
    },
  }),
};

/** Says how the clients of what was revoked or superseded at once are spread, where ACME is on. */
export async function tellOfPlan(client: Client, words: string): Promise<string | undefined> {
  const plans = client.untold().ask("acme.replace.list", { limit: 1 });
  const isOn = await plans.then(
    () => true,
    () => false,
  );
  if (!isOn) return undefined;
  return `Clients of ACME are told to come at once. To have no more of them in a second than is good, and to see who has come:\n  pkid acme replace ${words}`;
}

async function membersOf(invocation: Given) {
  const { args: given, client } = invocation;
  if ((given.within === undefined) === (given.until === undefined)) {
    throw new UsageError("Either --within or --until says how long it may take.");
  }
  const filter = await predicateOf(invocation);
  return {
    id: await caIdOf(client, given.ca),
    filter,
    operation_id: given["operation-id"],
    all: given.all || undefined,
    within_seconds: given.within === undefined ? undefined : secondsOf("--within", given.within),
    until: given.until,
    start: given.start,
    revoke: given.revoke,
    per_second: given["per-second"],
  };
}

/** Stays until the plan is over. */
async function watchedPlan({ client, io, globals }: Given, id: string) {
  const quiet = client.untold();
  let last: Answer<"acme.replace.show"> | undefined;
  const over = ended(quiet, id, (plan) => {
    last = plan;
  });
  if (globals.quiet) return await over;
  return await watched(io, over, async () => {
    if (last === undefined) return undefined;
    const [come, total] = [Number(textAt(last, "replaced")), Number(textAt(last, "total"))];
    return `${bar(come, total)} clients have come`;
  });
}

async function ended(
  client: Client,
  id: string,
  tell: (plan: Answer<"acme.replace.show">) => void,
): Promise<Answer<"acme.replace.show">> {
  for (;;) {
    const plan = await client.ask("acme.replace.show", { id });
    if (!["planning", "running"].includes(textAt(plan, "status"))) return plan;
    tell(plan);
    await Bun.sleep(lookMs);
  }
}

const foundKeys = [
  "ca_id",
  "ca_label",
  "total",
  "replaced",
  "not_by_acme",
  "per_second",
  "least_seconds",
  "poll_seconds",
] as const;
const planKeys = [
  "id",
  "ca_id",
  "status",
  "filter",
  "start",
  "end",
  "per_second",
  "revoke",
  "total",
  "replaced",
  "outstanding",
  "revoked",
  "not_by_acme",
  "created_by",
] as const;
const lookMs = 2000;
