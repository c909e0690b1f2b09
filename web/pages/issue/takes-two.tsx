/** Said before something is sent that somebody else must approve: the key must last until then. */

import { hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { useKeyring } from "#web/keyring.ts";
import { Dialog, useDialog } from "#web/ui/layers.tsx";
import { fileStem } from "./file-names.ts";
import type { MadeRequest } from "./made-request.ts";
import { SaveKeyFile } from "./saving.tsx";

/** In the form; `made` is undefined where the key was made elsewhere, or is not made yet. */
export function TakesTwo({ made }: { readonly made: MadeRequest | undefined }) {
  const address = useAddress();
  const kept = useKeyring().find(made?.key.fingerprint);
  return (
    <div class="notice warn">
      <p>
        <span aria-hidden="true">◔ </span>
        This profile takes two: what you send becomes a request, and the certificate is made when
        somebody else has approved it.
      </p>
      {made !== undefined && (
        <>
          <p>
            {kept?.saved
              ? "The key is in your file: with it you can fetch the certificate whenever it is made."
              : "The private key is in this tab alone. Keep the tab open until then, or save the key."}
          </p>
          <p>
            <a class="button" href={hrefWith(address, { dialog: "key" })}>
              Save the key first
            </a>
          </p>
        </>
      )}
    </div>
  );
}

interface KeyDialogProps {
  readonly made: MadeRequest | undefined;
  readonly name: string;
}

/** Over the form, for a form within a form would send both. */
export function KeyDialog({ made, name }: KeyDialogProps) {
  const keyring = useKeyring();
  const dialog = useDialog();
  if (dialog.open !== "key" || made === undefined) return null;
  const stem = fileStem(name);
  const saved = () => {
    keyring.keep(made.key, stem, made.request);
    keyring.saved(made.key.fingerprint);
    dialog.close();
  };
  return (
    <Dialog title="Save the key" onClose={dialog.close}>
      <SaveKeyFile made={made} name={stem} onSaved={saved} onCancel={dialog.close} />
    </Dialog>
  );
}
