/**
 * Remote procedure calls of an instance: the same handlers behind the same pipeline, under other
 * names.
 */

import { healthPath, pkiService } from "#api/rpc/names.ts";
import type { Config } from "#config/schema.ts";
import type { Perform } from "#domain/access/perform.ts";
import type { Catalog } from "#http/catalog.ts";
import type { RpcDoor } from "#http/rpc/door.ts";

/**
 * The door, where `rpc.enabled` is set. What reads and writes its messages is loaded with the first
 * call: it is two megabytes of every process, and most instances are never called so.
 */
export function rpcDoor(
  { rpc, crl, ocsp, server }: Pick<Config, "rpc" | "crl" | "ocsp" | "server">,
  catalog: Catalog,
  perform: Perform,
  ready: () => Promise<boolean>,
): Pick<RpcDoor, "serves" | "answer"> | undefined {
  if (!rpc.enabled) return undefined;
  const opened = async (): Promise<RpcDoor> => {
    const [{ RpcDoor: Door }, { pkiSchema }, { rpcMethods }, { rpcStreams }, { healthMethods }] =
      await Promise.all([
        import("#http/rpc/door.ts"),
        import("#api/rpc/messages.ts"),
        import("#api/rpc/methods.ts"),
        import("#api/rpc/streams.ts"),
        import("#api/rpc/health.ts"),
      ]);
    return new Door({
      service: pkiService,
      schema: pkiSchema,
      methods: rpcMethods({ crl, ocsp }),
      streams: rpcStreams(),
      catalog,
      perform,
      open: healthMethods([pkiService], ready),
      bodyBytesMax: server.max_body_bytes,
    });
  };
  let door: Promise<RpcDoor> | undefined;
  return {
    serves: (path) => path.startsWith(`/${pkiService}/`) || path === `/${healthPath}`,
    answer: async (visit) => {
      door ??= opened();
      return await (await door).answer(visit);
    },
  };
}
