/**
 * The form of an operation: what may be needed is said before it is sent, and why it may not be
 * sent at all.
 */

import type { ComponentChildren } from "preact";
import type { OperationName } from "#operations";
import type { Reply } from "#web/api.ts";
import { useRight, type Where } from "#web/rights.ts";
import { Gates } from "./action.tsx";
import { SendForm } from "./form.tsx";

interface GuardedFormProps {
  readonly operation: OperationName;
  readonly where?: Where | undefined;
  /** Said when the state of the thing itself forbids it. */
  readonly unless?: string | undefined;
  /** What must still be typed or confirmed: "Type a name first." */
  readonly missing?: string | undefined;
  readonly busy: boolean;
  readonly reply: Reply<unknown> | undefined;
  readonly does: string;
  readonly look?: "primary" | "danger";
  readonly onSend: () => Promise<void>;
  readonly onCancel?: () => void;
  /** In place of what the operation always takes, where it takes that for some things alone. */
  readonly gates?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** As the table of operations has it. */
export function GuardedForm(props: GuardedFormProps) {
  const { operation, where, unless, missing, busy, reply, look = "primary" } = props;
  const right = useRight(operation, where);
  const reason = right.allowed ? unless : right.reason;
  return (
    <SendForm
      onSend={() => void props.onSend()}
      busy={busy}
      reply={reply}
      does={props.does}
      look={look}
      // The feed may tell of what is being done before its own answer comes.
      withheld={busy ? undefined : reason}
      missing={busy ? undefined : missing}
      onCancel={props.onCancel}
    >
      <div class="guarded">{props.children}</div>
      {props.gates ?? <Gates operation={operation} />}
    </SendForm>
  );
}
