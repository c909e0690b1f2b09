/** Filters of a list as chips: each is a member of the address, taken away by one click. */

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { isSecretText } from "#web/secret-text.ts";
import { shortText } from "./plain.ts";

export interface Filter {
  /** The member of the query, and of the operation. */
  readonly name: string;
  readonly label: string;
  /** What can be chosen; free text or a day where left out. Of days there are others besides. */
  readonly choices?: readonly Choice[];
  readonly kind?: "text" | "day";
  /** May not be taken away: a list that needs one. */
  readonly required?: boolean;
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** The chips of what is set, and a way to set another. */
export function Filters({ filters }: { readonly filters: readonly Filter[] }) {
  const address = useAddress();
  const [adding, setAdding] = useState<string>();
  const set = filters.filter(({ name }) => address.query[name] !== undefined);
  const open = filters.filter(({ name }) => address.query[name] === undefined);
  const chosen = filters.find(({ name }) => name === adding);
  // Whoever takes a choice back is where they made it.
  const [cancelled, setCancelled] = useState(false);
  const add = (name: string) => {
    setCancelled(false);
    setAdding(name);
  };
  const cancel = () => {
    setCancelled(true);
    setAdding(undefined);
  };
  const apply = (name: string, value: string) => {
    setAdding(undefined);
    visit(hrefWith(address, { [name]: value }));
  };
  return (
    <fieldset class="chips">
      <legend class="unseen">Filters</legend>
      {set.map((filter) => (
        <Chip key={filter.name} filter={filter} />
      ))}
      {chosen && (
        <Value
          key={chosen.name}
          filter={chosen}
          onApply={(value) => apply(chosen.name, value)}
          onCancel={cancel}
        />
      )}
      {!chosen && open.length > 0 && (
        <select
          class="chip"
          aria-label="Add a filter"
          ref={cancelled ? focused : null}
          value=""
          onChange={({ currentTarget }) => add(currentTarget.value)}
        >
          <option value="">+ filter</option>
          {open.map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      )}
    </fieldset>
  );
}

/** What is set, and how to take it away. */
function Chip({ filter }: { readonly filter: Filter }) {
  const { name, label, required } = filter;
  const address = useAddress();
  return (
    <span class="chip">
      {label}: {shortText(wordOf(filter, address.query[name] ?? ""))}
      {!required && (
        <a href={hrefWith(address, { [name]: undefined })}>
          <span aria-hidden="true">×</span>
          <span class="unseen">Remove {label}</span>
        </a>
      )}
    </span>
  );
}

interface ValueProps {
  readonly filter: Filter;
  readonly onApply: (value: string) => void;
  readonly onCancel: () => void;
}

/** The value of a kind that is chosen; the cross and `Esc` take the choice back. */
function Value({ filter, onApply, onCancel }: ValueProps) {
  const place = useRef<HTMLSpanElement>(null);
  // Before it is seen: a fast hand takes it back at once.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      // It would close the panel beside the list as well.
      event.stopPropagation();
      onCancel();
    };
    place.current?.addEventListener("keydown", pressed);
    return () => place.current?.removeEventListener("keydown", pressed);
  }, [onCancel]);
  return (
    <span ref={place} class="buttons">
      <ValueControl filter={filter} onApply={onApply} />
      <button type="button" class="button plain" onClick={onCancel}>
        <span aria-hidden="true">×</span>
        <span class="unseen">No filter by {filter.label}</span>
      </button>
    </span>
  );
}

type ValueControlProps = Omit<ValueProps, "onCancel">;

function ValueControl({ filter, onApply }: ValueControlProps) {
  const { label, choices, kind = "text" } = filter;
  const [value, setValue] = useState("");
  const [other, setOther] = useState(false);
  const reasonId = useId();
  if (choices !== undefined && !other) {
    return (
      <select
        class="chip"
        aria-label={label}
        ref={focused}
        value=""
        onChange={({ currentTarget }) =>
          currentTarget.value === otherDay ? setOther(true) : onApply(currentTarget.value)
        }
      >
        <option value="">{label}…</option>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
        {kind === "day" && <option value={otherDay}>another day…</option>}
      </select>
    );
  }
  // An address is kept by browsers and proxies.
  const isSecret = isSecretText(value);
  const described = isSecret ? reasonId : undefined;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!isSecret) onApply(value);
  };
  const control = {
    "aria-label": label,
    "aria-describedby": described,
    ref: focused,
    value,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      setValue(currentTarget.value),
  };
  return (
    <form class="chip" onSubmit={submit}>
      {kind === "day" ? (
        <>
          <input type="date" {...control} aria-label={`${label}, a day in UTC`} /> UTC
        </>
      ) : (
        <input type="text" placeholder={label} aria-invalid={isSecret} {...control} />
      )}
      <button type="submit" class="button plain" disabled={isSecret} aria-describedby={described}>
        Apply
      </button>
      {isSecret && <IsSecret id={reasonId} />}
    </form>
  );
}

const IsSecret = ({ id }: { readonly id: string }) => (
  <span id={id} class="bad small">
    A private key is no filter: it stays here.
  </span>
);

const otherDay = "other";

const focused = (control: HTMLElement | null): void => control?.focus();

const wordOf = ({ choices, kind }: Filter, value: string): string =>
  choices?.find((choice) => choice.value === value)?.label ??
  (kind === "day" ? utcText(value) : value);

/** A day, or a moment to the minute, as the server reads it; anything else as it is. */
function utcText(value: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return `${value} UTC`;
  const [, day, minute] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\dZ$/.exec(value) ?? [];
  return day === undefined ? value : `${day} ${minute} UTC`;
}
