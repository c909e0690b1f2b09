/** Settings that name a CA by id or label, with the tenant it is named for. */

import type { Config } from "./schema.ts";

/** Setting that names a CA. */
interface CaSetting {
  readonly reference: string;
  readonly tenant: string | undefined;
  readonly setting: string;
}

/** Sections that name CAs. */
export type CaNamingSections = Pick<Config, "acme" | "server" | "canary" | "publish" | "rbac">;

/** Returns every setting of the configuration that names a CA. */
export function listCaSettings(config: CaNamingSections): readonly CaSetting[] {
  const { acme, server, canary, publish, rbac } = config;
  const selfIssue = server.tls.self_issue;
  const directories = Object.entries(acme.directories).map(
    ([name, one]) => [`acme.directories.${name}`, one] as const,
  );
  const found: CaSetting[] = [];
  const add = (setting: string, reference: string | undefined, tenant?: string) => {
    if (reference !== undefined) found.push({ setting, reference, tenant });
  };
  for (const [path, one] of [["acme", { ...acme, tenant: undefined }] as const, ...directories]) {
    add(`${path}.ca_id`, one.ca_id, one.tenant);
    add(`${path}.ca_label`, one.ca_label, one.tenant);
  }
  add("server.tls.self_issue.ca_id", selfIssue.ca_id, selfIssue.tenant);
  for (const reference of canary.cas) add("canary.cas", reference);
  for (const reference of publish.cas) add("publish.cas", reference);
  for (const { resource } of rbac.grants) add("rbac.grants", resource?.slice("ca/".length));
  return found;
}
