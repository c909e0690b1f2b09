/** A field that one types a line into. */

import type { Reply } from "#web/api.ts";
import { Field } from "#web/ui/form.tsx";

interface TypedFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** A number, for which narrow screens have keys of their own. */
  readonly numeric?: boolean;
  readonly member?: string;
  readonly reply?: Reply<unknown> | undefined;
  readonly hint?: string;
}

/** With its label, what helps to fill it in, and what the server had against it. */
export function TypedField({ value, onValue, numeric = false, ...field }: TypedFieldProps) {
  return (
    <Field {...field}>
      {(control) => (
        <input
          {...control}
          type="text"
          inputMode={numeric ? "numeric" : "text"}
          size={numeric ? 6 : 20}
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </Field>
  );
}
