/**
 * The settings under which a fresh instance is reached at an address, so that what it writes into
 * certificates is served.
 */

import type { Preset } from "#config/example.ts";

import { UsageError } from "./failure.ts";

/**
 * Settings for the value of `--public-url`; none without it. An https address is the main
 * listener's, at its port when it names one. An http address is what certificates name for CRLs,
 * OCSP and CA certificates, and opens the listener that serves these at its port. Refuses anything
 * else, and an http address with a path, which that listener does not serve.
 */
export function publicUrlSettings(publicUrl: string | undefined): Preset {
  if (publicUrl === undefined) return {};
  const url = URL.canParse(publicUrl) ? new URL(publicUrl) : undefined;
  if (url === undefined || !["https:", "http:"].includes(url.protocol)) {
    throw new UsageError("--public-url must be an address with http or https.");
  }
  if (url.protocol === "https:") {
    const port = url.port === "" ? {} : { "server.port": Number(url.port) };
    return { "server.public_url": publicUrl, ...port };
  }
  if (url.pathname !== "/" || url.search !== "") {
    throw new UsageError(
      "--public-url with http must have no path: CRLs and OCSP are served at /.",
    );
  }
  const here = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  const address = `${here ? "127.0.0.1" : "0.0.0.0"}:${url.port === "" ? 80 : url.port}`;
  return {
    "server.public_url": `https://${url.hostname}:${mainPort}`,
    "server.public_http.enabled": true,
    "server.public_http.address": address,
    "crl.base_url": url.origin,
  };
}

/** The default of `server.port`. */
const mainPort = 8443;
