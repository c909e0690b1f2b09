/** Reads an OpenAPI 3.1 document as far as it is shown and tried out here. */

export interface Parameter {
  readonly name: string;
  readonly place: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: unknown;
}

export interface AnswerOf {
  readonly status: string;
  readonly description: string;
  readonly schema: unknown;
}

export interface DescribedOperation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly needs: string;
  readonly parameters: readonly Parameter[];
  /** Undefined where none is taken; of its first media type. */
  readonly body:
    | { readonly type: string; readonly schema: unknown; readonly example: unknown }
    | undefined;
  /** It answers with where the browser is to go, and nothing else. */
  readonly sendsOn: boolean;
  readonly answers: readonly AnswerOf[];
}

/** Every operation but further paths of one, in the order of the document. */
export function operationsIn(document: unknown): readonly DescribedOperation[] {
  return entries(members(document).paths).flatMap(([path, item]) =>
    entries(item).flatMap(([method, operation]) => {
      const one = operationOf(path, method, members(operation));
      return one === undefined ? [] : [one];
    }),
  );
}

function operationOf(
  path: string,
  method: string,
  said: Readonly<Record<string, unknown>>,
): DescribedOperation | undefined {
  const { operationId, summary, parameters, requestBody, responses } = said;
  if (typeof operationId !== "string" || said["x-alias-of"] !== undefined) return undefined;
  const [taken] = entries(members(requestBody).content);
  return {
    name: operationId,
    method: method.toUpperCase(),
    path,
    summary: text(summary),
    needs: text(said["x-needs"]),
    parameters: Array.isArray(parameters) ? parameters.map(parameterOf) : [],
    body: taken === undefined ? undefined : bodyOf(taken),
    sendsOn: members(responses)["3XX"] !== undefined,
    answers: entries(responses).map(([status, answer]) => ({
      status,
      description: text(members(answer).description),
      schema: members(members(members(answer).content)["application/json"]).schema,
    })),
  };
}

function bodyOf([type, content]: readonly [string, unknown]) {
  const { schema, example } = members(content);
  return { type, schema, example };
}

function parameterOf(parameter: unknown): Parameter {
  const { name, in: place, required, schema } = members(parameter);
  return {
    name: text(name),
    place: place === "path" || place === "header" ? place : "query",
    required: required === true,
    schema,
  };
}

const members = (value: unknown): Readonly<Record<string, unknown>> =>
  // Read member by member, so nothing is believed about a value of another kind.
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
const entries = (value: unknown): readonly (readonly [string, unknown])[] =>
  Object.entries(members(value));
const text = (value: unknown): string => (typeof value === "string" ? value : "");
