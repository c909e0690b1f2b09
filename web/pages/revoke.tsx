/** Revokes many certificates at once: choose, look at what that is, confirm by its number. */

import { hrefOf, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Selection } from "#web/pages/revoke/selection.tsx";
import { useAsked } from "#web/ui/asked.tsx";
import { CaChoice } from "#web/ui/ca-choice.tsx";
import { Field } from "#web/ui/form.tsx";
import { Heading } from "#web/ui/heading.tsx";

/**
 * The CA and what selects are in the address, and so is the operation id of a run: whoever comes
 * back to it goes on with it.
 */
export function RevokePage() {
  const { query } = useAddress();
  const { ca = "", op } = query;
  const { reply } = useAsked("ca.show", ca === "" ? undefined : { id: ca });
  const found = reply?.kind === "answered" && ca !== "" ? reply.answer : undefined;
  return (
    <>
      <Heading name="Revoke many" />
      <Field label="Certificate authority" hint="Certificates of its whole lineage.">
        {(control) => (
          <CaChoice
            id={control.id}
            label="Certificate authority"
            value={ca}
            onChoose={(id) => visit(hrefOf(["revoke"], { ca: id }))}
          />
        )}
      </Field>
      {found === undefined ? (
        <div class="empty">
          <p>Choose the CA whose certificates are to be revoked. Nothing is changed by looking.</p>
        </div>
      ) : (
        <Selection key={found.id} ca={found} operationId={op} />
      )}
    </>
  );
}
