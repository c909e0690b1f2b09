/** What identities, logins and rights read of the configuration, in the members' own names. */

import type { BindingRow } from "#core/access/binding-rows.ts";
import type { RoleMappingRow } from "#core/access/role-mappings.ts";
import type { GrantRole, Role } from "#core/access/roles.ts";
import type { StepUpName } from "#core/access/step-up.ts";
import type { GrantRecord } from "./store.ts";

/** Roles by subject or verified e-mail address, and by group. */
export interface RolesSection {
  readonly subjects: Readonly<Record<string, readonly Role[]>>;
  readonly groups: Readonly<Record<string, readonly Role[]>>;
}

/** One entry of `rbac.grants`; incomplete ones make no grant. */
export interface GrantRow {
  readonly resource: string | undefined;
  readonly role: GrantRole | undefined;
  readonly scope: GrantRecord["scope"];
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

/** What whoever vouches for people adds to `rbac`. */
export interface Vouching {
  readonly enabled: boolean;
  readonly role_mappings: readonly RoleMappingRow[];
  readonly groups_claim: string;
  /** Lets in whoever has no role at all. */
  readonly allow_zero_role: boolean;
}

/** `auth.oidc`; the three names are there when it is enabled (V-8). */
export interface OidcSection extends Vouching {
  readonly issuer_url: string | undefined;
  readonly client_id: string | undefined;
  readonly redirect_url: string | undefined;
  readonly scopes: readonly string[];
}

/** `auth.mtls`. */
export interface MtlsSection {
  readonly enabled: boolean;
  /** PEM of what is believed; without it nobody is. */
  readonly ca_file: string | undefined;
  readonly bindings: readonly BindingRow[];
}

/** What a reload may replace. */
export interface ReloadableAccess {
  readonly auth: { readonly mtls: MtlsSection };
  readonly rbac: RolesSection & { readonly grants: readonly GrantRow[] };
}

/** The roles of one tenant; its id is the slug where it has none of its own. */
export interface TenantRoles {
  readonly id: string | undefined;
  readonly slug: string | undefined;
  readonly rbac: RolesSection;
}

/** Everything. */
export interface AccessSections extends ReloadableAccess {
  readonly root_user: { readonly username: string };
  readonly policy: { readonly allow_root_basic_auth: boolean };
  readonly tenants: readonly TenantRoles[];
  readonly oidc: {
    readonly issuer_url: string | undefined;
    readonly client_id: string | undefined;
  };
  readonly auth: ReloadableAccess["auth"] & {
    readonly session: { readonly ttl_minutes: number };
    readonly oidc: OidcSection;
    readonly ldap: Vouching;
    readonly webauthn: {
      readonly enabled: boolean;
      readonly step_up_ttl_minutes: number;
      readonly step_up_operations: readonly StepUpName[];
    };
    /** 0: no cap. */
    readonly api_tokens: { readonly max_lifetime_days: number };
  };
}
