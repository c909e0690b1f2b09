/** Asks the person to confirm with a passkey what the server will not do without. */

import { useCallback, useRef, useState } from "preact/hooks";
import type { Credential, Refusal } from "#web/api.ts";
import { hrefOf } from "#web/address.ts";
import { stepUp } from "#web/passkeys.ts";
import { Refused } from "./asked.tsx";
import { Dialog } from "./layers.tsx";

interface Asking {
  readonly operation: string;
  readonly settle: (confirmed: boolean) => void;
}

/** One question at a time; whoever asks meanwhile waits for the same answer. */
export function useConfirmation() {
  const [asking, setAsking] = useState<Asking>();
  const waiting = useRef<Promise<boolean>>(undefined);
  const confirm = useCallback((operation: string): Promise<boolean> => {
    waiting.current ??= new Promise<boolean>((resolve) => {
      const settle = (confirmed: boolean) => {
        waiting.current = undefined;
        setAsking(undefined);
        resolve(confirmed);
      };
      setAsking({ operation, settle });
    });
    return waiting.current;
  }, []);
  return { asking, confirm };
}

interface StepUpDialogProps {
  readonly asking: Asking;
  readonly credential: Credential;
}

/** A modal window; closing it is a no, and what was typed under it stays. */
export function StepUpDialog({ asking, credential }: StepUpDialogProps) {
  const [refusal, setRefusal] = useState<Refusal>();
  const attempt = async () => {
    const refused = await stepUp(credential);
    if (refused === undefined) asking.settle(true);
    else setRefusal(refused);
  };
  return (
    <Dialog title="Confirm with your passkey" onClose={() => asking.settle(false)}>
      <p>
        The server wants to know that it is you before it does <code>{asking.operation}</code>.
      </p>
      {refusal && <Refused refusal={refusal} />}
      {refusal?.code === "no_credential" && (
        <p>
          <a href={hrefOf(["people", "passkeys"])} onClick={() => asking.settle(false)}>
            Add a passkey
          </a>{" "}
          first.
        </p>
      )}
      <div class="buttons">
        <button type="button" class="button plain" onClick={() => asking.settle(false)}>
          Cancel
        </button>
        <button type="button" class="button primary" onClick={() => void attempt()}>
          Confirm
        </button>
      </div>
    </Dialog>
  );
}
