/** `pkid approvals`: what waits for other people, and what they decide. */

import { pageArgs, required, tenantArg, toggle, value, valueOr, word } from "#cli/args.ts";
import type { Answer } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { issuedPrinter, outArgs } from "#cli/issued.ts";
import { openOut } from "#cli/out-file.ts";
import { columns, facts, printable, rowAt, rowsAt } from "#cli/rows.ts";

export const approvalVerbs: Readonly<Record<string, Command>> = {
  list: command({
    summary: "List the requests you may read or have made, newest first.",
    args: {
      status: value("Only this state, e.g. pending.", "state"),
      class: value("Only this class, e.g. ca.create.", "class"),
      decidable: toggle("Only what you may approve or reject now."),
      tenant: tenantArg,
      ...pageArgs,
    },
    run: async ({ args, client, print, note }) => {
      const { all, decidable, ...others } = args;
      const query = { ...others, decidable: decidable || undefined };
      const list = await client.list("approval.list", query, all);
      const keys = [
        "id",
        "status",
        "operation_class",
        "requested_by",
        "expires_at",
        "summary",
      ] as const;
      print(list, columns(rowsAt(list, "items"), keys));
      if (list.enabled === false) note("Approvals are switched off: nothing waits.");
    },
  }),
  show: command({
    summary: "Show a request with everything that would be executed.",
    args: { id: word() },
    run: async ({ args: { id }, client, print }) => {
      const approval = await client.ask("approval.show", { id });
      print(approval, approvalText(approval));
    },
  }),
  approve: command({
    summary: "Approve a request; the last approval it needs executes the operation.",
    args: { id: word(), comment: valueOr("Why.", "text", "") },
    run: async ({ args: { id, comment }, client, print }) => {
      const approval = await client.ask("approval.approve", { id, comment });
      print(approval, approvalText(approval));
      return outcomeOf(approval);
    },
  }),
  reject: command({
    summary: "Reject a request for good.",
    args: { id: word(), reason: required("Why, 1 to 500 characters.", "text") },
    run: async ({ args: { id, reason }, client, print }) => {
      const approval = await client.ask("approval.reject", { id, comment: reason });
      print(approval, approvalText(approval));
    },
  }),
  withdraw: command({
    summary: "Withdraw a request of your own.",
    args: { id: word(), reason: required("Why, 1 to 500 characters.", "text") },
    run: async ({ args: { id, reason }, client, print }) => {
      const members = { id, comment: reason, withdraw: true };
      const approval = await client.ask("approval.reject", members);
      print(approval, approvalText(approval));
    },
  }),
  retry: command({
    summary: "Execute an approved operation again that failed for a passing reason.",
    args: { id: word() },
    run: async ({ args: { id }, client, print }) => {
      const approval = await client.ask("approval.retry", { id });
      print(approval, approvalText(approval));
      return outcomeOf(approval);
    },
  }),
  certificate: command({
    summary: "Print the certificate of a parked issue, once it is approved.",
    args: { id: word(), ...outArgs },
    run: async (invocation) => {
      const { id } = invocation.args;
      const printIssued = issuedPrinter(invocation);
      printIssued(await invocation.client.ask("approval.certificate", { id }));
      return 0;
    },
  }),
  transcript: command({
    summary: "Write who asked, who decided and what was done, signed by the ledger key.",
    args: { id: word(), out: value("File to write instead of stdout.", "file") },
    local: true,
    run: async ({ args: { id, out }, client, io }) => {
      const write = openOut(io, out, "an approval transcript");
      write(await client.fetch("approval.transcript", { id }));
    },
  }),
};

type Approval = Answer<"approval.show">;

/** What was approved and could not be done is a failure of the command too. */
const outcomeOf = (approval: Approval): number => (approval.status === "failed" ? 1 : 0);

function approvalText(approval: Approval): string {
  const about = facts(approval, [
    "id",
    "status",
    "operation_class",
    "resource_name",
    "summary",
    "requested_by",
    "required_approvals",
    "approvals_count",
    "created_at",
    "expires_at",
    "decided_at",
    "executed_at",
    "fingerprint",
  ]);
  const failure =
    approval.failure === undefined ? "" : facts(rowAt(approval, "failure"), failureKeys);
  const lines = (JSON.stringify(approval.details, null, 2) ?? "").split("\n");
  const details = lines.map((line) => `${printable(line)}\n`).join("");
  const decisions = rowsAt(approval, "decisions");
  const keys = ["approver", "decision", "created_at", "comment"] as const;
  const decided = decisions.length === 0 ? "" : `\n${columns(decisions, keys)}`;
  return `${about}${failure}\n${details}${decided}`;
}

const failureKeys = ["code", "error", "retryable"] as const;
