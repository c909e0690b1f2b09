/** Chooses a certificate authority the caller may see: a new one, or one that a search finds. */

import { useState } from "preact/hooks";
import { useAsked } from "./asked.tsx";
import { casMax } from "./ca-pages.ts";
import type { ControlAttributes } from "./form.tsx";
import { type Ca, caOf, useNamedCa } from "./named-ca.ts";
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
  /** What can be chosen besides CAs, above them. */
  readonly besides?: readonly Besides[];
  /** What is said of one; its label, and its state where that is not active, if left out. */
  readonly words?: (ca: Ca) => string;
  /** True for one that is shown and cannot be chosen: its words say why. */
  readonly unfit?: (ca: Ca) => boolean;
  /** Stands among the chips of a list. */
  readonly chip?: boolean;
  readonly onChoose: (id: string) => void;
}

interface Besides {
  readonly value: string;
  readonly label: string;
}

/** The newest by their labels, and whichever is chosen; where there are more, a search. */
export function CaChoice(props: CaChoiceProps) {
  const { value, status, tenant, disabled = false, besides = [] } = props;
  const [sought, setSought] = useState("");
  const q = useSettled(sought).trim() || undefined;
  const { reply } = useAsked("ca.list", { limit: casMax, status, tenant, q }, ["ca.*"]);
  const answer = reply?.kind === "answered" ? reply.answer : undefined;
  const cas = answer?.items ?? [];
  const listed = caOf(cas, value);
  const isKnown = value === "" || besides.some((one) => one.value === value);
  const isAbsent = answer !== undefined && !isKnown && listed === undefined;
  const { ca: absent } = useNamedCa(isAbsent ? value : undefined);
  return (
    <>
      <Choice
        {...props}
        cas={cas}
        value={listed?.id ?? value}
        absent={isAbsent ? (absent ?? value) : undefined}
        onChoose={(id) => {
          props.onChoose(id);
          setSought("");
        }}
      />
      {(sought !== "" || answer?.has_more === true) && !disabled && (
        <CaSearch
          sought={sought}
          onSearch={setSought}
          found={q === undefined ? undefined : answer}
        />
      )}
    </>
  );
}

interface ChoiceProps extends CaChoiceProps {
  readonly cas: readonly Ca[];
  /** The one that is chosen where it is not among them; its name while nothing else is known. */
  readonly absent: Ca | string | undefined;
}

function Choice(props: ChoiceProps) {
  const { control, label, value, cas, absent, besides = [], words = wordsOf, onChoose } = props;
  const { disabled = false, needed = false, chip = false, unfit = () => false } = props;
  return (
    <select
      {...control}
      class={chip ? "chip" : undefined}
      aria-label={control === undefined ? label : undefined}
      value={value}
      disabled={disabled}
      onChange={({ currentTarget }) => onChoose(currentTarget.value)}
    >
      {(!needed || value === "") && <option value="">Choose a CA…</option>}
      {besides.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label}
        </option>
      ))}
      {absent !== undefined && (
        <option value={value}>
          {typeof absent === "string" ? shortText(absent) : words(absent)}
        </option>
      )}
      {cas.map((ca) => (
        <option key={ca.id} value={ca.id} disabled={unfit(ca)}>
          {words(ca)}
        </option>
      ))}
    </select>
  );
}

interface CaSearchProps {
  readonly sought: string;
  readonly onSearch: (text: string) => void;
  /** Those that fit; undefined where nothing is looked for. */
  readonly found: { readonly total: number; readonly has_more: boolean } | undefined;
}

/** Narrows a choice of CAs that does not have all of them. */
function CaSearch({ sought, onSearch, found }: CaSearchProps) {
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
          : foundWords(found)}
      </span>
    </>
  );
}

const foundWords = ({ total, has_more }: { readonly total: number; readonly has_more: boolean }) =>
  has_more
    ? `${total.toLocaleString("en")} found; the newest ${casMax} of them are in the choice. Type more of the name.`
    : `${total.toLocaleString("en")} found; they are in the choice.`;

/** What a choice says of a CA: superseded and retired ones are not hidden. */
export const wordsOf = ({ label, status }: Pick<Ca, "label" | "status">): string =>
  status === "active" ? label : `${label} (${status})`;
