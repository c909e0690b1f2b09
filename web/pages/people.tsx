/** Who may do what here: API tokens, grants, tenants, sessions and passkeys. */

import { GrantsPart } from "#web/pages/people/grants.tsx";
import { PasskeysPart } from "#web/pages/people/passkeys.tsx";
import { SessionsPart } from "#web/pages/people/sessions.tsx";
import { TenantsPart } from "#web/pages/people/tenants.tsx";
import { ApiTokensPart } from "#web/pages/people/tokens.tsx";
import type { PageProps } from "#web/page.ts";
import { Parts } from "#web/ui/tabs.tsx";

/** The part that the segment behind `people` names; API tokens first. */
export function PeoplePage({ rest: [part = "tokens", id] }: PageProps) {
  return (
    <Parts name="People" page="people" tabs={parts} current={part}>
      {part === "tokens" && <ApiTokensPart id={id} />}
      {part === "grants" && <GrantsPart />}
      {part === "tenants" && <TenantsPart id={id} />}
      {part === "sessions" && <SessionsPart />}
      {part === "passkeys" && <PasskeysPart />}
      {!parts.some(({ segment }) => segment === part) && <p>There is no such part.</p>}
    </Parts>
  );
}

const parts = [
  { segment: "tokens", name: "API tokens" },
  { segment: "grants", name: "Grants" },
  { segment: "tenants", name: "Tenants" },
  { segment: "sessions", name: "Sessions" },
  { segment: "passkeys", name: "Passkeys" },
] as const;
