/** Chooses a certificate authority the caller may see: a new one, or one that a search finds. */

import { useState } from "preact/hooks";
import { useAsked } from "./asked.tsx";
import type { ControlAttributes } from "./form.tsx";
import { caOf, useNamedCa } from "./named-ca.ts";
import { shortText } from "./plain.ts";
import { useSettled } from "./settled.ts";

interface CaChoiceProps {
  /** Of the field that has it. */
  readonly control?: ControlAttributes;
  readonly label: string;
  /** The CA's id or label; empty for none. */
  readonly value: string;
  /** Only those of this state. */
  readonly status?: string | undefined;
  readonly tenant?: string | undefined;
  readonly disabled?: boolean;
  /** Once there is one, it can be changed but not taken away. */
  readonly needed?: boolean;
  readonly onChoose: (id: string) => void;
}

/** The newest by their labels, and whichever is chosen; where there are more, a search. */
export function CaChoice(props: CaChoiceProps) {
  const { control, label, value, status, tenant, onChoose } = props;
  const { disabled = false, needed = false } = props;
  const [sought, setSought] = useState("");
  const q = useSettled(sought).trim() || undefined;
  const { reply } = useAsked("ca.list", { limit: casMax, status, tenant, q }, ["ca.*"]);
  const answer = reply?.kind === "answered" ? reply.answer : undefined;
  const cas = answer?.items ?? [];
  const listed = caOf(cas, value);
  const isAbsent = answer !== undefined && value !== "" && listed === undefined;
  const { ca: absent } = useNamedCa(isAbsent ? value : undefined);
  return (
    <>
      <select
        {...control}
        aria-label={control === undefined ? label : undefined}
        value={listed?.id ?? value}
        disabled={disabled}
        onChange={({ currentTarget }) => {
          onChoose(currentTarget.value);
          setSought("");
        }}
      >
        {(!needed || value === "") && <option value="">Choose a CA…</option>}
        {isAbsent && <option value={value}>{nameOf(absent) ?? shortText(value)}</option>}
        {cas.map((ca) => (
          <option key={ca.id} value={ca.id}>
            {nameOf(ca)}
          </option>
        ))}
      </select>
      {(sought !== "" || answer?.has_more === true) && !disabled && (
        <CaSearch
          sought={sought}
          onSearch={setSought}
          found={q === undefined ? undefined : answer?.total}
        />
      )}
    </>
  );
}

interface CaSearchProps {
  readonly sought: string;
  readonly onSearch: (text: string) => void;
  /** How many fit; undefined where nothing is looked for. */
  readonly found: number | undefined;
}

/** Narrows a choice of CAs that does not have all of them. */
export function CaSearch({ sought, onSearch, found }: CaSearchProps) {
  return (
    <>
      <input
        type="search"
        aria-label="Find a CA"
        placeholder="Find a CA by name"
        maxLength={200}
        value={sought}
        onInput={({ currentTarget }) => onSearch(currentTarget.value)}
      />
      <span class="quiet small" role="status">
        {found === undefined
          ? `The newest ${casMax} can be chosen; others are found by name.`
          : `${found.toLocaleString("en")} found; they are in the choice.`}
      </span>
    </>
  );
}

/** One page of the interface. */
export const casMax = 500;

const nameOf = (ca: { readonly label: string; readonly status: string } | undefined) =>
  ca === undefined || ca.status === "active" ? ca?.label : `${ca.label} (${ca.status})`;
