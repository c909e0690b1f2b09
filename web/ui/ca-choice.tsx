/** Chooses a certificate authority the caller may see: a new one, or one that a search finds. */

import { useRef, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import type { Reply } from "#web/api.ts";
import { useAnsweredQuestion } from "./answered-question.ts";
import { useAsked, useMissing } from "./asked.tsx";
import { casMax } from "./ca-pages.ts";
import { Finder, foundWords, searching } from "./finder.tsx";
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
  const { value, status, tenant, disabled = false, besides = [], unfit = () => false } = props;
  const [sought, setSought] = useState("");
  const { reply, found, more } = useFoundCas(sought, { status, tenant });
  const answer = reply?.kind === "answered" ? reply.answer : undefined;
  const cas = answer?.items ?? [];
  const listed = caOf(cas, value);
  const isKnown = value === "" || besides.some((one) => one.value === value);
  const isAbsent = answer !== undefined && !isKnown && listed === undefined;
  const { ca: absent } = useNamedCa(isAbsent ? value : undefined);
  const only = found === undefined ? undefined : onlyOf(found);
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
      {(sought !== "" || more) && !disabled && (
        <Finder
          label="Find a CA"
          placeholder="Find a CA by name"
          sought={sought}
          onSearch={setSought}
          said={sought.trim() === "" ? newestWords : said(found, listed)}
          onOnly={only && !unfit(only) ? () => props.onChoose(only.id) : undefined}
        />
      )}
    </>
  );
}

interface Among {
  readonly status: string | undefined;
  readonly tenant: string | undefined;
}

/** What was answered last, what of that is found by this very text, and whether there are more. */
function useFoundCas(sought: string, { status, tenant }: Among) {
  const text = sought.trim();
  const q = useSettled(sought).trim();
  const members = { limit: casMax, status, tenant, q: q === "" ? undefined : q };
  const asking = useAsked("ca.list", members, ["ca.*"]);
  const { reply } = asking;
  // Of what is searched for the search itself says why there is nothing.
  useMissing(q === "" ? asking : undefined);
  const key = JSON.stringify(members);
  const isOfText = useAnsweredQuestion(reply, key) === key && q === text;
  // The search must stay, with the focus that is in it, while what it narrows is asked for again.
  const more = useRef(false);
  if (isOfText && q === "" && reply?.kind === "answered") more.current = reply.answer.has_more;
  return { reply, found: isOfText && q !== "" ? reply : undefined, more: more.current };
}

type Found = Reply<Answers["ca.list"]>;

/** Surely the one that is looked for. */
function onlyOf(found: Found): Ca | undefined {
  return found.kind === "answered" && found.answer.total === 1 ? found.answer.items[0] : undefined;
}

/** Undefined while the answer has not come. */
function said(found: Found | undefined, chosen: Ca | undefined): string {
  if (found?.kind === "refused") return found.refusal.sentence;
  if (found?.kind !== "answered") return searching;
  const { total, items } = found.answer;
  const isChosen = chosen !== undefined && items[0]?.id === chosen.id;
  return foundWords({ total, here: items.length, isChosen });
}

const newestWords = `The newest ${casMax} can be chosen; others are found by name.`;

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

/** What a choice says of a CA: superseded and retired ones are not hidden. */
export const wordsOf = ({ label, status }: Pick<Ca, "label" | "status">): string =>
  status === "active" ? label : `${label} (${status})`;
