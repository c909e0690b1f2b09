/** Fields of a form whose texts are members of one object, and what is sent of them. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Json } from "#core/shape.ts";
import type { Reply } from "#web/api.ts";
import { Field } from "#web/ui/form.tsx";

/** What has been typed so far; a change names the members it changes. */
export function useTyped<Form extends object>(
  first: Form,
): readonly [Form, (change: Partial<Form>) => void] {
  const [typed, setTyped] = useState(first);
  return [typed, (change) => setTyped((was) => ({ ...was, ...change }))];
}

interface TextProps {
  readonly label: string;
  readonly member: string;
  readonly reply: Reply<unknown> | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly placeholder?: string;
}

/** One line. */
export function TextField({ label, member, reply, hint, value, onChange, placeholder }: TextProps) {
  return (
    <Field label={label} member={member} reply={reply} hint={hint}>
      {(control) => (
        <input
          {...control}
          type="text"
          autocomplete="off"
          spellcheck={false}
          placeholder={placeholder}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
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
}: TextProps) {
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
export function PemField(props: TextProps) {
  const { label, onChange } = props;
  const choose = async (file: File | undefined) => {
    if (file !== undefined) onChange(await pemOf(file));
  };
  return (
    <>
      <LinesField {...props} />
      <input
        type="file"
        aria-label={`${label}: choose a file`}
        onChange={({ currentTarget }) => void choose(currentTarget.files?.[0])}
      />
    </>
  );
}

interface ChoiceProps extends Omit<TextProps, "placeholder"> {
  readonly choices: readonly Choice[];
}

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly disabled?: boolean;
}

/** One of a few. */
export function ChoiceField(props: ChoiceProps) {
  const { label, member, reply, hint, value, onChange, choices } = props;
  return (
    <Field label={label} member={member} reply={reply} hint={hint}>
      {(control) => (
        <select
          {...control}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        >
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value} disabled={choice.disabled}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckProps {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** Yes or no. */
export const CheckField = ({ label, checked, onChange }: CheckProps) => (
  <label class="check">
    <input
      type="checkbox"
      checked={checked}
      onChange={({ currentTarget }) => onChange(currentTarget.checked)}
    />
    <span>{label}</span>
  </label>
);

/** The members that say something: empty texts, lists and objects are left out. */
export function filled(
  members: Readonly<Record<string, Json | undefined>>,
): Readonly<Record<string, Json>> {
  const given: Record<string, Json> = {};
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined && !isEmpty(value)) given[name] = value;
  }
  return given;
}

/** The same as one member, which is left out where nothing is in it. */
export function filledObject(
  members: Readonly<Record<string, Json | undefined>>,
): Json | undefined {
  const given = filled(members);
  return Object.keys(given).length === 0 ? undefined : given;
}

/** A count as the server takes it; what is none goes as it was typed, for the server to refuse. */
export function countOf(text: string): Json | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return /^\d{1,9}$/.test(trimmed) ? Number(trimmed) : trimmed;
}

/** The lines that say something. */
export const linesOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** A file as PEM: what is binary is taken for the DER of one certificate. */
async function pemOf(file: File): Promise<string> {
  if (file.size > fileMax) return "";
  const octets = new Uint8Array(await file.arrayBuffer());
  const text = new TextDecoder().decode(octets);
  if (text.includes("-----BEGIN")) return text;
  const lines = octets.toBase64().replace(/.{1,64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
}

const isEmpty = (value: Json): boolean =>
  value === "" ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/** What the server takes of PEM in one member. */
const fileMax = 1_000_000;
