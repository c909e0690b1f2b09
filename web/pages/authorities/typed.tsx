/** What is typed into a form as members of one object, and fields of several lines. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Reply } from "#web/api.ts";
import { Field } from "#web/ui/form.tsx";

/** What has been typed so far; a change names the members it changes. */
export function useTyped<Form extends object>(
  first: Form,
): readonly [Form, (change: Partial<Form>) => void] {
  const [typed, setTyped] = useState(first);
  return [typed, (change) => setTyped((was) => ({ ...was, ...change }))];
}

interface LinesProps {
  readonly label: string;
  readonly member: string;
  readonly reply: Reply<unknown> | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly placeholder?: string;
}

/** Several lines: PEM, or one entry each. */
export function LinesField({
  label,
  member,
  reply,
  hint,
  value,
  onChange,
  placeholder,
}: LinesProps) {
  return (
    <Field label={label} member={member} reply={reply} hint={hint}>
      {(control) => (
        <textarea
          {...control}
          spellcheck={false}
          placeholder={placeholder}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A text of PEM that can be pasted, or read from a file that is chosen. */
export function PemField(props: LinesProps) {
  const { label, onChange } = props;
  const choose = async (file: File | undefined) => {
    if (file !== undefined) onChange(await pemOf(file));
  };
  return (
    <>
      <LinesField {...props} />
      <div class="field">
        <input
          type="file"
          aria-label={`${label}: choose a file`}
          onChange={({ currentTarget }) => void choose(currentTarget.files?.[0])}
        />
      </div>
    </>
  );
}

/** A file as PEM: what is binary is taken for the DER of one certificate. */
async function pemOf(file: File): Promise<string> {
  if (file.size > fileMax) return "";
  const octets = new Uint8Array(await file.arrayBuffer());
  const text = new TextDecoder().decode(octets);
  if (text.includes("-----BEGIN")) return text;
  const lines = octets.toBase64().replace(/.{1,64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
}

/** What the server takes of PEM in one member. */
const fileMax = 1_000_000;
