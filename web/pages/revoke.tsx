/** Revokes many certificates at once: choose, look at what that is, confirm by its number. */

import { hrefOf, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Selection } from "#web/pages/revoke/selection.tsx";
import { Outcome, useAside, Waiting } from "#web/ui/asked.tsx";
import { CaChoice } from "#web/ui/ca-choice.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Field } from "#web/ui/form.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { useNamedCa } from "#web/ui/named-ca.ts";

/**
 * The CA and what selects are in the address, and so is the operation id of a run: whoever comes
 * back to it goes on with it.
 */
export function RevokePage() {
  const { query } = useAddress();
  const { ca = "", op } = query;
  const { ca: found, refused, again } = useNamedCa(ca === "" ? undefined : ca);
  return (
    <>
      <Heading name="Revoke many" />
      <Field label="Certificate authority" hint="Certificates of its whole lineage.">
        {(control) => (
          <CaChoice
            control={control}
            label="Certificate authority"
            value={ca}
            onChoose={(id) => visit(hrefOf(["revoke"], { ca: id }))}
          />
        )}
      </Field>
      <Outcome reply={refused} again={again} />
      {found !== undefined && <Selection key={found.id} ca={found} operationId={op} />}
      {ca !== "" && found === undefined && refused === undefined && <Waiting />}
      {ca === "" && <Unchosen />}
    </>
  );
}

/** What to do first: choose a CA, or make one where there is none. */
function Unchosen() {
  const { reply } = useAside("ca.list", { limit: 1 }, ["ca.*"]);
  if (reply?.kind === "answered" && reply.answer.total === 0) {
    return (
      <div class="empty">
        <p>There is no certificate authority that you may see, so there is nothing to revoke.</p>
        <a class="button plain" href={hrefOf(["authorities"])}>
          Go to the authorities
        </a>
        <Copy text="pkid ca init-root --label root --cn 'Example Root'" name="command" />
      </div>
    );
  }
  return (
    <div class="empty">
      <p>Choose the CA whose certificates are to be revoked. Nothing is changed by looking.</p>
      <Copy text="pkid revoke bulk --ca issuing --profile server --dry-run" name="command" />
    </div>
  );
}
