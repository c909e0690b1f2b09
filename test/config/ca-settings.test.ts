/** Every setting that names a CA is listed with the tenant it is named for. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { listCaSettings } from "#config/ca-settings.ts";
import { configOf } from "#test/support/config.ts";

const text = `
acme:
  enabled: true
  base_url: https://pki.test
  ca_label: first
  directories:
    web: { path: /web, ca_id: by-id, tenant: web }
    lab: { path: /lab, ca_label: by-label, tenant: lab }
server: { tls: { self_issue: { ca_id: serving, tenant: web } } }
canary: { cas: [probed] }
publish: { cas: [published] }
rbac: { grants: [{ resource: ca/granted, role: ca-issuer, users: [alice] }] }
tenants: [{ slug: web, name: Web }, { slug: lab, name: Lab }]
`;

test("a configuration that names CAs everywhere lists them all with their tenants", () => {
  const listed = listCaSettings(configOf(text));
  expect(listed.map(({ setting, reference, tenant }) => [setting, reference, tenant])).toEqual([
    ["acme.ca_label", "first", undefined],
    ["acme.directories.web.ca_id", "by-id", "web"],
    ["acme.directories.lab.ca_label", "by-label", "lab"],
    ["server.tls.self_issue.ca_id", "serving", "web"],
    ["canary.cas", "probed", undefined],
    ["publish.cas", "published", undefined],
    ["rbac.grants", "granted", undefined],
  ]);
});

test("no other setting names a CA", () => {
  const naming = new Set<string>();
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== "object" || node === null) return;
    const { properties, items, additionalProperties } = node as Readonly<Record<string, object>>;
    for (const [name, value] of Object.entries(properties ?? {})) {
      const full = path === "" ? name : `${path}.${name}`;
      if (/^(ca_id|ca_label|cas|resource)$/.test(name)) naming.add(full);
      walk(value, full);
    }
    walk(items, `${path}[]`);
    walk(additionalProperties, `${path}.*`);
  };
  const file = join(import.meta.dir, "../golden/config-schema.json");
  walk(JSON.parse(readFileSync(file, "utf8")), "");
  expect([...naming].sort()).toEqual([
    "acme.ca_id",
    "acme.ca_label",
    "acme.directories.*.ca_id",
    "acme.directories.*.ca_label",
    "canary.cas",
    "publish.cas",
    "rbac.grants[].resource",
    "server.tls.self_issue.ca_id",
  ]);
});
