/** A dialog that says what will be done and what cannot be undone, and does it when told to. */

import type { ComponentChildren } from "preact";
import type { Answers, Questions } from "#api/answers.ts";
import type { Where } from "#web/rights.ts";
import { useSend } from "./form.tsx";
import { GuardedForm } from "./guarded-form.tsx";
import { Dialog } from "./layers.tsx";

interface ConfirmProps<Name extends keyof Answers> {
  readonly operation: Name;
  readonly members: Questions[Name];
  readonly where?: Where | undefined;
  /** Said when the state of the thing itself forbids it. */
  readonly unless?: string | undefined;
  readonly title: string;
  /** The words of the button: "Revoke deploy-bot". */
  readonly does: string;
  readonly onClose: () => void;
  readonly onDone: (answer: Answers[Name]) => void;
  /** What follows from it. */
  readonly children: ComponentChildren;
}

/** For what destroys or takes away: nothing is its default. */
export function Confirm<Name extends keyof Answers>(props: ConfirmProps<Name>) {
  const { operation, members, where, unless, title, does, onClose, onDone, children } = props;
  const { send, busy, reply } = useSend(operation);
  const act = async () => {
    const answer = await send(members);
    if (answer !== undefined) onDone(answer);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <GuardedForm
        operation={operation}
        where={where}
        unless={unless}
        onSend={act}
        busy={busy}
        reply={reply}
        does={does}
        look="danger"
        onCancel={onClose}
      >
        {children}
      </GuardedForm>
    </Dialog>
  );
}
