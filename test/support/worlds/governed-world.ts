/**
 * Two tenants with a CA tree each, and every handler of who may do what, behind the real pipeline.
 */

import { callOf, jsonOf, mountedRows, openPipeline } from "./asking.ts";
import { accessHandlers } from "#api/access.ts";
import { auditHandlers } from "#api/audit.ts";
import { authorityHandlers } from "#api/authorities.ts";
import { blockedKeyHandlers } from "#api/blocked-keys.ts";
import { certificateCountHandlers } from "#api/certificate-counts.ts";
import { certificateHandlers } from "#api/certificates.ts";
import { crlListHandlers } from "#api/crl-list.ts";
import { crlAdministration } from "#api/crls.ts";
import { crossSignHandlers } from "#api/cross-signs.ts";
import { grantHandlers } from "#api/grants.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import { monitorHandlers } from "#api/monitor.ts";
import { revocationHandlers } from "#api/revocations.ts";
import { rolloverHandlers } from "#api/rollover.ts";
import { tenantHandlers } from "#api/tenants.ts";
import { transparencyHandlers } from "#api/transparency.ts";
import { validationHandlers } from "#api/validation.ts";
import type { Principal } from "#core/access/principal.ts";
import type { Role } from "#core/access/roles.ts";
import { tenantId } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { Granting } from "#domain/access/granting.ts";
import type { ConfiguredGrant, GrantSource } from "#domain/access/grants.ts";
import { knownPrincipals } from "#domain/access/known.ts";
import { ApiTokens } from "#domain/access/tokens.ts";
import { BlockedKeys } from "#domain/key-checks/block.ts";
import { Reports } from "#domain/expiry/report.ts";
import { Retirement } from "#domain/hierarchy/retire.ts";
import { Revoker } from "#domain/revocation/revoke.ts";
import { Tenants } from "#domain/tenants/tenants.ts";
import type { Answering } from "#http/catalog.ts";
import type { Perform } from "#domain/access/perform.ts";
import type { OperationName } from "#operations";
import { noon, tenant } from "#test/support/stores/records.ts";
import { caRequest, issuanceWorld, rootOrigin, type WorldOptions } from "./issuance.ts";
import { asDescribed } from "./described-codes.ts";
import { personNamed } from "./people.ts";

/** Answers are read member by member, as a client reads them. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
export type Json = any;

export interface Question {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export type GovernedWorld = Awaited<ReturnType<typeof governedWorld>>;

/**
 * Tenants `web` and `lab`; roots `web-root` and `lab-root`, each with an intermediate `…-issuing`.
 */
export async function governedWorld(options: Pick<WorldOptions, "store"> = {}) {
  const world = issuanceWorld({ ...options, urlBase: "https://pki.example" });
  const { store, clock, random } = world;
  let configured: readonly ConfiguredGrant[] = [];
  const assignments = { subjects: { carol: ["auditor" as const] }, groups: {} };
  const grants: GrantSource = { configured: () => ({ grants: configured, since: noon }) };
  const apiTokens = new ApiTokens({
    store,
    clock,
    random,
    maxLifetimeDays: 0,
    onVerified: () => {},
  });
  const known = knownPrincipals(apiTokens, () => assignments);
  const granting = new Granting({ store, clock, random, source: grants, known });
  const revoker = new Revoker({ ...world, holdPermitted: () => true, changed: () => {} });
  // Not asked by these tests.
  const publisher = {
    publish: async () => ({ base: { number: 1 } }),
    newest: async () => ({ base: undefined, delta: undefined }),
  } as never;
  const scopes = {} as never; // As above.
  const retirement = new Retirement({ ...world, revoker, publisher } as never); // As above.
  const handlers: Partial<Record<OperationName, Answering>> = {
    ...authorityHandlers(world),
    ...issuanceHandlers(world),
    ...certificateHandlers(world),
    ...certificateCountHandlers(world),
    ...validationHandlers(world),
    ...crossSignHandlers({ ...world, crossSigning: {} as never }), // As above.
    ...rolloverHandlers({ ...world, retirement }),
    ...revocationHandlers({ ...world, revoker }),
    ...crlAdministration({ ...world, publisher, scopes, crlImport: {} as never }), // As above.
    ...crlListHandlers({ ...world, publisher, presigns: false }),
    ...transparencyHandlers({ store, monitor: { run: async () => ({}) as never } }), // As above.
    ...blockedKeyHandlers({ store, blockedKeys: new BlockedKeys(world) }),
    ...auditHandlers({ store, clock, lines: {} as never }), // As above.
    ...monitorHandlers({ store, reports: reportsOf(world) }),
    ...accessHandlers({ store, clock, apiTokens } as never), // What logins need is not asked.
    ...tenantHandlers({ store, clock, tenants: new Tenants(world) }),
    ...grantHandlers({ store, granting }),
  };
  const perform = openPipeline({ ...world, grants });
  const ask = asker(perform, handlers);
  for (const id of ["web", "lab"]) await foundTenant(world, id);
  const ca = async (label: string) => {
    const found = await store.read.cas.byLabel(label);
    if (found === undefined) throw new Error(`there is no CA ${label}`);
    return found;
  };
  const configure = (declared: readonly ConfiguredGrant[]) => {
    configured = declared;
  };
  return { ...world, apiTokens, granting, grants, ask, ca, configure };
}

const reportsOf = ({ store, clock }: Pick<ReturnType<typeof issuanceWorld>, "store" | "clock">) =>
  new Reports({ store, clock, thresholds: () => ({ warningDays: 30, criticalDays: 7 }) });

async function foundTenant(world: ReturnType<typeof issuanceWorld>, id: string): Promise<void> {
  await world.store.atomically((tx) => tx.tenants.insert(tenant(id)));
  const request = caRequest({ label: `${id}-root` });
  const parent = await world.authorities.initRoot(rootOrigin, tenantId(id), request);
  const below = caRequest({ label: `${id}-issuing` });
  await world.authorities.issueIntermediate(rootOrigin, parent, below);
}

/**
 * Asks as clients in JSON do; gives the members of the answer, which are as the definition says,
 * and the status of HTTP under `statusName` where no member is called so.
 */
export function asker(
  perform: Perform,
  handlers: Readonly<Partial<Record<OperationName, Answering>>>,
  statusName: "status" | "http" = "status",
) {
  const mounted = mountedRows(handlers);
  return async (operation: OperationName, who: Principal, question: Question = {}) => {
    const { path = {}, query = {}, body } = question;
    const row = mounted.get(operation);
    if (row === undefined) throw new Error(`nothing answers ${operation} here`);
    const asked = { path, query: new URLSearchParams(query), body: async () => received(body) };
    const origin = { ...rootOrigin, principal: who };
    const { status, body: told } = jsonOf(
      await asDescribed(row, perform(callOf(row, { origin, ...asked }))),
    );
    const members = received(told) as object;
    const { output } = row.definition;
    if ("read" in output) output.read(members);
    return { [statusName]: status, ...members } as Json;
  };
}

/** A body as it arrives: members that are undefined are not sent. */
const received = (body: unknown): unknown =>
  body === undefined ? undefined : JSON.parse(JSON.stringify(body));

/** Somebody with platform roles, or roles in single tenants. */
export function somebody(
  subject: string,
  held: readonly Role[] | Readonly<Record<string, readonly Role[]>> = [],
  more: Partial<Principal> = {},
): Principal {
  const platform = Array.isArray(held);
  return {
    subject,
    person: personNamed(subject),
    isRoot: false,
    groups: [],
    mechanism: "bearer",
    roles: platform ? (held as readonly Role[]) : [],
    tenantRoles: platform ? {} : (held as Readonly<Record<string, readonly Role[]>>),
    ...more,
  };
}

/** The refusal of a promise, or `accepted`. */
export const refusal = (promise: Promise<unknown>): Promise<{ code: string; facts: unknown }> =>
  promise.then(
    () => ({ code: "accepted", facts: {} }),
    (error) => {
      if (!(error instanceof Problem)) throw error;
      return { code: error.code, facts: error.facts };
    },
  );

export const admin = somebody("admin", ["admin"]);
