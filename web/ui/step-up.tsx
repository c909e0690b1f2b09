/** Asks the person to confirm with a passkey what the server will not do without. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Credential, Refusal } from "#web/api.ts";
import { stepUp } from "#web/passkeys.ts";
import { hashOf } from "#web/routes.ts";
import { Refused } from "./asked.tsx";

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

/** A modal window; closing it is a no. */
export function StepUpDialog({ asking, credential }: StepUpDialogProps) {
  const window = useRef<HTMLDialogElement>(null);
  const [refusal, setRefusal] = useState<Refusal>();
  useEffect(() => window.current?.showModal(), []);
  const attempt = async () => {
    const refused = await stepUp(credential);
    if (refused === undefined) asking.settle(true);
    else setRefusal(refused);
  };
  return (
    <dialog ref={window} aria-labelledby="step-up" onClose={() => asking.settle(false)}>
      <h2 id="step-up">Confirm with your passkey</h2>
      <p>
        The server wants to know that it is you before it does <code>{asking.operation}</code>.
      </p>
      {refusal && <Refused refusal={refusal} />}
      {refusal?.code === "no_credential" && (
        <p>
          <a href={hashOf({ page: "passkeys" })} onClick={() => asking.settle(false)}>
            Add a passkey
          </a>{" "}
          first.
        </p>
      )}
      <p>
        <button type="button" onClick={() => void attempt()}>
          Confirm
        </button>{" "}
        <button type="button" onClick={() => asking.settle(false)}>
          Cancel
        </button>
      </p>
    </dialog>
  );
}
