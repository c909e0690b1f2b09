/** Settings of tenants, and of grants on single CAs. */

import {
  count,
  field,
  items,
  list,
  listKind,
  map,
  reloadable,
  text,
  word,
} from "#config/fields.ts";
import { section, type Values } from "#config/section.ts";
import { grantRoles, roles } from "#core/access/roles.ts";
import { oneOf } from "#core/shape.ts";
import { label, textual } from "#core/shape/texts.ts";

const slug = textual("slug", "web", {
  pattern: /^[a-z0-9][a-z0-9-]{0,62}$/,
  wants: "Must be 1 to 63 of a-z, 0-9 and hyphen, and not begin with a hyphen.",
});
const rolesKind = listKind(oneOf(roles));
const limitMax = { max: 1_000_000_000 };

const tenantMembers = {
  id: field("Id, for good; the slug when absent.", label),
  slug: field("Short name in addresses and flags, for good.", slug),
  name: text("Name for people; the slug when absent."),
  kek_label: field("Label of its own key-encryption key.", label),
  rbac: section("Roles in the tenant", {
    subjects: map("Roles by subject, or by verified e-mail address.", rolesKind),
    groups: map("Roles by group.", rolesKind),
  }),
  quotas: section("Quotas; 0 is unlimited", {
    max_certs_per_day: count("Certificates per UTC day.", 0, limitMax),
    max_active_certs: count("Certificates good or held and not expired.", 0, limitMax),
    rate_limit_per_second: count("Requests per second.", 0, limitMax),
    rate_limit_burst: count("Requests at once.", 0, limitMax),
  }),
} as const;

/** The key `tenants`. */
export const tenants = items(
  "Tenants that exist from the start on; name, KEK label and quotas are put in force at every start.",
  tenantMembers,
);
export type TenantSetting = Values<typeof tenantMembers>;

const grantMembers = {
  resource: field(
    "The CA, as ca/ and its id or label.",
    textual("ca/<id>", "ca/issuing-1", {
      pattern: /^ca\/[A-Za-z0-9._-]{1,64}$/,
      wants: "Must be ca/ and the id or label of a CA.",
    }),
  ),
  role: word("What may be done there.", grantRoles),
  scope: word(
    "The CA with its rollover lineage, or all below it too.",
    ["self", "subtree"],
    "self",
  ),
  users: list("Subjects or verified e-mail addresses.", textual("user", "alice", { max: 256 }), []),
  groups: list("Groups.", textual("group", "pki-issuers", { max: 256 }), []),
} as const;

/** The key `rbac.grants`. */
export const grants = reloadable(items("Roles on single CAs.", grantMembers));
export type GrantSetting = Values<typeof grantMembers>;
