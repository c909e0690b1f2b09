/** Requests for approval in memory. */

import { isSamePerson, type Person } from "#core/access/person.ts";
import { coversTenant } from "#core/access/principal.ts";
import { assert } from "#core/problems.ts";
import { isDecidable } from "#domain/approvals/deciding.ts";
import {
  type ApprovalFilter,
  type ApprovalRecord,
  isOpen,
  type ListedApproval,
  listedDetailsMax,
} from "#domain/approvals/store.ts";
import type { Reads, Unit } from "#domain/store.ts";
import { type MemoryState, pageOf } from "./state.ts";

/** Requests as they are; nobody else's store lives beside this one. */
export const approvalReads = (state: MemoryState): Reads["approvals"] => ({
  byId: async (id) => state.approvals.get(id),
  page: async (filter, limit, after) => {
    const rows = [...state.approvals.values()].filter((one) => meets(filter, one));
    return pageOf(rows.map(listed), ({ createdAt: at, id }) => ({ at, id }), limit, after);
  },
  overdue: async (now, limit) =>
    [...state.approvals.values()]
      .filter(({ status }) => status === "pending" || status === "failed")
      .filter((one) => isOpen(one) && one.expiresAt <= now)
      .slice(0, limit)
      .map(({ id }) => id),
  abandoned: async (limit) =>
    [...state.approvals.values()]
      .filter(({ status }) => status === "executing")
      .slice(0, limit)
      .map(({ id }) => id),
});

/** Approval writes of a unit. */
export function approvalWrites({ approvals, approvalEffects }: MemoryState): Unit["approvals"] {
  const opened = (fingerprint: string) =>
    [...approvals.values()].filter((one) => one.fingerprint === fingerprint && isOpen(one));
  return {
    insert: async (approval) => {
      const { maker, fingerprint } = approval;
      const taken = opened(fingerprint).some((one) => sameAccount(one.maker.person, maker.person));
      if (!taken) approvals.set(approval.id, approval);
      return !taken;
    },
    lock: async (id) => approvals.get(id),
    open: async (fingerprint) => opened(fingerprint),
    save: async (approval) => {
      const known = approvals.get(approval.id);
      assert(known !== undefined, "a request that is changed exists");
      approvals.set(approval.id, { ...approval, decisions: known.decisions });
    },
    decide: async (id, decision) => {
      const known = approvals.get(id);
      assert(known !== undefined, "a request that is decided exists");
      approvals.set(id, { ...known, decisions: [...known.decisions, decision] });
    },
    abandoned: async (id) => approvals.get(id)?.status === "executing",
    take: async (id) => {
      if (approvalEffects.has(id)) return false;
      approvalEffects.set(id, true);
      return true;
    },
  };
}

/** What the unique index of the database holds against a second open request. */
const sameAccount = (one: Person, other: Person): boolean =>
  one.voucher === other.voucher && one.issuer === other.issuer && one.subject === other.subject;

function listed({ input: _input, ...one }: ApprovalRecord): ListedApproval {
  const long = JSON.stringify(one.details).length > listedDetailsMax;
  return long ? { ...one, details: { too_long: true } } : one;
}

function meets(filter: ApprovalFilter, one: ApprovalRecord): boolean {
  const { reach, person, mine, decidableBy, status, operationClass, tenant } = filter;
  const covered = mine !== true && coversTenant(reach, one.tenant);
  if (!covered && !isSamePerson(person, one.maker.person)) return false;
  if (decidableBy !== undefined && !isDecidable(one, decidableBy)) return false;
  if (status !== undefined && one.status !== status) return false;
  if (operationClass !== undefined && one.operationClass !== operationClass) return false;
  return tenant === undefined || one.tenant === tenant;
}
