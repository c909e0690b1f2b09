/** What a new CA is called: here, among tenants, and in certificates. */

import type { Reply } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import { ChoiceField, TextField } from "#web/ui/fields.tsx";
import type { TypedSubject } from "./ca-form.ts";
import { SubjectFields } from "./subject-fields.tsx";

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
        hint="What it is called here: letters, digits, dot, dash and underscore."
      />
      {choosesTenant && tenants.length > 1 && (
        <ChoiceField
          label="Tenant"
          member="tenant_id"
          reply={reply}
          value={typed.tenant}
          onChange={(tenant) => change({ tenant })}
          choices={tenants.map(({ id, name, slug }) => ({ value: id, label: name || slug }))}
        />
      )}
      <SubjectFields typed={typed} change={change} reply={reply} />
    </>
  );
}

/** The tenant of the address, else the one that is there by itself; none where there is one. */
export function useFirstTenant(): string {
  const { tenants, address } = useConsole();
  const { tenant } = address.query;
  if (tenants.length < 2) return "";
  const named = tenants.find(({ id, slug }) => id === tenant || slug === tenant);
  return (named ?? tenants.find(({ slug }) => slug === "default") ?? tenants[0])?.id ?? "";
}
