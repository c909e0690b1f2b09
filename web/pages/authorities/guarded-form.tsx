/**
 * The form of an operation on a CA: what may be needed is said before it is sent, and why it may
 * not be sent at all.
 */

import type { ComponentChildren } from "preact";
import type { OperationName } from "#operations";
import type { Reply } from "#web/api.ts";
import { useRight, type Where } from "#web/rights.ts";
import { Gates } from "#web/ui/action.tsx";
import { SendForm } from "#web/ui/form.tsx";

interface GuardedFormProps {
  readonly operation: OperationName;
  readonly where: Where;
  /** Said when the state of the thing itself forbids it. */
  readonly unless?: string | undefined;
  /** What must still be confirmed. */
  readonly incomplete?: boolean;
  readonly busy: boolean;
  readonly reply: Reply<unknown> | undefined;
  readonly does: string;
  readonly look?: "primary" | "danger";
  readonly onSend: () => Promise<void>;
  readonly onCancel: () => void;
  readonly children: ComponentChildren;
}

/** What is parked already is not sent again. */
export function GuardedForm(props: GuardedFormProps) {
  const { operation, where, unless, incomplete = false, busy, reply, look = "primary" } = props;
  const right = useRight(operation, where);
  const reason = right.allowed ? unless : right.reason;
  return (
    <SendForm
      onSend={() => void props.onSend()}
      busy={busy}
      reply={reply}
      does={props.does}
      look={look}
      disabled={reason !== undefined || incomplete || reply?.kind === "parked"}
      onCancel={props.onCancel}
    >
      {reason !== undefined && (
        <p class="notice warn" role="status">
          <span>
            <span aria-hidden="true">◐ </span>
            {reason}
          </span>
        </p>
      )}
      <div class="guarded">{props.children}</div>
      <Gates operation={operation} />
    </SendForm>
  );
}
