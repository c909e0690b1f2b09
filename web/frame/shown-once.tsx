/**
 * A secret that nobody can show again, over whatever page is open: neither `Esc` nor the way back
 * takes it away, and leaving the console asks first.
 */

import { useCallback, useEffect, useState } from "preact/hooks";
import { visit } from "#web/address.ts";
import type { OnceShown } from "#web/console.ts";
import { Copy } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { Dialog } from "#web/ui/layers.tsx";

export interface ShownOnce {
  readonly show: (secret: OnceShown) => void;
  /** The oldest that is not kept yet. */
  readonly first: OnceShown | undefined;
  readonly kept: () => void;
}

/** Holds them in this tab, and nowhere else, until they are kept. */
export function useShownOnce(): ShownOnce {
  const [secrets, setSecrets] = useState<readonly OnceShown[]>([]);
  const [first] = secrets;
  useEffect(() => {
    if (first === undefined) return;
    const leaving = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", leaving);
    return () => removeEventListener("beforeunload", leaving);
  }, [first]);
  const show = useCallback((secret: OnceShown) => setSecrets((was) => [...was, secret]), []);
  const kept = useCallback(() => setSecrets((was) => was.slice(1)), []);
  return { show, first, kept };
}

interface OnceDialogProps {
  readonly secret: OnceShown;
  readonly onKept: () => void;
}

/** Has no cross: one button ends it, and that leads to what the secret belongs to. */
export function OnceDialog({ secret: { title, parts, use, href }, onKept }: OnceDialogProps) {
  const leave = () => {
    onKept();
    visit(href);
  };
  return (
    <Dialog title={title}>
      <p>
        Nobody can show it again: copy it now to where it is needed. Only the button below closes
        this.
      </p>
      <Facts
        of={Object.fromEntries(
          Object.entries(parts).map(([name, text]) => [
            name,
            <Copy key={name} text={text} name={name.toLowerCase()} />,
          ]),
        )}
      />
      {use !== undefined && (
        <p class="quiet small">
          <code>{use}</code>
        </p>
      )}
      <div class="buttons">
        <button type="button" class="button primary" onClick={leave}>
          I have kept it
        </button>
      </div>
    </Dialog>
  );
}
