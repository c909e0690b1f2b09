/** Asks operations as a client in JSON does, behind a pipeline whose gates are open unless told. */

import { anything, type Field, type Fields, type Json, optional, text } from "#core/shape.ts";
import { noGrants } from "#domain/access/grants.ts";
import { type Mounted, mount } from "#domain/access/mounted.ts";
import { type Definition, guarded, operation } from "#domain/access/operation.ts";
import { Document, type Outcome } from "#domain/access/outcome.ts";
import { type Perform, type PipelineDeps, pipeline } from "#domain/access/perform.ts";
import { Refusals } from "#domain/access/refusals.ts";
import { Rights } from "#domain/access/rights.ts";
import { noStepUp } from "#domain/access/step-up.ts";
import {
  anyScope,
  noTarget,
  type Target,
  theCa,
  thePlatform,
  theResource,
  theTenant,
  theTenantOrPlatform,
} from "#domain/access/targets.ts";
import type { Origin } from "#domain/actor.ts";
import type { Answering } from "#http/catalog.ts";
import { givenJson } from "#http/given.ts";
import { type Operation, type OperationName, operationOf, routeOf } from "#operations";
import { asDescribed } from "./described-codes.ts";

/** One request as it arrives. */
export interface JsonCall<Name extends OperationName = OperationName> {
  readonly operation: Name;
  readonly origin: Origin | undefined;
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
  readonly approval?: string | undefined;
  readonly body?: () => Promise<unknown>;
}

/** What came of it, as HTTP would say it; a document has no body. */
export interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly document: Document | undefined;
}

/** The pipeline; gates that are not given let everybody through. */
export const openPipeline = (
  deps: Pick<PipelineDeps, "store" | "clock"> & Partial<PipelineDeps>,
): Perform =>
  pipeline({
    hasRoom: () => true,
    onDecision: () => {},
    grants: noGrants,
    stepUp: noStepUp,
    gate: async () => undefined,
    refusals: new Refusals(deps),
    stays: async ({ principal }, capability) => {
      const rights = new Rights({ principal, store: deps.store, source: noGrants });
      return capability === undefined ? { tenants: [], cas: [] } : await rights.reach(capability);
    },
    ...deps,
  });

/** Asks one definition behind its row. */
export async function askJson(
  perform: Perform,
  call: JsonCall,
  definition: Definition,
): Promise<JsonAnswer> {
  const mounted = mountedAs(call.operation, definition);
  const answer = jsonOf(await asDescribed(mounted, perform(callOf(mounted, call))));
  const { output } = definition;
  // What is answered, and refused, is what the definition says.
  if ("read" in output && answer.document === undefined && answer.status !== 202) {
    output.read(told(answer));
  }
  return answer;
}

/** The call a client in JSON makes of a mounted operation. */
export const callOf = (
  mounted: Mounted,
  {
    origin,
    approval,
    path = {},
    query = new URLSearchParams(),
    headers = {},
    body,
  }: Omit<JsonCall, "operation">,
) => ({
  operation: mounted,
  origin,
  approval,
  given: givenJson(mounted, {
    path,
    query,
    headers: new Headers(headers),
    body: body ?? (async () => undefined),
  }),
});

/** A definition behind the row of this name. */
export const mountedAs = (name: OperationName, definition: Definition): Mounted =>
  mount(name, operationOf(name), definition);

/** The same of every definition of a record, by name; handlers of octets are left out. */
export function mountedRows(
  answering: Readonly<Partial<Record<OperationName, Answering>>>,
): ReadonlyMap<string, Mounted> {
  const rows = new Map<string, Mounted>();
  for (const [name, one] of Object.entries(answering)) {
    // The record's own keys.
    if (typeof one !== "function" && !("hear" in one))
      rows.set(name, mountedAs(name as OperationName, one));
  }
  return rows;
}

/** As HTTP would say it. */
export function jsonOf({
  kind,
  output,
  location,
  approval,
  retryAfterSeconds,
}: Outcome): JsonAnswer {
  const document = output instanceof Document ? output : undefined;
  return {
    status: { done: 200, made: 201, parked: 202, unready: 503 }[kind],
    body: document === undefined ? output : undefined,
    headers: {
      ...(location !== undefined && { location }),
      ...(approval !== undefined && { "x-pki-approval-id": approval }),
      ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
    },
    document,
  };
}

/**
 * A definition for the row of this name that does nothing of its own, and takes what its route
 * names.
 */
export function stubOf(
  name: OperationName,
  run: (call: {
    readonly input: Readonly<Record<string, unknown>>;
  }) => Promise<unknown> = async () => ({}),
  input: Fields = {},
): Definition {
  const row = operationOf(name);
  const target = targetOf(name, row);
  const inPath = [...routeOf(name).path.matchAll(/\{([a-z_]+)\*?\}/g)]
    .map(([, member = ""]) => member)
    .filter((member) => !Object.hasOwn(target.members, member));
  const members = {
    ...Object.fromEntries(inPath.map((member) => [member, optional(text())])),
    ...input,
  };
  const of = { summary: `Stub of ${name}.`, target, input: members, output: unshaped, run };
  return row.takesTwo === undefined
    ? operation(of)
    : guarded({ ...of, parks: async () => undefined });
}

function targetOf(name: OperationName, { on, by }: Operation): Target {
  if (name === "token.create") return theTenantOrPlatform;
  if (by === "resource") return theResource;
  switch (on) {
    case "ca":
      return theCa;
    case "tenant":
      return theTenant;
    case "platform":
      return thePlatform;
    case "any":
      return anyScope;
    default:
      return noTarget;
  }
}

/** An answer's body read member by member, as a client reads it. */
export const told = (answer: JsonAnswer): Json => JSON.parse(JSON.stringify(answer.body));

/** A stub answers whatever its test wants. */
const unshaped: Field<unknown> = anything();
