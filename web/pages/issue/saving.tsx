/** Saving the key of this tab: in a file of its own, or with its certificate in a PKCS#12. */

import { useState } from "preact/hooks";
import { save } from "#web/ui/download.tsx";
import { SendForm } from "#web/ui/form.tsx";
import type { MadeRequest } from "./made-request.ts";
import {
  noPassphrase,
  type Passphrase,
  PassphraseFields,
  passphraseMissing,
  settledPassphrase,
} from "./passphrase.tsx";
import type { PageKey } from "./page-key.ts";
import { keyFileTools } from "./tools.ts";

interface SaveKeyFileProps {
  readonly made: MadeRequest;
  readonly name: string;
  readonly onSaved: () => void;
  readonly onCancel?: () => void;
}

/** The key, encrypted, and its request in one file of PEM. */
export function SaveKeyFile({ made, name, onSaved, onCancel }: SaveKeyFileProps) {
  const write = async (passphrase: string) => {
    const { keyFile } = await keyFileTools();
    const text = `${await keyFile(made.key, passphrase)}${made.request}`;
    save(`${name}.key`, new Blob([text], { type: "application/x-pem-file" }));
    onSaved();
  };
  return (
    <SavingForm does={`Save ${name}.key`} write={write} onCancel={onCancel}>
      The key, encrypted with AES-256, and its request in one file. With it and the passphrase you
      get the PKCS#12 of the certificate on the page of the result, in any browser.
    </SavingForm>
  );
}

interface SavePkcs12Props {
  readonly privateKey: PageKey;
  /** DER, the leaf first. */
  readonly certificates: readonly Uint8Array[];
  /** Nothing of the chain is missing. */
  readonly isWhole: boolean;
  readonly name: string;
  readonly onSaved: () => void;
}

/** Key, certificate and chain in one file, or as much of the chain as there is. */
export function SavePkcs12(props: SavePkcs12Props) {
  const { privateKey, certificates, isWhole, name, onSaved } = props;
  const write = async (passphrase: string) => {
    const { pkcs12 } = await keyFileTools();
    save(`${name}.p12`, await pkcs12({ key: privateKey, certificates, name, passphrase }));
    onSaved();
  };
  return (
    <SavingForm does={`Save ${name}.p12`} write={write}>
      {isWhole
        ? "Private key, certificate and chain in one file, encrypted"
        : "Private key and certificate in one file, without the whole chain, encrypted"}{" "}
      with AES-256 under a passphrase that you choose. This is the only copy of the key that leaves
      the tab.
    </SavingForm>
  );
}

interface SavingFormProps {
  readonly does: string;
  readonly write: (passphrase: string) => Promise<void>;
  readonly onCancel?: (() => void) | undefined;
  readonly children: string | readonly string[];
}

function SavingForm({ does, write, onCancel, children }: SavingFormProps) {
  const [passphrase, setPassphrase] = useState<Passphrase>(noPassphrase);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState(false);
  const settled = settledPassphrase(passphrase);
  const begin = () => {
    if (settled === undefined) return;
    setBusy(true);
    setFailed(false);
    write(settled)
      // The library did not come, or the browser has no room: the key stays where it is.
      .catch(() => setFailed(true))
      .finally(() => setBusy(false));
  };
  return (
    <SendForm
      onSend={begin}
      busy={busy}
      reply={undefined}
      does={does}
      working="Encrypting…"
      missing={settled === undefined ? passphraseMissing : undefined}
      onCancel={onCancel}
    >
      <p class="quiet small">{children}</p>
      <PassphraseFields value={passphrase} onChange={setPassphrase} />
      {failed && (
        <p class="notice bad" role="alert">
          The file could not be written; the key is still here. Try again.
        </p>
      )}
    </SendForm>
  );
}
