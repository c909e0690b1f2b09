/** The tenant that something new belongs to: never guessed, and nothing is sent without it. */

import { useState } from "preact/hooks";
import type { Reply } from "#web/api.ts";
import { type Tenant, useConsole } from "#web/console.ts";
import type { Choice } from "./fields.tsx";
import { Finder, foundWords, searching } from "./finder.tsx";
import { Field } from "./form.tsx";
import { type FoundTenants, isTenant, tenantsSeen, useFoundTenants } from "./tenants.ts";

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
  const search = useFoundTenants(sought);
  const { found } = search;
  const named = [...found, ...tenants, ...(picked ? [picked] : [])].find(isTenant(value));
  const isAbsent = named !== undefined && !found.some(isTenant(value));
  const choose = (chosen: string) => {
    setPicked(found.find(isTenant(chosen)));
    onChange(chosen);
  };
  const choices = [...(isAbsent ? [named] : []), ...found].map(choiceOf);
  const only = sought.trim() === "" ? undefined : onlyOf(search);
  return (
    <>
      <Field
        label={label}
        member={member}
        reply={reply}
        hint={value === "" && "There are several: choose the one it belongs to."}
        needed={value === "" ? "Choose the tenant it belongs to." : undefined}
      >
        {(control) => (
          <select
            {...control}
            aria-required
            value={named?.id ?? value}
            onChange={({ currentTarget }) => choose(currentTarget.value)}
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
          <Finder
            label="Find a tenant"
            placeholder="Find a tenant by slug or name"
            sought={sought}
            onSearch={setSought}
            said={said(search, { sought, moreTenants, chosen: named })}
            onOnly={only && (() => choose(only.id))}
          />
        </div>
      )}
    </>
  );
}

/** Surely the one that is looked for. */
const onlyOf = ({ found, total, settled, fault }: FoundTenants): Tenant | undefined =>
  settled && fault === undefined && total === 1 ? found[0] : undefined;

interface Sought {
  readonly sought: string;
  readonly moreTenants: boolean;
  readonly chosen: Tenant | undefined;
}

function said(search: FoundTenants, { sought, moreTenants, chosen }: Sought): string {
  const { found, total, settled, fault } = search;
  if (sought.trim() === "") {
    return moreTenants ? `The newest ${found.length} can be chosen; others are found by name.` : "";
  }
  if (!settled) return searching;
  const isChosen = chosen !== undefined && found[0]?.id === chosen.id;
  return fault ?? foundWords({ total, here: found.length, isChosen });
}

const choiceOf = ({ id, name, slug, status }: Tenant): Choice => ({
  value: id,
  label: status === "active" ? name || slug : `${name || slug} (${status})`,
});
