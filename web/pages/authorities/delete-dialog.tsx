/** Deletes a CA that has signed nothing yet, and its key for good where that is wanted. */

import { hrefOf, visit } from "#web/address.ts";
import { useSend } from "#web/ui/form.tsx";
import { GuardedForm } from "#web/ui/guarded-form.tsx";
import { Dialog } from "#web/ui/layers.tsx";
import { CheckField, TextField } from "#web/ui/fields.tsx";
import { type Ca, holderWord } from "./ca.ts";
import { useWhyNotDeleted } from "./deletable.ts";
import { explained } from "./refusals.ts";
import { filled } from "./members.ts";
import { useTyped } from "./typed.tsx";

interface DeleteDialogProps {
  readonly ca: Ca;
  readonly onClose: () => void;
}

/** Leads back to the tree. */
export function DeleteDialog({ ca, onClose }: DeleteDialogProps) {
  const sending = useSend("ca.delete");
  const [typed, change] = useTyped({ destroyKey: false, confirmed: "" });
  const whyNot = useWhyNotDeleted(ca);
  const send = async () => {
    const members = { id: ca.id, destroy_key: typed.destroyKey || undefined };
    const done = await sending.send(filled(members));
    if (done !== undefined) visit(hrefOf(["authorities"]));
  };
  return (
    <Dialog title={`Delete ${ca.label}`} onClose={onClose}>
      <GuardedForm
        operation="ca.delete"
        where={{ caId: ca.id, tenantId: ca.tenant_id }}
        unless={whyNot}
        missing={
          typed.destroyKey && typed.confirmed !== ca.label ? `Type ${ca.label} first.` : undefined
        }
        onSend={send}
        busy={sending.busy}
        reply={explained(sending.reply)}
        does={typed.destroyKey ? `Delete ${ca.label} and its key` : `Delete ${ca.label}`}
        look="danger"
        onCancel={onClose}
      >
        <p>
          It disappears from every list; what the audit chain and the sign ledger say of it stays. A
          CA that has signed is not deleted but retired: the server refuses that.
        </p>
        <CheckField
          label={`Destroy its key too (${holderWord(ca)}), which cannot be undone`}
          checked={typed.destroyKey}
          onChange={(destroyKey) => change({ destroyKey })}
        />
        {typed.destroyKey && (
          <TextField
            label={`Type ${ca.label} to confirm`}
            member="destroy_key"
            reply={sending.reply}
            value={typed.confirmed}
            onChange={(confirmed) => change({ confirmed })}
          />
        )}
      </GuardedForm>
    </Dialog>
  );
}
