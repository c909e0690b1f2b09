/** Approved operations were done at most once, by as many distinct people as they needed. */

import { type Person, sharesName } from "#core/access/person.ts";

import type { Look } from "./look.ts";
import { asked, paged, textOf } from "./look-rows.ts";

interface Decided {
  readonly person: Person;
  readonly decision: string;
}

/** `effects` says how often an event tells that the operation of an approval was done. */
export async function proveApprovals(
  look: Look,
  effects: ReadonlyMap<string, number>,
): Promise<void> {
  const { connection, proofs } = look;
  const { approvals } = proofs;
  for await (const page of paged(connection, everyApproval, [""])) {
    for (const row of page) {
      approvals.checked += 1;
      await proveApproval(look, row, effects);
    }
    look.advanced(page.length);
  }
  for await (const page of paged(connection, everyEffect, [""])) {
    for (const [id, status] of page) {
      if (status === "executed") continue;
      approvals.violated(`Approval ${textOf(id)} has an effect and is not executed.`);
    }
  }
  for (const [id, times] of effects) {
    if (times > 1) approvals.violated(`Approval ${id} was executed ${times} times.`);
    const [row] = await asked(connection, "select status from approvals where id = %1", [id]);
    if (row?.[0] === "executed") continue;
    approvals.violated(`An event tells that approval ${id} was executed, and its row does not.`);
  }
}

async function proveApproval(
  look: Look,
  row: readonly unknown[],
  effects: ReadonlyMap<string, number>,
): Promise<void> {
  const { approvals } = look.proofs;
  const [id, status, required, executedAt, taken, subject, voucher, issuer, address] = row;
  const name = `Approval ${textOf(id)}`;
  const executed = status === "executed";
  if (!executed && status !== "approved" && status !== "executing" && status !== "failed") return;
  if (executed && taken === null) approvals.violated(`${name} is executed and has no effect.`);
  const told = effects.has(textOf(id)) || Number(executedAt) < look.from.at;
  if (executed && !told) approvals.violated(`${name} is executed and no event tells of it.`);
  const maker = personOf([subject, voucher, issuer, address]);
  const decided = await decisionsOf(look, textOf(id));
  const approvers = decided.filter(({ decision }) => decision === "approve");
  if (approvers.length < Number(required)) {
    approvals.violated(`${name} has ${approvers.length} of ${Number(required)} approvals.`);
  }
  if (decided.some(({ decision }) => decision === "reject")) {
    approvals.violated(`${name} went on although somebody rejected it.`);
  }
  const people = [maker, ...approvers.map(({ person }) => person)];
  if (people.some(({ voucher: by }) => by === "unknown")) {
    approvals.noted("of older releases, whose people are not told apart");
    return;
  }
  // Older releases let root approve requests of the admin socket, so that rule is not applied here.
  const same = people.some((one, at) => people.slice(at + 1).some((b) => sharesName(one, b)));
  if (same) approvals.violated(`${name} was approved by its maker, or by one person twice.`);
}

async function decisionsOf({ connection }: Look, id: string): Promise<readonly Decided[]> {
  const rows = await asked(connection, decisions, [id]);
  return rows.map(([decision, ...person]) => ({
    decision: textOf(decision),
    person: personOf(person),
  }));
}

const personOf = ([subject, voucher, issuer, address]: readonly unknown[]): Person => ({
  subject: textOf(subject),
  voucher: textOf(voucher) as Person["voucher"], // The words of the writer; compared only.
  issuer: textOf(issuer),
  address: textOf(address),
});

const everyApproval = `select a.id, a.status, a.required, a.executed_at, e.approval,
  a.maker_subject, a.maker_voucher, a.maker_issuer, a.maker_address
from approvals a left join approval_effects e on e.approval = a.id
where a.id > %1 order by a.id limit %2`;
const everyEffect = `select e.approval, a.status from approval_effects e
left join approvals a on a.id = e.approval where e.approval > %1 order by e.approval limit %2`;
const decisions = `select decision, person_subject, person_voucher, person_issuer, person_address
from approval_decisions where approval = %1`;
