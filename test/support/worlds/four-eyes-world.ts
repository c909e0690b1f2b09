/**
 * An instance in memory where operations take two, behind the real pipeline: people, their calls,
 * and ways to break it.
 */

import { callOf, type JsonAnswer, jsonOf, mountedRows, openPipeline } from "./asking.ts";
import { accessHandlers } from "#api/access.ts";
import { replacementHandlers } from "#api/acme-replacements.ts";
import { approvalHandlers } from "#api/approvals.ts";
import { bulkHandlers } from "#api/bulk.ts";
import { bulkRevocationHandlers } from "#api/bulk-revocations.ts";
import { crossSignHandlers } from "#api/cross-signs.ts";
import { importHandlers } from "#api/imports.ts";
import { externalHandlers } from "#api/external.ts";
import { kekHandlers } from "#api/kek.ts";
import { passkeyHandlers } from "#api/passkeys.ts";
import { rolloverHandlers } from "#api/rollover.ts";
import { authorityHandlers } from "#api/authorities.ts";
import { fourEyesGate, itemGate } from "#api/four-eyes.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import type { Principal } from "#core/access/principal.ts";
import { approvalClasses, type ApprovalsSection, thresholdOf } from "#core/approvals/classes.ts";
import type { Profile } from "#core/policy/profile.ts";
import type { Call } from "#domain/access/call.ts";
import type { Mounted } from "#domain/access/mounted.ts";
import type { Perform } from "#domain/access/perform.ts";
import type { PrincipalNow } from "#domain/access/principal-now.ts";
import { ApiTokens } from "#domain/access/tokens.ts";
import { Refusals } from "#domain/access/refusals.ts";
import { Approvals } from "#domain/approvals/approvals.ts";
import { recordingEffects } from "#domain/approvals/effects.ts";
import { Executions } from "#domain/approvals/executions.ts";
import { FourEyes } from "#domain/approvals/four-eyes.ts";
import { Replacements } from "#domain/acme/replacements.ts";
import { CrossSigning } from "#domain/hierarchy/cross-sign.ts";
import { Retirement } from "#domain/hierarchy/retire.ts";
import { BulkIssue } from "#domain/certificates/bulk.ts";
import { KekRotation } from "#domain/envelopes/rotation.ts";
import { Envelopes } from "#domain/envelopes/envelopes.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import type { Answering } from "#http/catalog.ts";
import type { OperationName } from "#operations";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { tenant } from "#test/support/stores/records.ts";
import { localPerson } from "#core/access/person.ts";
import { type Json, type Question, somebody } from "./governed-world.ts";
import { rootOrigin } from "./issuance.ts";
import { revokingWorld } from "./revoking-world.ts";
import { asDescribed } from "./described-codes.ts";
import { personNamed } from "./people.ts";

export type FourEyesWorld = Awaited<ReturnType<typeof fourEyesWorld>>;

/** People; Bob has two names and one address. */
export const alice = somebody("alice", ["admin"]);
export const bob = somebody("bob", ["admin"], { person: personNamed("bob", "b@x.test") });
export const robert = somebody("robert", ["admin"], { person: personNamed("robert", "b@x.test") });
export const carol = somebody("carol", ["admin"]);
export const shell = somebody("local:ops", ["admin"], { person: localPerson, mechanism: "local" });

/** One approval besides the maker everywhere, unless told otherwise. */
export async function fourEyesWorld(
  wanted: Partial<ApprovalsSection> & { readonly profiles?: readonly Profile[] } = {},
) {
  const { profiles: configured, ...given } = wanted;
  const settings: ApprovalsSection = { ...oneEverywhere, ...given };
  const parts = settledParts(settings, configured);
  const { world, store, memory, envelopes, keks, apiTokens } = parts;
  const { clock, random, profiles } = world;
  const faults: unknown[] = [];
  const performed: string[] = [];
  const now: PrincipalNow = async (then) => {
    const token = then.mechanism === "token" ? then.subject.slice("token:".length) : undefined;
    return token === undefined ? await world.now(then) : await apiTokens.principal(token);
  };
  const onFault = (error: unknown) => faults.push(error);
  const replay = (call: Call) => {
    performed.push(call.operation.name);
    return perform(call);
  };
  const executions = new Executions({
    store,
    clock,
    envelopes,
    now,
    onFault,
    perform: replay,
    operation: (name) => mounted.get(name),
  });
  // Whoever waits here waits to the end.
  const patience = { within: async <T>(_seconds: number, work: Promise<T>) => await work };
  const common = { store, clock, random, patience, settings, executions };
  const everything = { enabled: true, guarded: approvalClasses };
  const fourEyes = new FourEyes({ ...common, envelopes });
  const refusals = new Refusals({ store, clock });
  const approvals = new Approvals({ ...common, fourEyes, refusals });
  const gated = { store, issuance: world.issuance, profiles, bulk: world.bulk, fourEyes };
  const gate = fourEyesGate(gated);
  const handlers: Partial<Record<OperationName, Answering>> = {
    ...handlersBelow(parts),
    ...bulkHandlers({ bulk: new BulkIssue(world), itemGate: itemGate(gated) }),
    ...accessHandlers({ store, clock, apiTokens } as never), // What logins need is not asked.
    ...approvalHandlers({ ...common, ...everything, keys: world.keys, approvals, fourEyes }),
  };
  const mounted = mountedRows(handlers);
  const perform = openPipeline({ store, clock, gate, refusals });
  const { ask, raw } = asking(perform, mounted);
  await store.atomically((tx) => tx.tenants.insert(tenant("web")));
  const approve = (who: Principal, id: string) =>
    ask("approval.approve", who, { path: { id }, body: {} });
  const events = () => memory.listEvents();
  const actions = () => events().map(({ action, result }) => `${action} ${result}`);
  const sealed = { keks, envelopes, apiTokens };
  const seen = { actions, faults, performed };
  const asked = { ask, raw, approve };
  const governed = { fourEyes, approvals, executions, refusals };
  return { ...world, memory, store, ...sealed, ...governed, ...asked, ...seen };
}

const oneEverywhere: ApprovalsSection = {
  enabled: true,
  default_threshold: 1,
  thresholds: {},
  operators: {},
  request_ttl_hours: 72,
};

/** Calls as they come through the pipeline; `raw` gives what is not JSON. */
function asking(perform: Perform, mounted: ReadonlyMap<string, Mounted>) {
  const answer = async (
    operation: OperationName,
    who: Principal,
    { path = {}, query = {}, body, named }: Question & { readonly named?: string } = {},
  ): Promise<JsonAnswer> => {
    const row = mounted.get(operation);
    if (row === undefined) throw new Error(`nothing answers ${operation} here`);
    const sent = body === undefined ? undefined : JSON.parse(JSON.stringify(body));
    const origin = { ...rootOrigin, principal: who };
    const said = { path, query: new URLSearchParams(query), body: async () => sent };
    const performed = perform(callOf(row, { origin, approval: named, ...said }));
    return jsonOf(await asDescribed(row, performed));
  };
  const ask = async (...asked: Parameters<typeof answer>): Promise<Json> => {
    const { status: code, headers, body } = await answer(...asked);
    return { code, headers, ...JSON.parse(JSON.stringify(body)) };
  };
  const raw = async (...asked: Parameters<typeof answer>): Promise<string> => {
    const { document } = await answer(...asked);
    return document === undefined ? "" : String(document.content);
  };
  return { ask, raw };
}

function handlersBelow({ world, store, keks, envelopes }: ReturnType<typeof settledParts>) {
  const { keys, random } = world;
  const rotation = new KekRotation({ store, random, keks, keys, envelopes, pause: Bun.sleep });
  return {
    ...authorityHandlers(world),
    ...issuanceHandlers(world),
    ...rolloverHandlers({ ...world, retirement: new Retirement(world) }),
    ...externalHandlers(world),
    // Nothing that is parked adopts certificates.
    ...importHandlers({ takeOver: world.takeOver, adoption: undefined as never }),
    ...crossSignHandlers({ ...world, crossSigning: new CrossSigning(world) }),
    ...bulkRevocationHandlers(world),
    // ACME is switched off.
    ...replacementHandlers({
      ...world,
      directories: { all: () => [] },
      config: () => undefined as never,
      replacements: new Replacements({
        ...world,
        rate: { known: async () => undefined },
        plans: { lookAgain: async () => {} },
      }),
    }),
    ...kekHandlers({ store, keys, random, keks, envelopes, rotation }),
    // Passkeys are switched off.
    ...passkeyHandlers({ passkeys: undefined }),
  };
}

/** The instance below the gate. */
function settledParts(settings: ApprovalsSection, configured: readonly Profile[] | undefined) {
  const memory = createMemoryStore();
  const store = recordingEffects(memory);
  const approvable = thresholdOf(settings, "cert.issue") > 0;
  const world = revokingWorld({
    urlBase: "https://pki.example",
    store,
    approvable,
    ...(configured === undefined ? {} : { profiles: configured }),
  });
  const { clock, random, keys } = world;
  const keks = new Keks({ store, keys, clock, provider: "software", family: "kek" });
  const envelopes = new Envelopes({ keks, keys, random, onOperation: () => {} });
  const apiTokens = new ApiTokens({
    store,
    clock,
    random,
    maxLifetimeDays: 0,
    onVerified: () => {},
  });
  return { world, memory, store, keks, envelopes, apiTokens };
}

/** What asks for a root CA. */
export const rootBody = (label = "root") => ({
  label,
  subject: { cn: "Root" },
  key_type: "ecdsa-p256",
});
