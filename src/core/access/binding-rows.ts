/** What the rows of `auth.mtls.bindings` mean. */

import { canonicalDnsName } from "#core/x509/addresses.ts";
import { parseNameText } from "#core/x509/name-text.ts";
import { type Binding, canonicalMailbox, type Selectors, selects } from "./client-bindings.ts";
import { parseRole, type Role } from "./roles.ts";

/** One row as configured. */
export interface BindingRow {
  readonly name: string | undefined;
  readonly subject_cn: string | undefined;
  readonly subject_dn: string | undefined;
  readonly san_dns: string | undefined;
  readonly san_uri: string | undefined;
  readonly san_email: string | undefined;
  readonly subject: string | undefined;
  readonly roles: readonly string[];
  readonly tenant_roles: Readonly<Record<string, readonly string[]>>;
}

/** The selectors of an entry; one that is empty is none. */
export function selectorsOf(row: BindingRow): Selectors {
  const { subject_cn, subject_dn, san_dns, san_uri, san_email } = row;
  const subjectDn = subject_dn && parseNameText(subject_dn);
  const sanDns = san_dns && canonicalDnsName(san_dns);
  return {
    ...(subject_cn && { subjectCn: subject_cn }),
    ...(subjectDn && { subjectDn }),
    ...(sanDns && { sanDns }),
    ...(san_uri && { sanUri: san_uri }),
    ...(san_email && { sanEmail: canonicalMailbox(san_email) }),
  };
}

/**
 * The usable entries, in their order: those with a selector and a subject. What names no role gives
 * none.
 */
export const bindingsOf = (rows: readonly BindingRow[]): readonly Binding[] =>
  rows.flatMap((row) => {
    const { name, subject } = row;
    const selectors = selectorsOf(row);
    if (subject === undefined || !selects(selectors)) return [];
    const tenantRoles = Object.entries(row.tenant_roles).map(([tenant, named]) => [
      tenant,
      known(named),
    ]);
    const roles = known(row.roles);
    return [{ name, selectors, subject, roles, tenantRoles: Object.fromEntries(tenantRoles) }];
  });

const known = (named: readonly string[]): readonly Role[] =>
  named.map(parseRole).filter((one) => one !== undefined);
