/**
 * Remote procedure calls of an instance: the same handlers behind the same pipeline, under other
 * names.
 */

import { healthMethods } from "#api/rpc/health.ts";
import { pkiSchema } from "#api/rpc/messages.ts";
import { rpcMethods } from "#api/rpc/methods.ts";
import type { Config } from "#config/schema.ts";
import type { Perform } from "#domain/access/perform.ts";
import type { Catalog } from "#http/catalog.ts";
import { RpcDoor } from "#http/rpc/door.ts";

/** The door, where `rpc.enabled` is set. */
export function rpcDoor(
  { rpc, crl, ocsp, server }: Pick<Config, "rpc" | "crl" | "ocsp" | "server">,
  catalog: Catalog,
  perform: Perform,
  ready: () => Promise<boolean>,
): RpcDoor | undefined {
  if (!rpc.enabled) return undefined;
  const methods = rpcMethods({ crl, ocsp });
  const bodyBytesMax = server.max_body_bytes;
  const service = "pki.v1.PKIService";
  return new RpcDoor({
    service,
    schema: pkiSchema,
    methods,
    catalog,
    perform,
    open: healthMethods([service], ready),
    bodyBytesMax,
  });
}
