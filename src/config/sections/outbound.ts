/** Settings of calls to other servers. */

import { existingFile } from "#config/fields.ts";
import { secret } from "#config/secret-field.ts";
import { section } from "#config/section.ts";

import { withoutCredentials } from "./database.ts";

/** The keys under `outbound`. */
export const outbound = section("Calls to other servers", {
  ca_file: existingFile("CA certificates trusted beside those of the system, PEM."),
  proxy_url: secret(
    "Proxy of every call to another server over HTTP, with user and password where it wants them; this host and what NO_PROXY names are called directly.",
    undefined,
    { show: withoutCredentials, wrong: wrongProxy },
  ),
});

/** What is wrong with the address of a proxy, as a sentence; undefined for one that can be used. */
export function wrongProxy(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    return "Must be an http or https URL.";
  }
  const more = url.pathname !== "/" || url.search !== "" || url.hash !== "";
  return more ? "Must name scheme, host and port only, and credentials if any." : undefined;
}
