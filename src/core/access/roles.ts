/** Roles and the capabilities they give. */

/** Who holds what: the columns are roles, a 1 gives the capability. */
const table = {
  //                 admin issuer auditor approver  reach
  read: [1, 1, 1, 1, "tenant"],
  "audit:read": [1, 1, 1, 0, "tenant"],
  issue: [1, 1, 0, 0, "tenant"],
  "ca:manage": [1, 0, 0, 0, "tenant"],
  "approval:read": [1, 0, 1, 1, "tenant"],
  "approval:approve": [1, 0, 0, 1, "tenant"],
  "token:manage": [1, 0, 0, 0, "tenant"],
  "webhook:manage": [1, 0, 0, 0, "tenant"],
  "grant:manage": [1, 0, 0, 0, "tenant"],
  "tenant:manage": [1, 0, 0, 0, "platform"],
  "session:manage": [1, 0, 0, 0, "platform"],
  "hsm:manage": [1, 0, 0, 0, "platform"],
  "server:profile": [1, 0, 0, 0, "platform"],
} as const satisfies Record<string, readonly [0 | 1, 0 | 1, 0 | 1, 0 | 1, "tenant" | "platform"]>;

export const roles = ["admin", "issuer", "auditor", "approver"] as const;
export type Role = (typeof roles)[number];

export type Capability = keyof typeof table;
/** Every capability there is. */
export const capabilities = Object.keys(table) as readonly Capability[]; // Keys of the table.

/** Reads a role name, byte for byte; gives undefined for an unknown one. */
export const parseRole = (text: string): Role | undefined => roles.find((role) => role === text);

/**
 * True when the role gives the capability; a `platform` capability counts only for a platform-wide
 * role.
 */
export function gives(role: Role, capability: Capability, scope: "platform" | "tenant"): boolean {
  const row = table[capability];
  if (scope === "tenant" && row[4] === "platform") return false;
  return row[roles.indexOf(role)] === 1;
}

/** Roles on one CA, which only add to what other roles give there (AUTH-7). */
const grantTable = {
  "ca-admin": ["read", "audit:read", "issue", "ca:manage", "grant:manage"],
  "ca-manager": ["read", "audit:read", "issue", "ca:manage"],
  "ca-issuer": ["read", "audit:read", "issue"],
  "ca-auditor": ["read", "audit:read"],
} as const satisfies Record<string, readonly Capability[]>;

export type GrantRole = keyof typeof grantTable;
/** Every role a grant can give. */
export const grantRoles = Object.keys(grantTable) as readonly GrantRole[]; // Keys of the table.

/** What a grant of the role gives on its CA. */
export const capabilitiesOf = (role: GrantRole): readonly Capability[] => grantTable[role];

/** True when a grant of the role gives the capability on its CA. */
export const grantGives = (role: GrantRole, capability: Capability): boolean =>
  capabilitiesOf(role).includes(capability);
