/** `pkid revoke bulk`: shows what would be revoked, and revokes it once the number is confirmed. */

import { number, toggle, reason, value } from "#cli/args.ts";
import type { Answer, Client } from "#cli/client.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { Failure, Refusal, UsageError } from "#cli/failure.ts";
import { predicateArgs, predicateOf } from "#cli/predicate.ts";
import { bar, watched } from "#cli/progress.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { columns, facts, rowsAt, shellWord, textAt } from "#cli/rows.ts";
import { tellOfPlan } from "./acme-replace.ts";

const args = {
  ca: caArg,
  ...predicateArgs,
  "include-expired": toggle("Also those that have expired."),
  all: toggle("Every certificate of the CA; needed when nothing else selects."),
  reason: reason("keyCompromise"),
  "batch-size": number("Certificates per transaction, 1 to 5000; 500 when not given.", "n"),
  "operation-id": value("Id of a run to repeat; only what is left is revoked.", "id"),
  "dry-run": toggle("Say what would be revoked, and revoke nothing."),
  confirm: number("Number of certificates to revoke; must be what is found.", "count"),
  force: toggle("Revoke whatever is found, without a number."),
};

type Bulk = Invocation<typeof args>;

/** The command; interrupted, it is repeated with the `--operation-id` it named first. */
export const revokeBulk: Command = command({
  summary: "Revoke every certificate that a filter selects.",
  args,
  run: async (invocation) => {
    const { confirm, force, ...given } = invocation.args;
    if (given["dry-run"] && (confirm !== undefined || force)) {
      throw new UsageError("--dry-run excludes --confirm and --force.");
    }
    const order = await orderOf(invocation);
    if (confirm !== undefined || force) return await execute(invocation, order);
    const plan = await invocation.client.ask("cert.revoke_bulk", { ...order, dry_run: true });
    invocation.print(plan, planText(plan));
    if (given["dry-run"]) return 0;
    const line = repetition(given, Number(plan.total ?? 0));
    invocation.note(`Nothing was revoked. To revoke this:\n  ${line}`);
    return 1;
  },
});

async function execute({ args: given, ...tools }: Bulk, order: Order) {
  const { io, globals, print, note } = tools;
  const client = tools.client.untold();
  const operation_id = given["operation-id"] ?? crypto.randomUUID();
  note(`Operation ${operation_id}; repeat it with --operation-id ${operation_id}.`);
  const { confirm: confirm_count, force } = given;
  const lineage = await listLineageIds(client, order.id).catch(() => [order.id]);
  const before = await countRevoked(client, lineage).catch(() => undefined);
  const request = { ...order, operation_id, confirm_count, force };
  const work = settled(() => client.ask("cert.revoke_bulk", request));
  const result = await (globals.quiet || before === undefined
    ? work
    : watched(io, work, async () => {
        const done = Math.max(0, (await countRevoked(client, lineage)) - before);
        return confirm_count === undefined ? `${done} revoked` : bar(done, confirm_count);
      }));
  print(result, facts(result, resultKeys));
  if (textAt(result, "revoked") === "0") return 0;
  const words = `--ca ${shellWord(given.ca)} --operation-id ${operation_id} --within 24h`;
  const told = await tellOfPlan(client, words);
  if (told !== undefined) note(told);
  return 0;
}

/**
 * The answer of the run. A connection that is lost while the run goes on is made anew under the
 * same id, which a server that still works on it refuses as running; two in a row mean that nobody
 * is there.
 */
async function settled<A>(ask: () => Promise<A>): Promise<A> {
  let [lost, waiting] = [0, false];
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const dropped = error instanceof Failure && error.code === "unreachable";
      const running =
        error instanceof Refusal && textAt(error.body, "code") === "operation_running";
      lost = dropped ? lost + 1 : 0;
      waiting ||= dropped;
      if (lost > 1 || !(dropped || (running && waiting))) throw error;
      await Bun.sleep(againMs);
    }
  }
}

/** Returns how many serials of these CAs are revoked or held. */
async function countRevoked(client: Client, ids: readonly string[]): Promise<number> {
  let total = 0;
  for (const id of ids) {
    const page = await client.ask("revocation.list", { id, limit: 1 });
    total += Number(page.total ?? 0);
  }
  return total;
}

/** Returns the ids of a CA and of its predecessors and successors, which a selection covers too. */
async function listLineageIds(client: Client, id: string): Promise<readonly string[]> {
  const cas = rowsAt(await client.list("ca.list", { limit: 500 }, true), "items");
  const byId = new Map(cas.map((ca) => [textAt(ca, "id"), ca]));
  const ids = new Set([id]);
  for (const relation of ["predecessor_id", "successor_id"] as const) {
    for (let ca = byId.get(id); ca !== undefined; ca = byId.get(textAt(ca, relation))) {
      ids.add(textAt(ca, "id"));
    }
  }
  return [...ids];
}

type Order = Awaited<ReturnType<typeof orderOf>>;

/** What every question about this run says. */
async function orderOf(invocation: Bulk) {
  const { args: given, client } = invocation;
  const include_expired = given["include-expired"] || undefined;
  const filter = { ...(await predicateOf(invocation)), include_expired };
  const id = await caIdOf(client, given.ca);
  const { reason, all } = given;
  const batch_size = given["batch-size"];
  return { id, reason, filter, all: all || undefined, batch_size };
}

function planText(plan: Answer<"cert.revoke_bulk">): string {
  const sample = rowsAt(plan, "sample");
  const listed = sample.length === 0 ? "" : `\n${columns(sample, sampleKeys)}`;
  return facts(plan, planKeys) + listed;
}

/** The same line with the number that was found. */
function repetition(given: Omit<Bulk["args"], "confirm" | "force">, total: number): string {
  const words = Object.entries(given).flatMap(([name, said]) => {
    if (said === undefined || said === false) return [];
    if (name === "serial-format" && given["serials-file"] === undefined) return [];
    return said === true ? [`--${name}`] : [`--${name}`, shellWord(String(said))];
  });
  return ["pkid revoke bulk", ...words, "--confirm", String(total)].join(" ");
}

const planKeys = [
  "operation_id",
  "reason",
  "filter",
  "total",
  "known",
  "unknown",
  "held",
  "already_revoked",
  "filtered_out",
  "expired_excluded",
] as const;
const sampleKeys = ["serial", "common_name", "profile", "not_after", "known"] as const;
const resultKeys = [
  "operation_id",
  "reason",
  "planned",
  "revoked",
  "upgraded",
  "already_skipped",
  "batches",
  "crl_scopes",
  "ocsp_invalidated",
  "presign_refreshed",
  "presign_error",
  "duration_seconds",
] as const;
const againMs = 1000;
