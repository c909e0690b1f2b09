/** A request made elsewhere: pasted, dropped or picked as a file, in PEM or DER. */

import type { Reply } from "#web/api.ts";
import { Field } from "#web/ui/form.tsx";
import { FileField } from "#web/ui/file-field.tsx";
import { useGiven } from "#web/ui/given.ts";

interface GivenRequestProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly reply: Reply<unknown> | undefined;
}

/** A file is read in the page and stands in the field; nothing but a request is taken. */
export function GivenRequest({ text, onChange, reply }: GivenRequestProps) {
  const { fault, type, take } = useGiven(text, "request", onChange);
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
        fault={fault}
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
            onInput={({ currentTarget }) => type(currentTarget.value)}
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
