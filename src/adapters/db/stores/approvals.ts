/** Requests for approval in the database. */

import {
  and,
  asc,
  type Column,
  desc,
  eq,
  getTableColumns,
  gt,
  inArray,
  isNotNull,
  lte,
  not,
  notExists,
  or,
  type SQL,
  sql,
} from "drizzle-orm";

import { hostAccounts, hostSubjects, isHostAccount, type Person } from "#core/access/person.ts";
import { assert } from "#core/problems.ts";
import {
  type ApprovalFilter,
  type ApprovalReads,
  type ApprovalRecord,
  type ApprovalWrites,
  type Decider,
  type Decision,
  isOpen,
  listedDetailsMax,
} from "#domain/approvals/store.ts";
import { ownedByDead } from "#adapters/db/engine/owners.ts";
import { personAt } from "#adapters/db/tables/people.ts";
import {
  counted,
  inserter,
  olderThan,
  pageOf,
  type Connection,
} from "#adapters/db/engine/connection.ts";

/** Requests as last committed; `owner` is this store's number among the replicas. */
export function approvalReads(connection: Connection, owner: number): ApprovalReads {
  const { db, t } = connection;
  const a = t.approvals;
  return {
    byId: async (id) => (await found(connection, eq(a.id, id)))[0],
    page: async (filter, limit, after) => {
      const among = meeting(connection, filter);
      const rows = await db
        .select(listedColumns(connection))
        .from(a)
        .where(and(among, olderThan(a.createdAt, a.id, after)))
        .orderBy(desc(a.createdAt), desc(a.id))
        .limit(limit + 1);
      const [sum] = await db.select({ total: counted }).from(a).where(among);
      const records = await withDecisions(connection, rows);
      return pageOf(records, limit, sum?.total ?? 0, ({ createdAt: at, id }) => ({ at, id }));
    },
    overdue: async (now, limit) => {
      const due = and(inArray(a.status, ["pending", "failed"]), lte(a.expiresAt, now));
      const open = and(due, isNotNull(a.openKey));
      const rows = db.select({ id: a.id }).from(a).where(open).orderBy(asc(a.expiresAt));
      return (await rows.limit(limit)).map(({ id }) => id);
    },
    abandoned: async (limit) => {
      const free = and(eq(a.status, "executing"), ownedByDead(connection, a.owner, owner));
      const rows = db.select({ id: a.id }).from(a).where(free).orderBy(asc(a.createdAt));
      return (await rows.limit(limit)).map(({ id }) => id);
    },
  };
}

/** The changes of a unit. */
export function approvalWrites(connection: Connection, owner: number): ApprovalWrites {
  const { db, t } = connection;
  const a = t.approvals;
  const insert = inserter(connection, a, "skip");
  const insertDecision = inserter(connection, t.approvalDecisions);
  const insertEffect = inserter(connection, t.approvalEffects, "skip");
  return {
    insert: async (approval) => {
      assert(approval.decisions.length === 0, "a new request has been decided by nobody");
      return (await insert({ ...row(approval), owner })) === 1;
    },
    lock: async (id) => (await found(connection, eq(a.id, id)))[0],
    open: async (fingerprint) => {
      const open = and(eq(a.fingerprint, fingerprint), isNotNull(a.openKey));
      return await found(connection, open);
    },
    save: async (approval) => {
      const { status, attempts, decidedAt, executedAt, collectedAt } = row(approval);
      const { failure, effect, answer, secret, openKey } = row(approval);
      const changed = await db
        .update(a)
        .set({
          status,
          attempts,
          decidedAt,
          executedAt,
          collectedAt,
          failure,
          effect,
          answer,
          secret,
          openKey,
          owner,
        })
        .where(eq(a.id, approval.id))
        .returning({ id: a.id });
      assert(changed.length === 1, "a request that is changed exists");
    },
    decide: async (approval, decision) => {
      const { person, ...facts } = decision;
      await insertDecision({
        ...facts,
        approval,
        personSubject: person.subject,
        personVoucher: person.voucher,
        personIssuer: person.issuer,
        personAddress: person.address,
      });
    },
    abandoned: async (id) => {
      const free = and(eq(a.status, "executing"), ownedByDead(connection, a.owner, owner));
      const rows = await db
        .select({ id: a.id })
        .from(a)
        .where(and(eq(a.id, id), free));
      return rows.length === 1;
    },
    take: async (approval) => (await insertEffect({ approval })) === 1,
  };
}

async function found(
  connection: Connection,
  which: SQL | undefined,
): Promise<readonly ApprovalRecord[]> {
  const a = connection.t.approvals;
  const rows = connection.db.select().from(a).where(which).orderBy(asc(a.createdAt), asc(a.id));
  return await withDecisions(connection, await rows);
}

async function withDecisions(
  connection: Connection,
  rows: readonly Row[],
): Promise<readonly ApprovalRecord[]> {
  if (rows.length === 0) return [];
  const d = connection.t.approvalDecisions;
  const theirs = inArray(
    d.approval,
    rows.map(({ id }) => id),
  );
  const all = await connection.db
    .select()
    .from(d)
    .where(theirs)
    .orderBy(asc(d.createdAt), asc(d.id));
  return rows.map((one) =>
    record(
      one,
      all.filter(({ approval }) => approval === one.id),
    ),
  );
}

function meeting(connection: Connection, filter: ApprovalFilter): SQL | undefined {
  const a = connection.t.approvals;
  const { reach, person, mine, decidableBy, status, operationClass, tenant } = filter;
  const accounts = isHostAccount(person) ? hostAccounts : [person];
  const account = or(
    ...accounts.map((one) =>
      and(
        eq(a.makerVoucher, one.voucher),
        eq(a.makerIssuer, one.issuer),
        eq(a.makerSubject, one.subject),
      ),
    ),
  );
  const sameAddress = person.address === "" ? undefined : eq(a.makerAddress, person.address);
  const own = person.voucher === "unknown" ? sameAddress : or(account, sameAddress);
  const ownOrNone = own ?? sql`false`;
  const within =
    reach === "platform" ? undefined : or(inArray(a.tenant, [...reach.tenants]), ownOrNone);
  return and(
    mine ? ownOrNone : (within ?? sql`true`),
    decidableBy === undefined ? undefined : decidable(connection, decidableBy),
    status === undefined ? undefined : eq(a.status, status),
    operationClass === undefined ? undefined : eq(a.operationClass, operationClass),
    tenant === undefined ? undefined : eq(a.tenant, tenant),
  );
}

/** `isDecidable`, as it is asked of the database; the contract suite holds the two together. */
function decidable({ db, t }: Connection, { person, reach, classes, now }: Decider) {
  const a = t.approvals;
  const d = t.approvalDecisions;
  const theirs = and(
    eq(d.approval, a.id),
    mayBeOf(person, { subject: d.personSubject, address: d.personAddress }),
  );
  return and(
    eq(a.status, "pending"),
    gt(a.expiresAt, now),
    reach === "platform" ? undefined : inArray(a.tenant, [...reach.tenants]),
    inArray(a.operationClass, [...classes]),
    not(mayBeOf(person, { subject: a.makerSubject, address: a.makerAddress })),
    notExists(db.select({ id: d.id }).from(d).where(theirs)),
  );
}

/** `mayBeSamePerson`. */
function mayBeOf({ subject, address }: Person, at: Record<"subject" | "address", Column>): SQL {
  const sameSubject = hostSubjects.has(subject)
    ? inArray(at.subject, [...hostSubjects])
    : eq(at.subject, subject);
  return address === "" ? sameSubject : sql`(${sameSubject} or ${eq(at.address, address)})`;
}

function listedColumns({ t }: Connection) {
  const { input: _input, ...columns } = getTableColumns(t.approvals);
  const { details } = columns;
  const short = sql<string>`case when length(${details}) <= ${listedDetailsMax} then ${details} else ${tooLong} end`;
  return { ...columns, details: short, input: sql<string>`'{}'` };
}

const tooLong = JSON.stringify({ too_long: true });

type StoredDecision = Connection["t"]["approvalDecisions"]["$inferSelect"];
type Row = Connection["t"]["approvals"]["$inferSelect"];

function row(approval: ApprovalRecord): Omit<Row, "owner"> {
  const { decisions: _decisions, details, input, maker, failure, effect, answer } = approval;
  const { tenant, decidedAt, executedAt, collectedAt, fingerprint } = approval;
  const { person, ...facts } = maker;
  return {
    ...approval,
    tenant: tenant ?? null,
    details: JSON.stringify(details),
    input: JSON.stringify(input),
    maker: JSON.stringify(facts),
    makerSubject: person.subject,
    makerVoucher: person.voucher,
    makerIssuer: person.issuer,
    makerAddress: person.address,
    failure: texted(failure),
    effect: texted(effect),
    answer: texted(answer),
    decidedAt: decidedAt ?? null,
    executedAt: executedAt ?? null,
    collectedAt: collectedAt ?? null,
    openKey: isOpen(approval) ? fingerprint : null,
  };
}

/** Only `approvalWrites` fills the tables, so their texts are what the record's type says. */
function record(stored: Row, decisions: readonly StoredDecision[]): ApprovalRecord {
  const { owner: _owner, openKey: _openKey, ...rest } = stored;
  const { makerSubject, makerVoucher, makerIssuer, makerAddress, ...facts } = rest;
  const person = personAt({
    subject: makerSubject,
    voucher: makerVoucher,
    issuer: makerIssuer,
    address: makerAddress,
  });
  const effect = read(facts.effect);
  return {
    ...facts,
    tenant: facts.tenant ?? undefined,
    details: read(facts.details),
    input: read(facts.input),
    maker: { ...read(facts.maker), person },
    failure: read(facts.failure),
    effect: effect && { caId: undefined, serial: undefined, ...effect },
    answer: read(facts.answer),
    decidedAt: facts.decidedAt ?? undefined,
    executedAt: facts.executedAt ?? undefined,
    collectedAt: facts.collectedAt ?? undefined,
    decisions: decisions.map(decisionOf),
  } as object as ApprovalRecord; // See above.
}

function decisionOf(stored: StoredDecision): Decision {
  const { approval: _approval, personSubject, personVoucher, personIssuer, ...rest } = stored;
  const { personAddress, ...facts } = rest;
  const person = personAt({
    subject: personSubject,
    voucher: personVoucher,
    issuer: personIssuer,
    address: personAddress,
  });
  return { ...facts, person } as object as Decision; // As above.
}

const texted = (value: object | undefined): string | null =>
  value === undefined ? null : JSON.stringify(value);

const read = (text: string | null): object | undefined =>
  text === null ? undefined : (JSON.parse(text) as object); // Written by `texted`.
