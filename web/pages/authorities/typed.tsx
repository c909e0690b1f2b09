/** What is typed into a form as members of one object, and fields of several lines. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Reply } from "#web/api.ts";
import { Field } from "#web/ui/form.tsx";
import { useGiven } from "#web/ui/given.ts";
import type { Wanted } from "#web/x509/given.ts";

/** What has been typed so far; a change names the members it changes. */
export function useTyped<Form extends object>(
  first: Form,
): readonly [Form, (change: Partial<Form>) => void] {
  const [typed, setTyped] = useState(first);
  return [typed, (change) => setTyped((was) => ({ ...was, ...change }))];
}

/** What a field says when it is sent without anything in it. */
export const neededIn = (value: string, sentence: string): string | undefined =>
  value.trim() === "" ? sentence : undefined;

interface LinesProps {
  readonly label: string;
  readonly member: string;
  readonly reply: Reply<unknown> | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly placeholder?: string;
  readonly fault?: string | undefined;
  /** What is still to be done here, said once somebody has tried to send without it. */
  readonly needed?: string | undefined;
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
  fault,
  needed,
}: LinesProps) {
  return (
    <Field label={label} member={member} reply={reply} hint={hint} fault={fault} needed={needed}>
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

interface PemProps extends LinesProps {
  readonly wanted: Wanted;
}

/** A text of PEM that can be pasted, or read from a file that is chosen. */
export function PemField({ wanted, ...props }: PemProps) {
  const { label, value, onChange } = props;
  const { fault, type, take } = useGiven(value, wanted, onChange);
  return (
    <>
      <LinesField {...props} fault={fault} onChange={type} />
      <div class="field">
        <input
          type="file"
          aria-label={`${label}: choose a file`}
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            if (file !== undefined) take(file);
          }}
        />
      </div>
    </>
  );
}
