/** The search that narrows a choice which has not everything in it. */

interface FinderProps {
  readonly label: string;
  readonly placeholder: string;
  readonly sought: string;
  readonly onSearch: (text: string) => void;
  /** What is said of what is found. */
  readonly said: string;
  /** Chooses what is found; undefined unless it is one, and surely the one that is looked for. */
  readonly onOnly: (() => void) | undefined;
}

/** The key of a line would send the form around it, with the choice as it was before. */
export function Finder({ label, placeholder, sought, onSearch, said, onOnly }: FinderProps) {
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    // That key may also end a word of a script that is composed.
    if (!event.isComposing) onOnly?.();
  };
  return (
    <>
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        maxLength={200}
        value={sought}
        onInput={({ currentTarget }) => onSearch(currentTarget.value)}
        onKeyDown={pressed}
      />
      <p class="quiet small" role="status">
        {said}
      </p>
    </>
  );
}

interface Found {
  readonly total: number;
  /** How many of them can be chosen. */
  readonly here: number;
  /** The only one of them is chosen. */
  readonly isChosen: boolean;
}

/** Of an answer that belongs to the text. */
export function foundWords({ total, here, isChosen }: Found): string {
  if (total === 1 && isChosen) return "1 found; it is chosen.";
  const found = `${total.toLocaleString("en")} found`;
  return total > here
    ? `${found}; the newest ${here} of them are in the choice. Type more of the name.`
    : `${found}; they are in the choice.`;
}

/** While there is none. */
export const searching = "Searching…";
