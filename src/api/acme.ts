/** Accounts, orders and authorizations of ACME in JSON, as operators see and end them. */

import { challengeNames } from "#core/acme/challenges.ts";
import { coversTenant } from "#core/access/principal.ts";
import type { TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { flag, many, oneOf, optional, shape, text, type ValueOf, words } from "#core/shape.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { type Asking, type Definition, operation } from "#domain/access/operation.ts";
import { anyScope } from "#domain/access/targets.ts";
import type { Accounts } from "#domain/acme/accounts.ts";
import type { Directories } from "#domain/acme/directories.ts";
import { authorizationStatusAt, orderAt, type Orders } from "#domain/acme/orders.ts";
import {
  type AccountRecord,
  type AuthorizationRecord,
  accountStates,
  authorizationStates,
  challengeStates,
  type NameKey,
  type OrderRecord,
  orderStates,
} from "#domain/acme/store.ts";
import type { PageKey } from "#domain/page.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { requireServed, theObject } from "./acme-targets.ts";
import { listOf, onePage, pageFields, pageOf } from "./pages.ts";
import { count, present, serialText, simpleChange, time, timeText } from "./shapes.ts";

export interface AcmeHandlerDeps {
  readonly store: Pick<Store, "read">;
  readonly clock: Clock;
  readonly directories: Directories;
  readonly accounts: Pick<Accounts, "deactivate">;
  readonly orders: Pick<Orders, "deactivate" | "end">;
}

/** Handlers for `acme.account.list`, `acme.order.list`, `acme.authz.list` and what ends them. */
export function acmeOverview(deps: AcmeHandlerDeps) {
  return {
    "acme.account.list": accountList(deps),
    "acme.account.deactivate": accountEnd(deps),
    "acme.order.list": orderList(deps),
    "acme.order.deactivate": orderEnd(deps),
    "acme.authz.list": authorizationList(deps),
    "acme.authz.deactivate": authorizationEnd(deps),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function accountList({ store, directories }: AcmeHandlerDeps) {
  return operation({
    summary: "ACME accounts, newest first.",
    target: anyScope,
    input: { id: oneId, status: optional(oneOf(accountStates)), ...pageFields },
    output: listOf(accountShape),
    refuses: ["feature_disabled"],
    run: async (call) => {
      requireServed(directories);
      const { id, status } = call.input;
      const reach = ownReach(call);
      if (id !== undefined) {
        const found = within(reach, await store.read.acme.account(id));
        return onePage(found.filter((one) => isOf(status, one)).map(accountJson));
      }
      return await pageOf(
        "acme.account.list",
        { ...call, reach },
        { status: status ?? "" },
        accountJson,
        (limit, after) => store.read.acme.accounts({ reach, status }, limit, after),
      );
    },
  });
}

function accountEnd({ store, directories, accounts }: AcmeHandlerDeps) {
  return operation({
    summary: "End an ACME account for good, with its authorizations and open orders.",
    target: theObject(directories, (id) => store.read.acme.account(id)),
    output: simpleChange("deactivated", "already_deactivated"),
    refuses: ["feature_disabled"],
    run: async ({ origin, found }) => {
      if (found.status !== "valid") return { status: "already_deactivated" as const };
      await accounts.deactivate(origin, found, "revoked");
      return { status: "deactivated" as const };
    },
  });
}

function orderList({ store, clock, directories }: AcmeHandlerDeps) {
  return operation({
    summary: "ACME orders, newest first; those that nobody finished in time are invalid.",
    target: anyScope,
    input: {
      id: oneId,
      status: optional(oneOf(orderStates)),
      account: optional(text({ min: 1, max: 64 })),
      ...pageFields,
    },
    output: listOf(orderShape),
    refuses: ["feature_disabled"],
    run: async (call) => {
      requireServed(directories);
      const { id, status, account } = call.input;
      const reach = ownReach(call);
      if (account !== undefined) await readableAccount(store, account, reach);
      const now = clock.now();
      if (id !== undefined) {
        const found = within(reach, await store.read.acme.order(id))
          .map((order) => orderAt(order, now))
          .filter((order) => account === undefined || order.account === account);
        return onePage(found.filter((one) => isOf(status, one)).map(orderJson));
      }
      return await pageOf(
        "acme.order.list",
        { ...call, reach },
        { status: status ?? "", account: account ?? "" },
        (order: OrderRecord) => orderJson(orderAt(order, now)),
        (limit, after) => store.read.acme.orders({ reach, status, account, now }, limit, after),
      );
    },
  });
}

function orderEnd({ store, directories, orders }: AcmeHandlerDeps) {
  return operation({
    summary: "End an ACME order that nobody has finalized yet; one that is in work stays as it is.",
    target: theObject(directories, (id) => store.read.acme.order(id)),
    output: simpleChange("deactivated", "already_over", "processing"),
    refuses: ["feature_disabled"],
    run: async ({ origin, found }) => {
      const known = await orders.end(origin, found);
      if (known === undefined) return { status: "deactivated" as const };
      return { status: known === "processing" ? known : ("already_over" as const) };
    },
  });
}

function authorizationList({ store, clock, directories }: AcmeHandlerDeps) {
  return operation({
    summary: "What an ACME account has proved or is to prove, in the order of names.",
    target: anyScope,
    input: { account: text({ min: 1, max: 64 }), ...pageFields },
    output: listOf(authorizationShape),
    refuses: ["feature_disabled"],
    run: async (call) => {
      requireServed(directories);
      const reach = ownReach(call);
      const { id: account } = await readableAccount(store, call.input.account, reach);
      const now = clock.now();
      return await pageOf(
        "acme.authz.list",
        { ...call, reach },
        { account },
        (one: AuthorizationRecord) => authorizationJson(one, now),
        async (limit, after) => {
          const found = await store.read.acme.openAuthorizations(account, limit, nameKey(after));
          return { ...found, next: found.next && pageKey(found.next) };
        },
      );
    },
  });
}

function authorizationEnd({ store, directories, orders }: AcmeHandlerDeps) {
  return operation({
    summary: "End an authorization for good: the account proves the name again.",
    target: theObject(directories, (id) => ownedAuthorization(store, id)),
    output: simpleChange("deactivated", "already_deactivated"),
    refuses: ["feature_disabled"],
    run: async ({ origin, found: { account, authorization } }) => {
      const { id, status } = authorization;
      if (status !== "pending" && status !== "valid") {
        return { status: "already_deactivated" as const };
      }
      await orders.deactivate(origin, account, id, "operator");
      return { status: "deactivated" as const };
    },
  });
}

/** Names have no blanks. */
const pageKey = ({ name, id }: NameKey): PageKey => ({ at: 0, id: `${name} ${id}` });

function nameKey(key: PageKey | undefined): NameKey | undefined {
  const [name = "", id = ""] = key?.id.split(" ") ?? [];
  return key && { name, id };
}

/** An authorization belongs to the tenant of its account. */
async function ownedAuthorization(store: AcmeHandlerDeps["store"], id: string) {
  const authorization = await store.read.acme.authorization(id);
  const account = authorization && (await store.read.acme.account(authorization.account));
  if (authorization === undefined || account === undefined) return undefined;
  return { tenant: account.tenant, account, authorization };
}

/** A grant on a CA is no right to read who enrols with its tenant. */
const ownReach = ({ rights }: Pick<Asking, "rights">) => rights.reachByRoles("read");

/** The account a parameter names; foreign and absent ones are refused alike with `bad_query`. */
async function readableAccount(
  store: AcmeHandlerDeps["store"],
  id: string,
  reach: Asking["reach"],
): Promise<AccountRecord> {
  const account = await store.read.acme.account(id);
  if (account === undefined || !coversTenant(reach, account.tenant)) {
    throw refuse("bad_query", { parameter: "account", reason: "names no account you may read" });
  }
  return account;
}

/** Selects the one of this id; a list that has it elsewhere is not walked for it. */
const oneId = optional(text({ min: 1, max: 64 }));

/** What is not to be read is not there. */
const within = <T extends { readonly tenant: TenantId }>(
  reach: Asking["reach"],
  found: T | undefined,
): readonly T[] => (found !== undefined && coversTenant(reach, found.tenant) ? [found] : []);

const isOf = (status: string | undefined, one: { readonly status: string }): boolean =>
  status === undefined || status === one.status;

const identifierShape = shape({ type: oneOf(["dns", "ip"]), value: words() });

const problemShape = shape({ type: words(), detail: words() });

const accountShape = shape({
  id: words(),
  directory: words(),
  tenant_id: words(),
  status: oneOf(accountStates),
  contacts: many(words()),
  key_thumbprint: words({ description: "RFC 7638: SHA-256 of the account key, base64url." }),
  eab_id: optional(words()),
  created_at: time,
});

const orderShape = shape({
  id: words(),
  account_id: words(),
  directory: words(),
  tenant_id: words(),
  ca_id: words(),
  status: oneOf(orderStates),
  identifiers: many(identifierShape),
  expires: time,
  replaces: optional(serialText),
  profile: optional(words()),
  serial: optional(serialText),
  error: optional(problemShape),
  created_at: time,
});

const authorizationShape = shape({
  id: words(),
  account_id: words(),
  identifier: identifierShape,
  wildcard: flag(),
  status: oneOf([...authorizationStates, "expired"]),
  method: optional(oneOf(challengeNames)),
  expires: time,
  created_at: time,
  challenges: many(
    shape({
      type: oneOf(challengeNames),
      status: oneOf(challengeStates),
      attempts: count,
      validated_at: optional(time),
      error: optional(problemShape),
    }),
  ),
});

function accountJson(account: AccountRecord) {
  return present<ValueOf<typeof accountShape>>({
    id: account.id,
    directory: account.directory,
    tenant_id: account.tenant,
    status: account.status,
    contacts: account.contacts,
    key_thumbprint: account.thumbprint,
    eab_id: account.eabId,
    created_at: timestamp(account.createdAt),
  });
}

function orderJson(order: OrderRecord) {
  return present<ValueOf<typeof orderShape>>({
    id: order.id,
    account_id: order.account,
    directory: order.directory,
    tenant_id: order.tenant,
    ca_id: order.certificate?.caId ?? order.caId,
    status: order.status,
    identifiers: order.identifiers,
    expires: timestamp(order.expiresAt),
    replaces: order.replaces?.serial,
    profile: order.profile,
    serial: order.certificate?.serial,
    error: problemJson(order.error),
    created_at: timestamp(order.createdAt),
  });
}

function authorizationJson(authorization: AuthorizationRecord, now: Instant) {
  return present<ValueOf<typeof authorizationShape>>({
    id: authorization.id,
    account_id: authorization.account,
    identifier: authorization.identifier,
    wildcard: authorization.wildcard,
    status: authorizationStatusAt(authorization, now),
    method: authorization.method,
    expires: timestamp(authorization.expiresAt),
    created_at: timestamp(authorization.createdAt),
    challenges: authorization.challenges.map(({ type, status, attempts, validatedAt, error }) =>
      present({
        type,
        status,
        attempts,
        validated_at: timeText(validatedAt),
        error: problemJson(error),
      }),
    ),
  });
}

const problemJson = (problem: OrderRecord["error"]) =>
  problem && { type: problem.type, detail: problem.detail };
