/** The tenant whose things the lists show; a link for each, so that it is in the address. */

import type { Address } from "#web/address.ts";
import type { Tenant } from "#web/console.ts";
import { tenantHref } from "./tenant-href.ts";

interface TenantChoiceProps {
  readonly tenants: readonly Tenant[];
  readonly address: Address;
}

/** A menu that the choice closes. */
export function TenantChoice({ tenants, address }: TenantChoiceProps) {
  const chosen = address.query.tenant;
  const { slug } = tenants.find(({ id, slug }) => id === chosen || slug === chosen) ?? {};
  const close = ({ currentTarget }: { readonly currentTarget: HTMLElement }) => {
    const menu = currentTarget.closest("details");
    menu?.removeAttribute("open");
    menu?.querySelector("summary")?.focus();
  };
  return (
    <details class="menu">
      <summary>{slug ?? "All tenants"}</summary>
      <ul>
        <li>
          <a href={tenantHref(address, undefined)} onClick={close}>
            All tenants
          </a>
        </li>
        {tenants.map((tenant) => (
          <li key={tenant.id}>
            <a href={tenantHref(address, tenant.slug)} onClick={close}>
              {tenant.name || tenant.slug}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}
