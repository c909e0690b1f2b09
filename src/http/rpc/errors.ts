/**
 * How a refusal is said over RPC: the Connect and gRPC words for it, and the detail that carries
 * its code and facts.
 */

import { Problem, type ProblemCode } from "#core/problems.ts";
import type { ProtoSchema } from "#core/protobuf/schema.ts";
import { delimited, encodeMessage } from "#core/protobuf/wire.ts";

/** Connect's names of the gRPC status codes used here: number, HTTP status of a unary answer. */
const statuses = {
  invalid_argument: [3, 400],
  not_found: [5, 404],
  already_exists: [6, 409],
  permission_denied: [7, 403],
  resource_exhausted: [8, 429],
  failed_precondition: [9, 400],
  unimplemented: [12, 501],
  internal: [13, 500],
  unavailable: [14, 503],
  unauthenticated: [16, 401],
} as const;
type StatusName = keyof typeof statuses;

/** A refusal as both protocols need it. */
export interface RpcError {
  readonly name: StatusName;
  readonly number: number;
  readonly httpStatus: number;
  readonly message: string;
  /** `pki.v1.ErrorInfo` in octets. */
  readonly detail: Uint8Array;
  /** Seconds, where the refusal says when to come back. */
  readonly retryAfter: number | undefined;
}

/**
 * Anything thrown; what is no `Problem` becomes `internal`, and none of its text leaves the server.
 */
export function rpcErrorOf(thrown: unknown): RpcError {
  const problem = thrown instanceof Problem ? thrown : undefined;
  const code: ProblemCode = problem?.code ?? "internal";
  const name = statusName(code, problem?.status ?? 500);
  const facts = problem?.facts ?? {};
  const carried = { code, facts_json: JSON.stringify(facts) };
  const [number, httpStatus] = statuses[name];
  return {
    name,
    number,
    httpStatus,
    message: problem?.message ?? "internal error",
    detail: encodeMessage(errorSchema, "ErrorInfo", carried),
    retryAfter:
      "retry_after" in facts ? Math.max(1, Math.ceil(Number(facts.retry_after)) || 1) : undefined,
  };
}

/** The error as the JSON body of a Connect answer. */
export const connectErrorJson = (error: RpcError): string =>
  JSON.stringify({
    code: error.name,
    message: error.message,
    details: [{ type: detailType, value: error.detail.toBase64({ omitPadding: true }) }],
  });

/** The error as `google.rpc.Status` in octets, which gRPC-Web puts into a trailer. */
export function grpcStatus({ number, message, detail }: RpcError): Uint8Array {
  const named = encodeMessage(statusSchema, "Status", { code: number, message });
  const type = encodeMessage(statusSchema, "Any", {
    type_url: `type.googleapis.com/${detailType}`,
  });
  const any = Buffer.concat([type, delimited(2, detail)]);
  return new Uint8Array(Buffer.concat([named, delimited(3, any)]));
}

/** RPC-2: by the status of the REST answer. */
function statusName(code: ProblemCode, status: number): StatusName {
  if (code === "tenant_suspended") return "failed_precondition";
  if (code === "already_exists") return "already_exists";
  return byStatus.get(status) ?? "internal";
}

const byStatus: ReadonlyMap<number, StatusName> = new Map([
  ...([400, 415, 422] as const).map((status): [number, StatusName] => [status, "invalid_argument"]),
  [401, "unauthenticated"],
  [403, "permission_denied"],
  [404, "not_found"],
  [405, "not_found"],
  [409, "failed_precondition"],
  [428, "failed_precondition"],
  [413, "resource_exhausted"],
  [429, "resource_exhausted"],
  [501, "unimplemented"],
  [502, "unavailable"],
  [503, "unavailable"],
  [202, "failed_precondition"],
]);

const detailType = "pki.v1.ErrorInfo";
const errorSchema: ProtoSchema = {
  messages: {
    ErrorInfo: [
      [1, "code", "string"],
      [2, "facts_json", "string"],
    ],
  },
  enums: {},
};
const statusSchema: ProtoSchema = {
  messages: {
    Status: [
      [1, "code", "int32"],
      [2, "message", "string"],
    ],
    Any: [[1, "type_url", "string"]],
  },
  enums: {},
};
