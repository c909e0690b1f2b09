/**
 * How a refusal is said over RPC: the Connect and gRPC words for it, and the detail that carries
 * its code and facts.
 */

import { Problem, type ProblemCode } from "#core/problems.ts";
import { encodeMessage } from "#core/protobuf/wire.ts";

import { statusSchema } from "./status-messages.ts";

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
  /** `pki.v1.ErrorInfo`. */
  readonly detail: { readonly code: string; readonly facts_json: string };
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
  const [number, httpStatus] = statuses[name];
  return {
    name,
    number,
    httpStatus,
    message: problem?.message ?? "internal error",
    detail: { code, facts_json: JSON.stringify(facts) },
    retryAfter:
      "retry_after" in facts ? Math.max(1, Math.ceil(Number(facts.retry_after)) || 1) : undefined,
  };
}

/** The error as the JSON body of a Connect answer. */
export function connectErrorJson({ name, message, detail }: RpcError): string {
  const value = encodeMessage(statusSchema, "ErrorInfo", detail).toBase64({ omitPadding: true });
  return JSON.stringify({ code: name, message, details: [{ type: detailType, value }] });
}

/** The error as `google.rpc.Status` in octets, which gRPC-Web puts into a trailer. */
export const grpcStatus = ({ number, message, detail }: RpcError): Uint8Array =>
  encodeMessage(statusSchema, "Status", {
    code: number,
    message,
    details: [{ type_url: `type.googleapis.com/${detailType}`, value: detail }],
  });

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
