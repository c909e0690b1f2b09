/**
 * A secret that nobody can show again, over whatever page is open: neither `Esc` nor the way back
 * takes it away, and leaving the console asks first.
 */

import { useCallback, useEffect, useState } from "preact/hooks";
import { type Address, hrefOf, visit } from "#web/address.ts";
import { type OnceShown, useAddress } from "#web/console.ts";
import { Copy } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { Dialog } from "#web/ui/layers.tsx";

export interface ShownOnce {
  /** `asker` is the address at which it was asked for, as it was then. */
  readonly show: (secret: OnceShown, asker: Address) => void;
  /** The oldest that is not kept yet. */
  readonly first: ShownSecret | undefined;
  /** How many are not kept yet. */
  readonly waiting: number;
  readonly kept: () => void;
}

interface ShownSecret extends OnceShown {
  readonly asker: Address;
}

/** Holds them in this tab, and nowhere else, until they are kept. */
export function useShownOnce(): ShownOnce {
  const [secrets, setSecrets] = useState<readonly ShownSecret[]>([]);
  const [first] = secrets;
  useEffect(() => {
    if (first === undefined) return;
    const leaving = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", leaving);
    return () => removeEventListener("beforeunload", leaving);
  }, [first]);
  const show = useCallback(
    (secret: OnceShown, asker: Address) => setSecrets((was) => [...was, { ...secret, asker }]),
    [],
  );
  const kept = useCallback(() => setSecrets((was) => was.slice(1)), []);
  return { show, first, waiting: secrets.length, kept };
}

interface OnceDialogProps {
  readonly secret: ShownSecret;
  readonly onKept: () => void;
}

/**
 * Has no cross: one button ends it, and that leads to what the secret belongs to. Whoever has gone
 * elsewhere meanwhile, or has opened a form anew, stays there, for something may be typed in it.
 */
export function OnceDialog({ secret, onKept }: OnceDialogProps) {
  const { title, parts, use, href, asker } = secret;
  const address = useAddress();
  const leave = () => {
    onKept();
    if (isFree(address, asker)) visit(href);
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

/**
 * True where nothing is open but the page that has asked for it: its own form is over. Whoever
 * moves gets another address, even where it says the same.
 */
const isFree = (address: Address, asker: Address): boolean =>
  address === asker ||
  (hrefOf(address.path) === hrefOf(asker.path) && address.query.dialog === undefined);
