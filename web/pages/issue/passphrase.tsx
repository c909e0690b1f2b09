/** A passphrase for a file with a key: typed twice, or drawn, and read alike by every program. */

import { type ControlAttributes, Field } from "#web/ui/form.tsx";

export interface Passphrase {
  readonly first: string;
  readonly again: string;
  /** Drawn here, and so shown. */
  readonly shown: boolean;
}

export const noPassphrase: Passphrase = { first: "", again: "", shown: false };

/** The passphrase once both are the same and it will do. */
export const settledPassphrase = ({ first, again }: Passphrase): string | undefined =>
  weakness(first) === undefined && first === again ? first : undefined;

/** Said beside a button while there is none. */
export const passphraseMissing = "Type the same passphrase twice first, or have one suggested.";

interface PassphraseFieldsProps {
  readonly value: Passphrase;
  readonly onChange: (value: Passphrase) => void;
}

/** It is kept nowhere. */
export function PassphraseFields({ value, onChange }: PassphraseFieldsProps) {
  const { first, again, shown } = value;
  return (
    <>
      <Field
        label="Passphrase for the file"
        fault={first === "" ? undefined : weakness(first)}
        hint="12 characters or more; it is kept nowhere, so write it down now."
      >
        {(control) => (
          <Secret
            control={control}
            shown={shown}
            value={first}
            onInput={(text) => onChange({ ...value, first: text })}
          />
        )}
      </Field>
      <Field
        label="The same again"
        fault={again === "" || again === first ? undefined : "The two differ."}
      >
        {(control) => (
          <Secret
            control={control}
            shown={shown}
            value={again}
            onInput={(text) => onChange({ ...value, again: text })}
          />
        )}
      </Field>
      <div class="buttons">
        <button type="button" class="button" onClick={() => onChange(drawn())}>
          Suggest one
        </button>
        <label class="check">
          <input
            type="checkbox"
            checked={shown}
            onChange={({ currentTarget }) => onChange({ ...value, shown: currentTarget.checked })}
          />
          Show it
        </label>
      </div>
    </>
  );
}

interface KnownPassphraseProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
  readonly fault: string | undefined;
  readonly hint?: string;
}

/** The passphrase of a file that there is. */
export const KnownPassphrase = ({ label, value, onInput, fault, hint }: KnownPassphraseProps) => (
  <Field label={label} fault={fault} hint={hint}>
    {(control) => (
      <input
        {...control}
        type="password"
        autocomplete="off"
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    )}
  </Field>
);

interface SecretProps {
  readonly control: ControlAttributes;
  readonly shown: boolean;
  readonly value: string;
  readonly onInput: (text: string) => void;
}

function Secret({ control, shown, value, onInput }: SecretProps) {
  const attributes = {
    class: "mono",
    autocomplete: "new-password",
    spellcheck: false,
    value,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      onInput(currentTarget.value),
  };
  if (shown) return <input type="text" {...control} {...attributes} />;
  return <input type="password" {...control} {...attributes} />;
}

/** Other characters are octets to one program and code points to the next. */
function weakness(text: string): string | undefined {
  if (!/^[\x20-\x7e]*$/.test(text)) return "Use ASCII: programs disagree how others are written.";
  return text.length < 12 ? "It has fewer than 12 characters." : undefined;
}

/** Twenty of 32 characters that are not mistaken for each other: 100 bits. */
function drawn(): Passphrase {
  const letters = [...crypto.getRandomValues(new Uint8Array(20))].map(
    (octet) => alphabet[octet % alphabet.length] ?? "",
  );
  const text = letters.join("").replace(/.{5}(?=.)/g, "$&-");
  return { first: text, again: text, shown: true };
}

const alphabet = "abcdefghjkmnpqrstuvwxyz23456789A";
