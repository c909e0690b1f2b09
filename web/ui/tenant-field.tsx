/** The tenant that something new belongs to: never guessed, and nothing is sent without it. */

import { useState } from "preact/hooks";
import type { Reply } from "#web/api.ts";
import { type Tenant, useConsole } from "#web/console.ts";
import type { Choice } from "./fields.tsx";
import { Field } from "./form.tsx";
import { isTenant, tenantsSeen, useFoundTenants } from "./tenants.ts";

interface TenantFieldProps {
  readonly label: string;
  readonly member: string;
  readonly reply: Reply<unknown> | undefined;
  /** Its id, or one of the others; empty where nobody has chosen. */
  readonly value: string;
  /** What can be chosen beside the tenants. */
  readonly others?: readonly Choice[];
  readonly onChange: (value: string) => void;
}

/** Where there are many a search narrows the choice. */
export function TenantField(props: TenantFieldProps) {
  const { label, member, reply, value, others = [], onChange } = props;
  const { tenants, moreTenants } = useConsole();
  const [sought, setSought] = useState("");
  const [picked, setPicked] = useState<Tenant>();
  const { found, total } = useFoundTenants(sought);
  const named = [...found, ...tenants, ...(picked ? [picked] : [])].find(isTenant(value));
  const isAbsent = named !== undefined && !found.some(isTenant(value));
  const choices = [...(isAbsent ? [named] : []), ...found].map(choiceOf);
  return (
    <>
      <Field
        label={label}
        member={member}
        reply={reply}
        hint={value === "" && "There are several: choose the one it belongs to."}
      >
        {(control) => (
          <select
            {...control}
            required
            value={named?.id ?? value}
            onChange={({ currentTarget }) => {
              setPicked(found.find(isTenant(currentTarget.value)));
              onChange(currentTarget.value);
            }}
          >
            {value === "" && <option value="">Choose a tenant…</option>}
            {[...choices, ...others].map((one) => (
              <option key={one.value} value={one.value} disabled={one.disabled}>
                {one.label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {(moreTenants || tenants.length > tenantsSeen) && (
        <div class="field">
          <input
            type="search"
            aria-label="Find a tenant"
            placeholder="Find a tenant by slug or name"
            maxLength={200}
            value={sought}
            onInput={({ currentTarget }) => setSought(currentTarget.value)}
          />
          <p class="quiet small" role="status">
            {sought.trim() === ""
              ? moreTenants && `The newest ${found.length} can be chosen; others are found by name.`
              : `${total.toLocaleString("en")} found; they are in the choice.`}
          </p>
        </div>
      )}
    </>
  );
}

const choiceOf = ({ id, name, slug, status }: Tenant): Choice => ({
  value: id,
  label: status === "active" ? name || slug : `${name || slug} (${status})`,
});
