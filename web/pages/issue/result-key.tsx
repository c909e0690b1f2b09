/** The private key of a certificate: kept by this tab, in a file of its person, or elsewhere. */

import { useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { useKeyring } from "#web/keyring.ts";
import { Fingerprint } from "#web/ui/copy.tsx";
import { spkiOf } from "#web/x509/paths.ts";
import { sizeFault } from "#web/file-size.ts";
import { FileField } from "#web/ui/file-field.tsx";
import { SendForm } from "#web/ui/form.tsx";
import { PageKey } from "./page-key.ts";
import { KnownPassphrase } from "./passphrase.tsx";
import { SavePkcs12 } from "./saving.tsx";
import { keyFileTools } from "./tools.ts";

interface ResultKeyProps {
  readonly issued: Answers["cert.show"];
  /** DER, the leaf first. */
  readonly path: readonly Uint8Array[];
  /** Nothing of the path is missing. */
  readonly isWhole: boolean;
  readonly stem: string;
}

/** Beside the certificate. */
export function ResultKey({ issued, path, isWhole, stem }: ResultKeyProps) {
  const keyring = useKeyring();
  const { public_key_fingerprint: fingerprint } = issued;
  const kept = keyring.find(fingerprint);
  return (
    <section class={kept?.saved === false ? "card urgent" : "card"}>
      <h2>Private key</h2>
      <p class="small">
        <Fingerprint text={fingerprint} name="fingerprint of the public key" />
      </p>
      {kept === undefined && <Elsewhere path={path} />}
      {kept !== undefined && (
        <>
          {kept.saved ? (
            <p class="good" role="status">
              <span aria-hidden="true">● </span>The key is in a file of yours.
            </p>
          ) : (
            <p class="warn">
              <span aria-hidden="true">◔ </span>The key is in this tab alone, and gone when it is
              closed or loaded again. Save it now.
            </p>
          )}
          <SavePkcs12
            privateKey={kept.key}
            certificates={path}
            isWhole={isWhole}
            name={stem}
            onSaved={() => keyring.saved(fingerprint)}
          />
          {kept.saved && (
            <div class="buttons">
              <button type="button" class="button" onClick={() => keyring.forget(fingerprint)}>
                Forget the key in this tab
              </button>
            </div>
          )}
        </>
      )}
    </section>
  );
}

/** Who has saved the key in a file makes a PKCS#12 of it here. */
function Elsewhere({ path: [leaf] }: { readonly path: readonly Uint8Array[] }) {
  const keyring = useKeyring();
  const [file, setFile] = useState("");
  const [passphrase, setPassphrase] = useState("");
  const [fault, setFault] = useState<string>();
  const open = async () => {
    if (leaf === undefined) return;
    const { openedKeyFile } = await keyFileTools();
    const pkcs8 = await openedKeyFile(file, passphrase);
    if (pkcs8 === undefined) return setFault("The passphrase does not open this file.");
    const key = await PageKey.reopened(pkcs8, spkiOf(leaf));
    if (key === undefined) return setFault("The key in this file is not that of the certificate.");
    keyring.keep(key, "", "");
    keyring.saved(key.fingerprint);
  };
  return (
    <>
      <p class="quiet">
        This tab does not have the key. It is where the request was made, or in the file you saved
        here before.
      </p>
      <details>
        <summary>Open a key file saved here</summary>
        <SendForm
          onSend={() => void open()}
          busy={false}
          reply={undefined}
          does="Open the key"
          missing={missingToOpen(file, passphrase)}
        >
          <FileField
            label="Key file"
            accept=".key,.pem"
            hint="It is read in the page and sent nowhere."
            onFile={(picked) => {
              const tooLarge = sizeFault(picked.size, octetsMax);
              setFault(tooLarge);
              if (tooLarge === undefined) void picked.text().then(setFile);
            }}
          />
          <KnownPassphrase
            label="Its passphrase"
            fault={fault}
            value={passphrase}
            onInput={(text) => {
              setFault(undefined);
              setPassphrase(text);
            }}
          />
        </SendForm>
      </details>
    </>
  );
}

function missingToOpen(file: string, passphrase: string): string | undefined {
  if (file === "") return "Choose the key file first.";
  return passphrase === "" ? "Type its passphrase first." : undefined;
}

/** Far more than a key and a request have. */
const octetsMax = 65_536;
