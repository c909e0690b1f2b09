/** What a new CA is called: here, among tenants, and in certificates. */

import type { Reply } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import { TextField } from "#web/ui/fields.tsx";
import { TenantField } from "#web/ui/tenant-field.tsx";
import { useOnlyTenant } from "#web/ui/tenants.ts";
import type { TypedSubject } from "./ca-form.ts";
import { SubjectFields } from "./subject-fields.tsx";
import { neededIn } from "./typed.tsx";

interface TypedName extends TypedSubject {
  readonly label: string;
  readonly tenant: string;
}

interface NameFieldsProps {
  readonly typed: TypedName;
  readonly change: (change: Partial<TypedName>) => void;
  readonly reply: Reply<unknown> | undefined;
  /** False where it has the tenant of the CA above it. */
  readonly choosesTenant: boolean;
}

/** Label, tenant where there are several, and subject. */
export function NameFields({ typed, change, reply, choosesTenant }: NameFieldsProps) {
  const { tenants } = useConsole();
  return (
    <>
      <TextField
        label="Label"
        member="label"
        reply={reply}
        value={typed.label}
        onChange={(label) => change({ label })}
        needed={neededIn(typed.label, "Type a label.")}
        hint="What it is called here: letters, digits, dot, dash and underscore."
      />
      {choosesTenant && tenants.length > 1 && (
        <TenantField
          label="Tenant"
          member="tenant_id"
          reply={reply}
          value={typed.tenant}
          onChange={(tenant) => change({ tenant })}
        />
      )}
      <SubjectFields typed={typed} change={change} reply={reply} />
    </>
  );
}

/** The id of the tenant that nobody needs to choose; empty where the field asks for one. */
export const useFirstTenant = (): string => useOnlyTenant()?.id ?? "";

/** Returns why a CA of a tenant cannot be sent: the list of tenants loads after the page. */
export function useMissingTenant(): string | undefined {
  const { tenants } = useConsole();
  return tenants.length === 0 ? "No tenant is loaded yet." : undefined;
}
