/** Names as chips: each is read as it is typed, and what is wrong with it is said at once. */

import type { Reply } from "#web/api.ts";
import { Field } from "#web/ui/form.tsx";
import { kindWords, namesIn, type RequestedName, readName } from "./names.ts";

/** What is chosen, and the text that is still being typed. */
export interface Names {
  readonly chosen: readonly RequestedName[];
  readonly typing: string;
}

export const noNames: Names = { chosen: [], typing: "" };

/** All of them, the one being typed too where it is one. */
export function allNames({ chosen, typing }: Names): readonly RequestedName[] {
  const read = readName(typing);
  return read.ok && !has(chosen, read.name) ? chosen.concat(read.name) : chosen;
}

interface NameChipsProps {
  readonly names: Names;
  readonly onChange: (names: Names) => void;
  readonly reply: Reply<unknown> | undefined;
}

/** Enter, a comma or a blank ends a name; many may be pasted. */
export function NameChips({ names, onChange, reply }: NameChipsProps) {
  const { chosen, typing } = names;
  const read = readName(typing);
  const remove = (gone: RequestedName) =>
    onChange({ chosen: chosen.filter((name) => name !== gone), typing });
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && typing.trim() !== "") {
      event.preventDefault();
      onChange(taken(names, typing));
    }
    if (event.key === "Backspace" && typing === "") {
      onChange({ chosen: chosen.slice(0, -1), typing });
    }
  };
  return (
    <Field
      label="Names"
      member="names"
      reply={reply}
      fault={read.ok || read.fault === "" ? undefined : read.fault}
      hint={
        <span role="status">
          {read.ok
            ? `${read.hint} Press Enter for another.`
            : "Host names, addresses, mailboxes, URIs."}
        </span>
      }
    >
      {(control) => (
        <div class="chips">
          {chosen.map((name) => (
            <Chip key={`${name.kind}:${name.value}`} name={name} onRemove={() => remove(name)} />
          ))}
          <input
            {...control}
            type="text"
            class="grow"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            placeholder="www.example.com"
            value={typing}
            onKeyDown={press}
            onInput={({ currentTarget: { value } }) =>
              onChange(/[\s,;]/.test(value) ? taken(names, value) : { chosen, typing: value })
            }
          />
        </div>
      )}
    </Field>
  );
}

interface ChipProps {
  readonly name: RequestedName;
  readonly onRemove: () => void;
}

const Chip = ({ name: { kind, value }, onRemove }: ChipProps) => (
  <span class="chip">
    <span class="quiet small">{kindWords[kind]}</span> {value}
    <button type="button" class="button plain" aria-label={`Remove ${value}`} onClick={onRemove}>
      <span aria-hidden="true">×</span>
    </button>
  </span>
);

/** Takes what reads as names; what does not stays to be mended. */
function taken({ chosen }: Names, text: string): Names {
  const left: string[] = [];
  let all = chosen;
  for (const one of namesIn(text)) {
    const read = readName(one);
    if (!read.ok) left.push(one);
    else if (!has(all, read.name)) all = all.concat(read.name);
  }
  return { chosen: all, typing: left.join(" ") };
}

const has = (names: readonly RequestedName[], { kind, value }: RequestedName): boolean =>
  names.some((name) => name.kind === kind && name.value === value);
