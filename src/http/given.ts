/** Calls as JSON over HTTP has them: members in the path, the query, header fields and the body. */

import { refuse } from "#core/problems.ts";
import { readBody, readBodyInTurns, readParameters, readQuery } from "#core/shape.ts";
import type { Given } from "#domain/access/given.ts";
import type { Mounted } from "#domain/access/mounted.ts";

/** One request, its body not read yet. */
export interface JsonRequest {
  /** Percent-decoded once. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Pick<Headers, "get">;
  /** The JSON value; undefined when there is no body. */
  body(): Promise<unknown>;
}

/**
 * What the request asks of the operation. Reading refuses `unknown_parameter`, `bad_query`,
 * `malformed_json`, `unknown_field`, `missing_field` and `invalid_field`.
 */
export function givenJson(operation: Mounted, request: JsonRequest): Given {
  const { path, query, headers } = request;
  const body = once(() => request.body());
  return {
    named: path,
    peek: async (member) => {
      if (Object.hasOwn(path, member)) return path[member];
      if (Object.hasOwn(operation.query, member)) return query.get(member) ?? undefined;
      return operation.body === undefined ? undefined : memberOf(await body(), member);
    },
    read: async () => {
      const members = Object.keys(operation.path).map((name) => [name, path[name]]);
      return {
        ...readQuery(operation.query, query),
        ...readParameters(operation.header, fieldsIn(operation.header, headers)),
        ...readBody(operation.path, Object.fromEntries(members)),
        ...(operation.body && (await bodyOf(operation.body, body))),
      };
    },
  };
}

/** Those that the request has; an empty one says nothing. */
function fieldsIn(members: Mounted["header"], headers: JsonRequest["headers"]) {
  const given = Object.keys(members).map((name) => [name, headers.get(headerOf(name))] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== null && value !== ""));
}

/** The header field of a member. */
export const headerOf = (member: string): string => member.replaceAll("_", "-");

async function bodyOf(fields: NonNullable<Mounted["body"]>, read: () => Promise<unknown>) {
  const body = await read();
  if (body !== undefined) return await readBodyInTurns(fields, body);
  if (!mayBeEmpty(fields)) throw refuse("malformed_json");
  return readBody(fields, {});
}

/** True when the body may be absent: every member of it may be. */
export const mayBeEmpty = (fields: NonNullable<Mounted["body"]>): boolean =>
  Object.values(fields).every(({ optional }) => optional);

/** A body is read from its connection once; step 5 may need one member of it, step 7 the rest. */
function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}

function memberOf(body: unknown, name: string): unknown {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, name)) return undefined;
  return (body as Readonly<Record<string, unknown>>)[name]; // Checked to be an object above.
}
