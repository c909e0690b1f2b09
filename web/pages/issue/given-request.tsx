/** A request made elsewhere: pasted, dropped or picked as a file, in PEM or DER. */

import { encodePem } from "#core/asn1/pem.ts";
import type { Reply } from "#web/api.ts";
import { Field } from "#web/ui/form.tsx";
import { FileField } from "#web/ui/file-field.tsx";

interface GivenRequestProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly reply: Reply<unknown> | undefined;
}

/** A file is read in the page and stands in the field; a private key is not taken. */
export function GivenRequest({ text, onChange, reply }: GivenRequestProps) {
  const take = (file: File) => void requestIn(file).then(onChange);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    const [file] = event.dataTransfer?.files ?? [];
    if (file !== undefined) take(file);
  };
  return (
    <>
      <Field
        label="Certification request"
        member="csr"
        reply={reply}
        fault={holdsKey(text) ? "This is a private key. Keep it; paste the request." : undefined}
        hint="Paste it, or drop its file here: PEM, or DER."
      >
        {(control) => (
          <textarea
            {...control}
            spellcheck={false}
            placeholder="-----BEGIN CERTIFICATE REQUEST-----"
            value={text}
            onDragOver={(event) => event.preventDefault()}
            onDrop={drop}
            onInput={({ currentTarget }) => onChange(currentTarget.value)}
          />
        )}
      </Field>
      <FileField label="Or its file" accept=".csr,.pem,.req,.der,.p10" onFile={take} />
      <details>
        <summary>Make one with openssl</summary>
        <pre class="wrapped">{`openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \\
  -keyout www.example.com.key -out www.example.com.csr \\
  -subj /CN=www.example.com -addext subjectAltName=DNS:www.example.com`}</pre>
      </details>
    </>
  );
}

/** True for what must not be sent anywhere. */
export const holdsKey = (text: string): boolean => /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text);

/** The text of a request; octets of DER become PEM. A file too large for one is cut off. */
async function requestIn(file: File): Promise<string> {
  const octets = new Uint8Array(await file.slice(0, octetsMax).arrayBuffer());
  // A request in DER is a SEQUENCE, whose octet is the digit zero in ASCII: no PEM begins so.
  if (octets[0] === 0x30) return encodePem("CERTIFICATE REQUEST", octets);
  return new TextDecoder().decode(octets);
}

/** More than the 64 KiB a request may have, so that the server says what is wrong. */
const octetsMax = 98_304;
