/** The fields that forms are mostly made of: a line of text, a choice, a yes or no. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Reply } from "#web/api.ts";
import { isSecretText } from "#web/secret-text.ts";
import { Field } from "./form.tsx";

interface Common {
  readonly label: string;
  /** The member of the operation, so that a refusal that names it is shown here. */
  readonly member?: string;
  readonly reply?: Reply<unknown> | undefined;
  readonly hint?: ComponentChildren;
  /** What is still to be done here, said once somebody has tried to send without it. */
  readonly needed?: string | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

interface TextFieldProps extends Common {
  readonly max?: number;
  readonly placeholder?: string | undefined;
}

/** One line, in which no private key has a place: it goes no further, not even into an address. */
export function TextField({ value, onChange, max, placeholder, ...rest }: TextFieldProps) {
  const [isSecret, setIsSecret] = useState(false);
  const take = (typed: string) => {
    const secret = isSecretText(typed);
    setIsSecret(secret);
    if (!secret) onChange(typed);
  };
  return (
    <Field {...rest} fault={isSecret ? "This is a private key: it stays here." : undefined}>
      {(control) => (
        <input
          {...control}
          type="text"
          maxLength={max}
          placeholder={placeholder}
          value={value}
          onInput={({ currentTarget }) => take(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface NumberFieldProps extends Common {
  readonly least: number;
}

/** A whole number, or nothing. */
export function NumberField({ value, onChange, least, ...rest }: NumberFieldProps) {
  return (
    <Field {...rest}>
      {(control) => (
        <input
          {...control}
          type="number"
          min={least}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface ChoiceFieldProps extends Common {
  readonly choices: readonly Choice[];
}

export interface Choice {
  readonly value: string;
  readonly label: string;
  /** Its label says why. */
  readonly disabled?: boolean;
}

/** One of some. */
export function ChoiceField({ value, onChange, choices, ...rest }: ChoiceFieldProps) {
  return (
    <Field {...rest}>
      {(control) => (
        <select
          {...control}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        >
          {choices.map((one) => (
            <option key={one.value} value={one.value} disabled={one.disabled}>
              {one.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Words that are their own labels. */
export const sameWords = (words: readonly string[]): ChoiceFieldProps["choices"] =>
  words.map((value) => ({ value, label: value }));

interface CheckFieldProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** Yes or no. */
export const CheckField = ({ label, checked, onChange }: CheckFieldProps) => (
  <label class="check">
    <input
      type="checkbox"
      checked={checked}
      onChange={({ currentTarget }) => onChange(currentTarget.checked)}
    />
    {label}
  </label>
);
