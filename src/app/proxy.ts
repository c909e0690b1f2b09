/** Sends what this process and its signers ask of other servers through the configured proxy. */

import type { SecretSources } from "#adapters/secrets/sources.ts";
import { SecretUnavailable } from "#config/secret.ts";
import type { Config } from "#config/schema.ts";
import { wrongProxy } from "#config/sections/outbound.ts";

/**
 * Puts `outbound.proxy_url` into the variables the runtime asks before every call: they are the one
 * way that reaches its S3 client too. This host and the metadata services of its platform are never
 * behind a proxy. Without the setting the environment stays as it is. Throws `SecretUnavailable`
 * when its source fails or gives no proxy's address.
 */
export async function useProxy(
  { outbound }: Pick<Config, "outbound">,
  secrets: SecretSources,
  env: Record<string, string | undefined> = process.env,
): Promise<void> {
  const url = await secrets.fresh("outbound.proxy_url", outbound.proxy_url);
  if (url === undefined) return;
  // One in place was looked at when it was read.
  if (wrongProxy(url) !== undefined) {
    throw new SecretUnavailable("outbound.proxy_url: What its source gave is no proxy's URL.");
  }
  const spared = env.no_proxy || env.NO_PROXY;
  // A process that opens the instance again and again has them there from the last time.
  const isThere = spared?.endsWith(neverProxied) === true;
  const own = isThere ? spared : `${spared},${neverProxied}`;
  const direct = spared === undefined ? neverProxied : own;
  for (const [name, value] of [
    ["HTTP_PROXY", url],
    ["HTTPS_PROXY", url],
    ["NO_PROXY", direct],
  ] as const) {
    env[name] = value;
    // Where both spellings are set the runtime takes the lower one.
    env[name.toLowerCase()] = value;
  }
}

const neverProxied = "localhost,127.0.0.0/8,::1,169.254.0.0/16,fe80::/10,fd00:ec2::254";
