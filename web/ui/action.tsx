/** Buttons that say what they do, and why they cannot be pressed where one may not. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { ApprovalClass } from "#core/approvals/classes.ts";
import { type Operation, type OperationName, operations } from "#operations";
import { type Right, useRight, type Where } from "#web/rights.ts";
import { useAside } from "./asked.tsx";

interface ActionProps {
  /** What it does; whether one may is read off the table of operations. */
  readonly operation: OperationName;
  readonly where?: Where;
  /** A link to the address that opens its dialog or page, or a function. */
  readonly href?: string;
  readonly onClick?: () => void;
  readonly look?: "plain" | "outlined" | "primary" | "danger";
  /** Said when the state of the thing itself forbids it: "is revoked already". */
  readonly unless?: string | undefined;
  /** It is under way, as its words say. */
  readonly busy?: boolean;
  readonly children: ComponentChildren;
}

/** A button, or a link that looks like one; disabled with its reason beside it. */
export function Action(props: ActionProps) {
  const {
    operation,
    where = {},
    href,
    onClick,
    look = "plain",
    unless,
    busy = false,
    children,
  } = props;
  const may = useRight(operation, where);
  // Whoever has no right is told that first: of the state they may know nothing.
  const barred = may.allowed && unless !== undefined;
  const right: Right = barred ? { allowed: false, reason: unless } : may;
  const reasonId = useId();
  if (!right.allowed) {
    return (
      <span class="action">
        <button type="button" class={`button ${look}`} disabled aria-describedby={reasonId}>
          {children}
        </button>
        <span id={reasonId} class="reason">
          {right.reason}
        </span>
      </span>
    );
  }
  if (href !== undefined) {
    return (
      <a class={`button ${look}`} href={href}>
        {children}
      </a>
    );
  }
  return (
    <button type="button" class={`button ${look}`} disabled={busy} onClick={onClick}>
      {children}
    </button>
  );
}

/** Said before something is sent that takes a second person here, or a passkey. */
export function Gates({ operation }: { readonly operation: OperationName }) {
  const row: Operation = operations[operation];
  return (
    <>
      {row.takesTwo !== undefined && <TakesTwo operationClass={row.takesTwo} />}
      {row.stepUp !== undefined && <WantsPasskey />}
    </>
  );
}

/** Whether this class waits for a second person here; undefined while nobody has said. */
export function useGuarded(operationClass: ApprovalClass): boolean | undefined {
  const { reply } = useAside("approval.list", { limit: 1 });
  return reply?.kind === "answered" ? reply.answer.guarded.includes(operationClass) : undefined;
}

function TakesTwo({ operationClass }: { readonly operationClass: ApprovalClass }) {
  if (useGuarded(operationClass) !== true) return null;
  return (
    <p class="notice warn">
      <span>
        <span aria-hidden="true">◔ </span>
        This takes two: it becomes a request that somebody else must approve (
        <code>{operationClass}</code>).
      </span>
    </p>
  );
}

/** Where people here have passkeys at all. */
export function WantsPasskey() {
  const { reply } = useAside("auth.config", {});
  if (reply?.kind !== "answered" || !reply.answer.webauthn_enabled) return null;
  return <p class="quiet small">You may be asked to confirm it with your passkey.</p>;
}
