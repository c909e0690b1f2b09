/** Describes the API in OpenAPI 3.1, generated from the operations and the shapes of their handlers. */

import { type ProblemCode, problems } from "#core/problems.ts";
import { type Fields, objectSchema } from "#core/shape.ts";
import type { Handler } from "#domain/access/call.ts";
import { type OperationName, operationOf, operations, routesOf } from "#operations";

import type { Handlers } from "./public.ts";

type Json = Readonly<Record<string, unknown>>;

/** One operation with everything the description says about it. */
export interface Described {
  readonly name: OperationName;
  readonly method: string;
  readonly path: string;
  readonly needs: string;
  readonly summary: string;
  /** True for a further path of an operation that is described under its own. */
  readonly alias: boolean;
}

/** The operations served on the main listener, in the order of the table. */
export function describedOperations(handlers: Handlers): readonly Described[] {
  const names = Object.keys(operations) as OperationName[]; // The table's own keys.
  return names
    .filter((name) => operationOf(name).local !== true)
    .flatMap((name) => {
      const shape = handlers[name];
      const summary = shape.summary ?? publicSummary(name);
      const { needs } = operationOf(name);
      return routesOf(name).map((route, index) => ({
        ...{ name, ...route, needs, summary, alias: index > 0 },
      }));
    });
}

/** The OpenAPI 3.1 document of the handlers served. */
export function openapiDocument(handlers: Handlers, version: string): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const described of describedOperations(handlers)) {
    const path = described.path.replace("*}", "}");
    const item = paths[path] ?? {};
    item[described.method.toLowerCase()] = operationObject(described, handlers[described.name]);
    paths[path] = item;
  }
  return {
    openapi: "3.1.0",
    info: { title: "pkid", version, description: "A certificate authority appliance." },
    paths,
    components: { securitySchemes, schemas: { Problem: problemSchema() } },
  };
}

function operationObject(described: Described, shape: Handlers[OperationName]): Json {
  const json = typeof shape === "function" ? undefined : shape;
  const open = described.needs === "pub";
  return {
    // An operationId is unique in the document (OpenAPI 3.1 §4.8.10).
    ...(described.alias ? { "x-alias-of": described.name } : { operationId: described.name }),
    summary: described.summary,
    tags: [described.name.split(".")[0]],
    security: open ? [] : [{ basic: [] }, { token: [] }, { session: [] }, { certificate: [] }],
    "x-needs": described.needs,
    parameters: [...pathParameters(described.path, json), ...queryParameters(json)],
    ...(shape.body === undefined ? {} : { requestBody: requestBody(shape.body, json) }),
    responses: {
      "2XX": { description: "The operation succeeded.", ...jsonContent(json) },
      default: {
        description: "The operation was refused; nothing changed.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

function pathParameters(path: string, json: Handler | undefined): readonly Json[] {
  return [...path.matchAll(/\{([a-z_]+)\*?\}/g)].map(([, name = ""]) => ({
    ...{ name, in: "path", required: true },
    schema: json?.path[name]?.schema ?? { type: "string" },
  }));
}

function queryParameters(json: Handler | undefined): readonly Json[] {
  return Object.entries(json?.query ?? {}).map(([name, field]) => ({
    ...{ name, in: "query", required: !field.optional },
    schema: field.schema,
  }));
}

const requestBody = (body: Fields, json: Handler | undefined): Json => ({
  required: json?.emptyBody !== true,
  content: { "application/json": { schema: objectSchema(body) } },
});

/** Public octet answers name their own media types; everything else is JSON. */
const jsonContent = (json: Handler | undefined): Json =>
  json === undefined ? {} : { content: { "application/json": {} } };

function problemSchema(): Json {
  return {
    type: "object",
    required: ["error", "code", "request_id"],
    properties: {
      error: { type: "string", description: "One plain sentence." },
      code: { type: "string", enum: Object.keys(problems) as ProblemCode[] }, // The table's keys.
      request_id: { type: "string" },
    },
    additionalProperties: { description: "Facts of the code." },
  };
}

/** What a row without shapes is: its name says it in words. */
const publicSummary = (name: OperationName): string =>
  `${name.replace(".", ": ").replaceAll("_", " ")}.`;

const securitySchemes: Json = {
  basic: { type: "http", scheme: "basic" },
  token: {
    ...{ type: "http", scheme: "bearer" },
    description: "An API token, `pki_pat_…`, or a token of the configured OpenID provider.",
  },
  session: {
    ...{ type: "apiKey", in: "cookie", name: "pki_session" },
    description: "A session; what it changes needs its CSRF token in `X-CSRF-Token`.",
  },
  certificate: {
    ...{ type: "mutualTLS", description: "A client certificate that `auth.mtls` binds." },
  },
};
