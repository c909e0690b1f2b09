/**
 * The health service of gRPC, for load balancers that speak it: readiness under another name
 * (RPC-1).
 */

import { refuse } from "#core/problems.ts";
import type { OpenRpcMethod } from "#http/rpc/door.ts";

import { healthSchema } from "./health-messages.ts";
import { healthPath } from "./names.ts";

/**
 * `Check` of `grpc.health.v1.Health`. The empty name is the server as a whole; a name that is not
 * among `services` is refused `not_found`, as the service's own definition has it. `Watch` is a
 * stream that never ends: poll instead.
 */
export function healthMethods(
  services: readonly string[],
  ready: () => Promise<boolean>,
): Readonly<Record<string, OpenRpcMethod>> {
  return {
    [healthPath]: {
      schema: healthSchema,
      messages: ["HealthCheckRequest", "HealthCheckResponse"],
      answer: async ({ service = "" }) => {
        if (service !== "" && !services.some((name) => name === service)) throw refuse("not_found");
        return { status: (await ready()) ? "SERVING" : "NOT_SERVING" };
      },
    },
  };
}
