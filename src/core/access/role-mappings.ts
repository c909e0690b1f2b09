/** What the rows of `role_mappings` mean. */

import { parseRole, type Role } from "./roles.ts";

/** One row as configured. */
export interface RoleMappingRow {
  /** The claim of groups when absent. */
  readonly claim?: string | undefined;
  readonly value?: string | undefined;
  readonly tenant?: string | undefined;
  readonly roles: readonly string[];
}

/** The mappings of a block with their defaults filled in; what names no role gives none. */
export const mappingsOf = (
  rows: readonly RoleMappingRow[],
  groupsClaim: string,
): readonly {
  readonly claim: string;
  readonly value: string;
  readonly tenant: string | undefined;
  readonly roles: readonly Role[];
}[] =>
  rows.flatMap(({ claim = groupsClaim, value, tenant, roles: named }) => {
    const known = named.map(parseRole).filter((role) => role !== undefined);
    return value === undefined ? [] : [{ claim, value, tenant, roles: known }];
  });
