/**
 * Describes the API in OpenAPI 3.1, generated from the operations and the shapes of their handlers.
 */

import { type ProblemCode, problems } from "#core/problems.ts";
import { either, type Field, type Fields, objectSchema } from "#core/shape.ts";
import { sampleOf } from "#core/shape/described.ts";
import { nextTurn } from "#core/turns.ts";
import type { Definition } from "#domain/access/operation.ts";
import { namesIn, type OperationName, routesOf } from "#operations";

import { refusalsOf } from "./openapi-refusals.ts";
import type { Catalog, Entry } from "./catalog.ts";
import { headerOf, mayBeEmpty } from "./given.ts";

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
export function describedOperations({ entries }: Catalog): readonly Described[] {
  return [...entries]
    .filter(([, { row }]) => row.local !== true)
    .flatMap(([name, entry]) => {
      const summary = summaryOf(entry) ?? publicSummary(name);
      const { needs } = entry.row;
      return routesOf(entry.row).map((route, index) => ({
        name,
        ...route,
        needs,
        summary,
        alias: index > 0,
      }));
    });
}

const summaryOf = (entry: Entry): string | undefined =>
  entry.kind === "public" ? entry.handler.summary : entry.mounted.definition.summary;

/**
 * Builds the OpenAPI 3.1 document of a catalog, a few operations in each tick of the event loop.
 *
 * @param parked response of an operation that waits for approval
 */
export async function openapiDocument(
  catalog: Catalog,
  version: string,
  parked: Field<unknown>,
): Promise<Json> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [index, described] of describedOperations(catalog).entries()) {
    if (index % operationsPerTick === 0) await nextTurn();
    const path = described.path.replace("*}", "}");
    const item = paths[path] ?? {};
    item[described.method.toLowerCase()] = operationObject(
      described,
      catalog.entry(described.name),
    );
    paths[path] = item;
  }
  return {
    openapi: "3.1.0",
    info: { title: "pkid", version, description: "A certificate authority appliance." },
    paths,
    components: {
      securitySchemes,
      schemas: { Problem: problemSchema(), Parked: parked.schema },
    },
  };
}

function operationObject(described: Described, entry: Entry): Json {
  const open = described.needs === "pub";
  const shape = shapeOf(entry);
  const { path, query, header } = shape;
  return {
    // An operationId is unique in the document (OpenAPI 3.1 §4.8.10).
    operationId: described.alias ? `${described.name}.alias` : described.name,
    ...(described.alias ? { "x-alias-of": described.name } : {}),
    summary: described.summary,
    tags: [described.name.split(".")[0]],
    security: open ? [] : [{ basic: [] }, { token: [] }, { session: [] }, { certificate: [] }],
    "x-needs": described.needs,
    parameters: [
      ...pathParameters(described.path, path),
      ...parameters("query", query),
      ...parameters("header", header),
    ],
    ...requestBody(shape),
    responses: {
      ...success(shape),
      ...(entry.row.takesTwo === undefined ? {} : waiting),
      ...Object.fromEntries(
        refusalsOf(entry.row, shape).map(([status, codes]) => [status, refusal(codes)]),
      ),
      default: refusal(undefined),
    },
  };
}

/** What an operation says of itself, whichever kind it is. */
export function shapeOf(entry: Entry): OperationShape {
  if (entry.kind === "public") {
    const { query = {}, body, takes, gives = ["application/json"] } = entry.handler;
    const { output, refuses = [] } = entry.handler;
    const asked = { path: {}, query, header: {}, body };
    return { ...asked, takes, gives, output, refuses, mayBeEmpty: false };
  }
  const { path, query, header, body, definition } = entry.mounted;
  const { refuses } = definition;
  if (entry.kind === "message") {
    const { takes, gives } = entry.handler;
    const octets = { path: {}, query: {}, header: {}, body: undefined, output: undefined };
    return { ...octets, takes, gives, refuses, mayBeEmpty: false };
  }
  const { media, output } = answerOf(definition);
  return {
    path,
    query,
    header,
    body: body !== undefined && Object.keys(body).length > 0 ? body : undefined,
    takes: undefined,
    gives: media,
    output,
    refuses,
    mayBeEmpty: body !== undefined && mayBeEmpty(body),
  };
}

/** As the description tells it. */
interface OperationShape {
  readonly path: Fields;
  readonly query: Fields;
  readonly header: Fields;
  readonly body: Fields | undefined;
  /** Media type of a body that is octets. */
  readonly takes: string | undefined;
  readonly gives: readonly string[];
  /** What is answered in JSON. */
  readonly output: Field<unknown> | undefined;
  /** Refusals of its own. */
  readonly refuses: readonly ProblemCode[];
  readonly mayBeEmpty: boolean;
}

const isField = (output: object): output is Field<unknown> => "read" in output;

function answerOf({ output }: Definition) {
  if (!("media" in output)) return { media: ["application/json"], output };
  const whole = isField(output) ? output : undefined;
  const { media, content } = output;
  if (whole === undefined || content === undefined) return { media, output: content ?? whole };
  return { media, output: either(whole, content) };
}

function pathParameters(path: string, fields: Fields): readonly Json[] {
  return namesIn(path).map((name) => ({
    name,
    in: "path",
    required: true,
    schema: fields[name]?.schema ?? { type: "string" },
  }));
}

function parameters(where: "query" | "header", fields: Fields): readonly Json[] {
  return Object.entries(fields).map(([name, field]) => ({
    name: where === "header" ? headerOf(name) : name,
    in: where,
    required: !field.optional,
    schema: field.schema,
  }));
}

function requestBody({ body, takes, mayBeEmpty }: OperationShape): Json {
  if (takes !== undefined) {
    return { requestBody: { required: true, content: { [takes]: { schema: octets() } } } };
  }
  if (body === undefined) return {};
  const schema = objectSchema(body);
  const content = { "application/json": { schema, example: sampleOf({ schema }) } };
  return { requestBody: { required: !mayBeEmpty, content } };
}

/** What takes two answers so while it waits. */
const waiting: Json = {
  "202": {
    description: "It waits for another person's approval, where approvals guard it.",
    content: { "application/json": { schema: { $ref: "#/components/schemas/Parked" } } },
  },
};

/** Without a media type the browser is sent elsewhere. */
function success({ gives, output }: OperationShape): Json {
  if (gives.length === 0) return { "3XX": { description: "The browser is sent on." } };
  const content = Object.fromEntries(gives.map((type) => [type, contentOf(type, output)]));
  return { "2XX": { description: "The operation succeeded.", content } };
}

function contentOf(type: string, output: Field<unknown> | undefined): Json {
  if (type === "application/json" && output !== undefined) {
    return { schema: output.schema, example: sampleOf(output) };
  }
  const isText = type.startsWith("text/") || /pem|ndjson/.test(type);
  return { schema: isText ? { type: "string" } : octets() };
}

/** A refusal with one of these codes; of any at all when none are named. */
function refusal(codes: readonly ProblemCode[] | undefined): Json {
  const problem = { $ref: "#/components/schemas/Problem" };
  const narrowed = { allOf: [problem, { properties: { code: { enum: codes } } }] };
  return {
    description: codes?.map((code) => problems[code][1]).join(" ") ?? "Refused; nothing changed.",
    content: { "application/json": { schema: codes === undefined ? problem : narrowed } },
  };
}

/** Binary content has no type in JSON Schema (OpenAPI 3.1 §4.8.14.1). */
const octets = (): Json => ({});

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

/** About a millisecond of work. */
const operationsPerTick = 8;

const securitySchemes: Json = {
  basic: { type: "http", scheme: "basic" },
  token: {
    type: "http",
    scheme: "bearer",
    description: "An API token, `pki_pat_…`, or a token of the configured OpenID provider.",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "pki_session",
    description: "A session; what it changes needs its CSRF token in `X-CSRF-Token`.",
  },
  certificate: {
    type: "mutualTLS",
    description: "A client certificate that `auth.mtls` binds.",
  },
};
